// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/knobs.h"

#include <algorithm>

#include "gradfuzz/support/check.h"

namespace gradfuzz::isolate {
namespace {

// Names and legal values were looked up in torch 2.11.0 and 2.15.0. Left out: what changes the
// result by design (keep_output_stride), what only chooses a code path for large matrices
// (epilogue_fusion of templates), and what is off by default (aggressive_fusion, cpp_wrapper).
constexpr Knob kKnobs[] = {
    // One mechanism each.
    {"inductor.cpp.simdlen", "1", "no vectorised C++ kernels", "vectorisation", 40, "cpu"},
    {"inductor.pattern_matcher", "false", "no pattern matcher", "pattern matcher", 20, ""},
    {"inductor.use_pre_grad_passes", "false", "no passes before autograd", "pre-grad passes", 20,
     ""},
    {"inductor.use_joint_graph_passes", "false", "no passes on the joint graph",
     "joint-graph passes", 20, ""},
    {"inductor.joint_graph_constant_folding", "false", "no constant folding in the joint graph",
     "constant folding", 10, ""},
    {"inductor.optimize_scatter_upon_const_tensor", "false",
     "scatter into a constant not rewritten as a pointwise operation", "scatter upon constant", 10,
     ""},
    {"inductor.online_softmax", "false", "no single-pass softmax", "online softmax", 10, ""},
    {"inductor.inplace_padding", "false", "no padding in place", "in-place padding", 5, ""},
    {"inductor.cpp.fallback_scatter_reduce_sum", "false", "scatter sums by generated atomics",
     "scatter sum", 10, "cpu"},
    {"inductor.constant_and_index_propagation", "false", "no index propagation",
     "index propagation", 15, ""},
    {"inductor.enable_auto_functionalized_v2", "false", "older functionalisation of mutable ops",
     "functionalisation", 10, ""},
    {"functorch.cse", "false", "no common-subexpression elimination", "cse", 10, ""},
    {"functorch.guess_tangent_strides_as_outputs", "true",
     "tangents expected with the strides of the outputs", "tangent strides", 10, ""},
    {"functorch.guess_tangent_strides_as_outputs", "false", "tangents expected contiguous",
     "tangent strides", 10, ""},
    {"functorch.donated_buffer", "false", "no saved buffer given away to the backward",
     "donated buffers", 10, ""},
    {"functorch.backward_pass_autocast", "\"off\"", "no autocast in the backward",
     "autocast of the backward", 10, ""},
    {"functorch.view_replay_for_aliased_outputs", "false",
     "outputs that alias inputs by as_strided", "aliased outputs", 10, ""},
    {"dynamo.assume_static_by_default", "false", "all sizes dynamic", "static sizes", 50, ""},
    // Memory and layout.
    {"inductor.inplace_buffers", "false", "no kernel writes over its operand", "buffer reuse", 15,
     ""},
    {"inductor.allow_buffer_reuse", "false", "no buffer used twice", "buffer reuse", 15, ""},
    {"inductor.comprehensive_padding", "false", "no padded strides", "layout", 10, ""},
    {"inductor.layout_optimization", "false", "no channels-last layouts", "layout", 10, ""},
    // Reductions.
    {"inductor.split_reductions", "false", "no reduction in two steps", "split reductions", 20, ""},
    {"inductor.unroll_reductions_threshold", "1", "small reductions as loops",
     "unrolled reductions", 15, ""},
    {"inductor.triton.persistent_reductions", "false", "no persistent reductions",
     "persistent reductions", 20, "cuda"},
    {"inductor.triton.mix_order_reduction", "false", "no reductions of mixed order",
     "mix-order reductions", 10, "cuda"},
    {"inductor.triton.codegen_upcast_to_fp32", "false", "low precision not computed in float32",
     "precision", 30, "cuda"},
    {"inductor.emulate_precision_casts", "true", "rounds to low precision where eager does",
     "precision", 25, ""},
    {"inductor.eager_numerics.division_rounding", "true", "division rounded as eager does",
     "precision", 15, "cuda"},
    // Order of loops and kernels.
    {"inductor.cpp.enable_tiling_heuristics", "false", "other loops vectorised", "vectorisation",
     30, "cpu"},
    {"inductor.reorder_for_locality", "false", "no reordering for locality", "order of kernels", 10,
     ""},
    {"inductor.reorder_for_peak_memory", "false", "no reordering for peak memory",
     "order of kernels", 10, ""},
    {"inductor.loop_ordering_after_fusion", "false", "no other loop order after fusion",
     "loop order", 10, ""},
    {"inductor.pick_loop_orders", "false", "loops in the order of the lowering", "loop order", 20,
     ""},
    {"inductor.cpp.max_horizontal_fusion_size", "1", "no independent loops in one kernel",
     "horizontal fusion", 20, "cpu"},
    // What is saved and what is computed again in the backward.
    {"functorch.max_dist_from_bw", "0", "nothing computed again in the backward", "recomputation",
     35, ""},
    {"functorch.ban_recompute_reductions", "false", "reductions may be computed again",
     "recomputation", 30, ""},
    {"functorch.aggressive_recomputation", "true", "more computed again in the backward",
     "recomputation", 30, ""},
    {"functorch.recompute_views", "true", "views computed again in the backward", "recomputation",
     15, ""},
    {"functorch.activation_memory_budget", "0.0", "all computed again in the backward",
     "recomputation", 40, ""},
    {"functorch.treat_parameters_as_free_to_save", "false", "inputs not free to be saved",
     "recomputation", 15, ""},
    // Broad ones last: they remove much, and so say little.
    {"inductor.realize_opcount_threshold", "0", "no inlining of long expressions", "inlining", 50,
     ""},
    {"inductor.realize_acc_reads_threshold", "0", "no inlining of many reads", "inlining", 50, ""},
    {"inductor.max_fusion_size", "1", "no fusion", "fusion", 60, ""},
    {"inductor.fallback_by_default", "true", "the ATen kernel of every operator", "lowering", 90,
     ""},
};

}  // namespace

std::span<const Knob> Knobs() { return kKnobs; }

std::vector<std::string> KnobNames() {
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) {
    if (std::find(names.begin(), names.end(), knob.name) == names.end()) {
      names.emplace_back(knob.name);
    }
  }
  return names;
}

nlohmann::json ValueOf(const Knob& knob) {
  auto value = nlohmann::json::parse(knob.value, nullptr, false);
  GF_CHECK(!value.is_discarded(), "a knob's value is JSON");
  return value;
}

std::vector<const Knob*> KnobsFor(const std::string& rung, const std::string& device) {
  const bool inductor = rung.starts_with("inductor");
  const bool functorch = inductor || rung.starts_with("aot_eager");
  std::vector<const Knob*> knobs;
  for (const Knob& knob : kKnobs) {
    const std::string name = knob.name;
    if (knob.device[0] != '\0' && device != knob.device) continue;
    if (name.starts_with("inductor.") && !inductor) continue;
    if (name.starts_with("functorch.") && !functorch) continue;
    knobs.push_back(&knob);
  }
  return knobs;
}

}  // namespace gradfuzz::isolate
