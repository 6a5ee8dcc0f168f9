// SPDX-License-Identifier: BSD-3-Clause
// Real texts, as torch raised them.
#include "gradfuzz/isolate/error_text.h"

#include <gtest/gtest.h>

namespace gradfuzz::isolate {
namespace {

// torch 2.11.0, x.index_fill(0, i, 2.0).sum()
const char kIndexFill[] = R"(BackendCompilerFailed: backend='inductor' raised:
AssertionError: n=copy_, n.args[0]=empty, placeholders={tangents_1, primals_2, primals_1}, graph=graph():
    %primals_1 : [num_users=1] = placeholder[target=primals_1]
    %primals_2 : [num_users=2] = placeholder[target=primals_2]
    %tangents_1 : [num_users=1] = placeholder[target=tangents_1]
    %scalar_tensor : [num_users=1] = call_function[target=torch.ops.aten.scalar_tensor.default](args = (2.0,), kwargs = {dtype: torch.float32, layout: torch.strided, device: cpu, pin_memory: False})
    return [sum_1, copy_, None]

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"
)";

// torch 2.11.0, x[:1].expand(4, -1).index_fill(0, i, 2.0).sum()
const char kIndexFillOfExpanded[] = R"(BackendCompilerFailed: backend='inductor' raised:
AssertionError: n=copy__1, n.args[0]=empty_1, placeholders={primals_3, primals_1, tangents_1}, graph=graph():
    %primals_1 : [num_users=1] = placeholder[target=primals_1]
)";

// torch 2.11.0, diagonal_scatter(x, s, 0).sum() with every operator's ATen kernel
const char kWrittenTo[] =
    "RuntimeError: unsupported operation: more than one element of the written-to tensor refers to "
    "a single memory location. Please clone() the tensor before performing the operation.\n"
    "  File \"/tmp/torchinductor_u/ab/cabc.py\", line 84, in call\n    buf3 = ...\n";

// torch 2.11.0, slice_scatter(a, b, dim=1, start=0, end=2).sum(dim=1)
const char kStrides34[] =
    "AssertionError: expected size 3==3, stride 4==1 at dim=0; expected size 4==4, stride 1==0 at "
    "dim=1\nError in op: torch.ops.aten.slice_scatter.default\nThis error most often occurs due to "
    "incorrect fake (aka meta) kernels for a custom op.\nUse torch.library.opcheck to test your "
    "custom op.\n";
const char kStrides5[] =
    "AssertionError: expected size 5==5, stride 7==1 at dim=0\nError in op: "
    "torch.ops.aten.slice_scatter.default\nThis error most often occurs due to\n";

std::string CppError(const std::string& hash, const std::string& message) {
  return "InductorError: CppCompileError: C++ compile error\n\nCommand:\ng++ "
         "/tmp/torchinductor_u/" +
         hash + "/c" + hash + ".main.cpp -D TORCH_INDUCTOR_CPP_WRAPPER -I/home/u/venv/include\n\n" +
         "Output:\n/tmp/torchinductor_u/" + hash + "/c" + hash +
         ".main.cpp: In function 'void kernel(const float*, float*)':\n/tmp/torchinductor_u/" +
         hash + "/c" + hash + ".main.cpp:24:53: error: " + message +
         "\n   24 |     auto tmp8 = atomic_add(out_ptr0, tmp3);\n      |                 ^\n";
}

TEST(ErrorKey, TheFxGraphAndTheNumberOfANodeDoNotMatter) {
  EXPECT_EQ(ErrorKey(kIndexFill), "AssertionError: n=copy_, n.args[..]=empty, placeholders={..}");
  EXPECT_EQ(ErrorKey(kIndexFill), ErrorKey(kIndexFillOfExpanded));
}

TEST(ErrorKey, FramesAreCutOff) {
  EXPECT_EQ(ErrorKey(kWrittenTo),
            "RuntimeError: unsupported operation: more than one element of the written-to tensor "
            "refers to a single memory location. Please clone() the tensor before performing the "
            "operation.");
}

TEST(ErrorKey, SizesAndTheNumberOfDimensionsDoNotMatter) {
  EXPECT_EQ(ErrorKey(kStrides34), ErrorKey(kStrides5));
  EXPECT_EQ(ErrorKey(kStrides5),
            "AssertionError: expected size #==#, stride #==# at dim=# Error in op: "
            "torch.ops.aten.slice_scatter.default");
}

TEST(ErrorKey, TheOperatorWhoseStridesTheyAreDoes) {
  std::string other = kStrides5;
  const std::string op = "slice_scatter";
  other.replace(other.find(op), op.size(), "linalg_solve_triangular");
  EXPECT_NE(ErrorKey(other), ErrorKey(kStrides5));
}

TEST(ErrorKey, TheCompilersFirstErrorIsTheEssence) {
  const std::string a = ErrorKey(CppError("ab", "'tmp8' was not declared in this scope"));
  const std::string b = ErrorKey(CppError("xy", "'tmp13' was not declared in this scope"));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, "CppCompileError: '<name>' was not declared in this scope");
  const std::string c = ErrorKey(CppError(
      "cd", "no matching function for call to 'atomic_add(float*, at::vec::Vectorized<float>&)'"));
  const std::string d = ErrorKey(CppError(
      "ef", "no matching function for call to 'atomic_add(float*, at::vec::Vectorized<double>&)'"));
  EXPECT_EQ(c, d);
  EXPECT_NE(a, c);
}

TEST(ErrorKey, LoweringsNameTheirOperator) {
  const std::string key = ErrorKey(
      "InductorError: LoweringException: AssertionError: \n  target: aten.index_put.default\n  "
      "args[0]: TensorBox(StorageBox(\n    InputBuffer(name='primals_1', ...)))\n");
  EXPECT_EQ(key,
            "InductorError: LoweringException: AssertionError: target: aten.index_put.default");
}

TEST(ErrorKey, AddressesPathsAndSymbolsDoNotMatter) {
  EXPECT_EQ(ErrorKey("TypeError: <function Buffer.make_loader at 0x7f8a579ff060> in /a/b/c.py:12"),
            ErrorKey("TypeError: <function Buffer.make_loader at 0x7f00009ff060> in /x/y.py:9"));
  EXPECT_EQ(ErrorKey("ValueError: cannot fuse buf12 with s58 of size (4, 5)"),
            ErrorKey("ValueError: cannot fuse buf3 with s7 of size (2,)"));
}

TEST(ErrorKey, DifferentErrorsStayApart) {
  EXPECT_NE(ErrorKey("TypeError: unsupported operand"),
            ErrorKey("ValueError: unsupported operand"));
  EXPECT_NE(ErrorKey(kIndexFill), ErrorKey(kWrittenTo));
}

TEST(ErrorKey, AnythingGivesOneShortLine) {
  EXPECT_EQ(ErrorKey(""), "");
  EXPECT_EQ(ErrorKey("\n\n  \n"), "");
  EXPECT_EQ(ErrorKey("backend='inductor' raised:"), "backend='inductor' raised:");
  const std::string key = ErrorKey(std::string(200000, 'x') + "\n" + std::string(200000, '('));
  EXPECT_LE(key.size(), 240u);
  EXPECT_EQ(key.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace gradfuzz::isolate
