// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/refusals.h"

namespace gradfuzz::oracle {
namespace {

// Texts are kept narrow: "not implemented" alone would hide missing kernels, which are findings
// when eager has them.
constexpr Refusal kRefusals[] = {
    {"torch._dynamo.exc.Unsupported", "torch._dynamo.exc.Unsupported: Data-dependent branching",
     "dynamo refuses the construct under fullgraph"},
    {"Unsupported: ", "Unsupported: Dynamic shape operator", "the same, without the module's name"},
    {"torch._dynamo.exc.UserError", "torch._dynamo.exc.UserError: Could not guard on",
     "dynamo asks the user to change the program"},
    {"compiled with non-empty donated buffers which requires",
     "RuntimeError: This backward function was compiled with non-empty donated buffers which "
     "requires "
     "create_graph=False and retain_graph=False.",
     "a second backward wants donated_buffer=False, as the text says"},
    {"does not currently support double backward",
     "torch.compile with aot_autograd does not currently support double backward",
     "documented limit of AOTAutograd"},
    {"DataDependentOutputException",
     "torch._subclasses.fake_tensor.DataDependentOutputException: aten._local_scalar_dense.default",
     "the result's value would be needed while compiling"},
    {"DynamicOutputShapeException",
     "torch._subclasses.fake_tensor.DynamicOutputShapeException: aten.nonzero.default",
     "the result's shape depends on values"},
    {"GuardOnDataDependentSymNode",
     "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard",
     "a shape that depends on values steers the program"},
    {"UnsupportedFakeTensorException", "UnsupportedFakeTensorException: sparse tensor",
     "fake tensors do not cover it"},
    {"UnsupportedOperatorException",
     "torch._subclasses.fake_tensor.UnsupportedOperatorException: aten.foo.default",
     "the operator has no meta kernel, and torch says so"},
    {"UnsupportedMutationAliasingException",
     "torch._functorch._aot_autograd.schemas.UnsupportedMutationAliasingException",
     "documented limit on mutated aliases"},
    {"does not support mutations on inputs that alias",
     "aot_autograd() does not support mutations on inputs that alias each other when dynamic",
     "documented limit"},
    {"aot_autograd() does not yet handle",
     "AssertionError: aot_autograd() does not yet handle non-differentiable view input mutations.",
     "documented limit on leaves that share memory without being views of each other"},
    {"Compiled functions with mutated, aliased inputs are not supported",
     "Compiled functions with mutated, aliased inputs are not supported", "documented limit"},
    {"this behavior is banned in compile",
     "RuntimeError: During torch.compile, encountered a mutation on a view chain of length 2, "
     "where "
     "view 1 was an as_strided() call. as_strided() is non-compositional, and therefore is not "
     "possible to functionalize properly today,so this behavior is banned in compile.",
     "documented limit on writes through as_strided"},
    {"this is banned as the behavior is not well defined",
     "RuntimeError: functionalization encountered a tensor being mutated that has internal "
     "overlap. "
     "When using torch.compile (or running functionalization directly), this is banned as the "
     "behavior is not well defined.",
     "documented limit on writes into memory that overlaps itself"},
    {"does not support forward-mode AD", "compiled code does not support forward-mode AD",
     "documented limit of AOTAutograd"},
    {"Trying to use forward AD with", "Trying to use forward AD with CompiledFunctionBackward",
     "forward mode is not defined for the compiled function"},
    {"jvp is not implemented",
     "You are trying to perform forward mode AD; jvp is not implemented for the custom function",
     "forward mode is not defined for the compiled function"},
    {"is currently not supported by torch.compile",
     "foo is currently not supported by torch.compile", "an explicit refusal"},
    {"not supported by design", "mixed devices are not supported by design", "an explicit refusal"},
    {"deterministic implementation",
     "foo does not have a deterministic implementation, but you set "
     "'torch.use_deterministic_algorithms(True)'",
     "a setting of the run"},
    {"FailOnRecompileLimitHit",
     "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached", "a setting of the run"},
};

}  // namespace

std::span<const Refusal> Refusals() { return kRefusals; }

const Refusal* FindRefusal(std::string_view error) {
  for (const Refusal& refusal : kRefusals) {
    if (error.find(refusal.needle) != std::string_view::npos) return &refusal;
  }
  return nullptr;
}

}  // namespace gradfuzz::oracle
