// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/motifs.h"

#include "gradfuzz/ops/record.h"

namespace gradfuzz::generate {
namespace {

using Kind = Filler::Kind;
using program::Arg;

Filler Latest() { return {}; }
Filler Leaf(int index) { return {Kind::kLeaf, index, {}}; }
Filler Step(int index) { return {Kind::kStep, index, {}}; }
Filler LeafList(int index) { return {Kind::kLeafList, index, {}}; }
Filler StepList(int index) { return {Kind::kStepList, index, {}}; }
Filler Lit(Arg literal) { return {Kind::kLiteral, 0, std::move(literal)}; }

using Shapes = std::vector<std::vector<int64_t>>;

std::vector<Motif> MakeMotifs() {
  const Shapes small = {{2, 3}, {3}, {4, 2}, {2, 2}, {3, 3}, {7}, {2, 8}, {1, 5}, {17}, {2, 3, 2}};
  const Shapes matrices = {{4, 6}, {3, 5}, {8, 8}, {2, 3}, {4, 8}, {9, 7}, {16, 16}};
  const std::vector<std::string_view> extrema = {"amin", "amax"};
  std::vector<Motif> motifs;

  // The gradient of the write is a graph output only when leaves stand next to it: a pointwise
  // operator in between may hide that buffers are shared.
  motifs.push_back(
      {.name = "write_then_aggregate",
       .weight = 10,
       .steps = {{.ops = {"add", "sub"}, .new_others = true, .plain = true, .presence = 0.3},
                 {.traits = ops::kWriteOp, .fill = {{0, Latest()}}, .new_others = true},
                 {.traits = ops::kFullAggregation, .fill = {{0, Latest()}}}}});

  // The gradient of an extremum asks which elements equal it; one recomputed an ULP apart is lost.
  motifs.push_back(
      {.name = "pointwise_then_extremum",
       .weight = 7,
       .steps = {{.traits = ops::kTranscendental, .fill = {{0, Latest()}}, .presence = 0.3},
                 {.traits = ops::kTranscendental, .fill = {{0, Latest()}}, .new_others = true},
                 {.ops = extrema, .fill = {{0, Latest()}}}},
       .shapes = small,
       .real = true});
  motifs.push_back(
      {.name = "binary_then_extremum",
       .weight = 6,
       .steps = {{.ops = {"atan2", "hypot", "pow", "logaddexp", "copysign", "div", "xlogy", "mul"},
                  .fill = {{0, Latest()}},
                  .new_others = true},
                 {.ops = {"amin", "amax", "max", "min", "max.dim", "aminmax"},
                  .fill = {{0, Latest()}}}},
       .shapes = small,
       .real = true});
  // A column has no unit stride: vector and scalar code meet in one kernel.
  motifs.push_back(
      {.name = "column_then_extremum",
       .weight = 4,
       .steps = {{.ops = {"Tensor.t", "permute", "flip"}, .fill = {{0, Latest()}}, .plain = true},
                 {.ops = {"select"}, .fill = {{0, Latest()}, {1, Lit(0)}, {2, Lit(0)}}},
                 {.traits = ops::kTranscendental, .fill = {{0, Latest()}}, .new_others = true},
                 {.ops = extrema, .fill = {{0, Latest()}}}},
       .shapes = {{25, 2}, {17, 3}, {33, 2}, {9, 2}, {40, 2}},
       .real = true});
  motifs.push_back({.name = "strided_then_extremum",
                    .weight = 1.5,
                    .steps = {{.traits = ops::kTranscendental,
                               .fill = {{0, Latest()}},
                               .new_others = true,
                               .layout = "strided_column"},
                              {.ops = extrema, .fill = {{0, Latest()}}}},
                    .shapes = {{25}, {17}, {33}, {7, 5}, {31}},
                    .real = true});

  // A write into a stride-0 tensor: rows collide unless it is copied first.
  motifs.push_back(
      {.name = "expand_then_write",
       .weight = 3,
       .steps = {{.ops = {"Tensor.expand", "broadcast_to"}, .fill = {{0, Latest()}}},
                 {.traits = ops::kWriteOp, .fill = {{0, Latest()}}, .new_others = true},
                 {.traits = ops::kFullAggregation, .fill = {{0, Latest()}}, .presence = 0.4}},
       .shapes = {{1, 8}, {1, 3}, {3, 1}, {1}, {1, 17}, {2, 1, 3}}});

  // Index reductions of operands whose memory order differs.
  motifs.push_back(
      {.name = "mixed_layout_then_arg",
       .weight = 3,
       .leaves = {{.shapes = {{8, 8}, {9, 9}, {16, 16}, {4, 6}, {3, 5}}, .layout = "permuted"},
                  {.layout = "contiguous"}},
       .steps = {{.ops = {"add", "mul", "sub", "maximum"},
                  .fill = {{0, Leaf(0)}, {1, Leaf(1)}},
                  .plain = true},
                 {.ops = {"max.dim", "min.dim", "argmax", "argmin", "cummax", "median.dim", "sort",
                          "topk"},
                  .fill = {{0, Latest()}}}},
       .all_results = true});
  motifs.push_back(
      {.name = "write_then_view_then_arg",
       .weight = 1,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = matrices, .layout = "contiguous"}},
       .steps = {{.ops = {"Tensor.tan_", "Tensor.sin_", "Tensor.neg_", "Tensor.mul_.scalar",
                          "Tensor.sigmoid_"},
                  .fill = {{0, Leaf(0)}}},
                 {.ops = {"Tensor.t", "flip", "Tensor.unfold", "select"}, .fill = {{0, Leaf(0)}}},
                 {.ops = {"argmin", "argmax", "max.dim", "amin"}, .fill = {{0, Latest()}}}},
       .mutation = true,
       .all_results = true,
       .forward_only = true});

  // What was read of an input before the input is written must not see the write.
  motifs.push_back(
      {.name = "write_then_overwrite_input",
       .weight = 3,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = matrices}},
       .steps = {{.traits = ops::kWriteOp, .fill = {{0, Leaf(0)}}, .new_others = true},
                 {.ops = {"Tensor.zero_", "Tensor.fill_", "Tensor.copy_", "Tensor.mul_.scalar"},
                  .fill = {{0, Leaf(0)}}}},
       .mutation = true});
  motifs.push_back(
      {.name = "copy_then_write_input",
       .weight = 3,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = matrices}},
       .steps = {{.ops = {"nn.functional.pad"},
                  .fill = {{0, Leaf(0)}, {1, Lit(Arg::Ints({0, 0}))}},
                  .plain = true,
                  .presence = 0.5},
                 {.ops = {"clone", "Tensor.repeat", "slice_copy", "Tensor.contiguous", "dropout"},
                  .fill = {{0, Leaf(0)}}},
                 {.ops = {"Tensor.__setitem__.scalar", "Tensor.zero_", "Tensor.index_fill_",
                          "Tensor.add_"},
                  .fill = {{0, Leaf(0)}}},
                 {.ops = {"sort", "cumsum", "sum", "mul"}, .fill = {{0, Latest()}}}},
       .mutation = true});

  // Accumulating writes of what was read from the same buffer.
  motifs.push_back(
      {.name = "read_modify_write",
       .weight = 2,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = {{1}, {1, 1}, {1, 4}, {3}, {4, 2}}},
                  {.kind = MotifLeaf::Kind::kRepeated}},
       .steps = {{.ops = {"index_select"}, .fill = {{0, Leaf(0)}, {1, Lit(0)}, {2, Leaf(1)}}},
                 {.ops = {"mul.scalar", "add.scalar", "neg", "sin"}, .fill = {{0, Step(0)}}},
                 {.ops = {"Tensor.index_add_"},
                  .fill = {{0, Leaf(0)}, {1, Lit(0)}, {2, Leaf(1)}, {3, Step(1)}}}},
       .mutation = true,
       .all_results = true});
  motifs.push_back(
      {.name = "write_then_add_flip",
       .weight = 1.5,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = {{4, 8}, {8}, {3, 5}, {16, 4}}},
                  {.kind = MotifLeaf::Kind::kRows}},
       .steps = {{.ops = {"mul.scalar"}, .fill = {{0, Leaf(0)}}},
                 {.ops = {"Tensor.index_put_", "Tensor.index_put_.accumulate"},
                  .fill = {{0, Leaf(0)}, {1, LeafList(1)}, {2, Step(0)}}},
                 {.ops = {"flip"}, .fill = {{0, Leaf(0)}, {1, Lit(Arg::Ints({0}))}}},
                 {.ops = {"Tensor.add_"}, .fill = {{0, Leaf(0)}, {1, Step(2)}}, .plain = true}},
       .mutation = true,
       .all_results = true});
  motifs.push_back(
      {.name = "foreach_add_flip",
       .weight = 1.5,
       .leaves = {{.kind = MotifLeaf::Kind::kNoGrad, .shapes = {{8, 8}, {4, 6}, {16}}}},
       .steps = {{.ops = {"flip", "roll", "mul.scalar"}, .fill = {{0, Leaf(0)}}},
                 {.ops = {"_foreach_add_", "_foreach_mul_"},
                  .fill = {{0, LeafList(0)}, {1, StepList(0)}}}},
       .mutation = true,
       .all_results = true,
       .forward_only = true});

  // A base and its view, one written and the other read.
  motifs.push_back(
      {.name = "write_through_view",
       .weight = 3,
       .steps = {{.ops = {"sin", "mul.scalar", "add", "clone", "relu"},
                  .fill = {{0, Latest()}},
                  .new_others = true},
                 {.ops = {"select", "narrow", "transpose", "diagonal", "permute",
                          "Tensor.__getitem__.basic", "Tensor.view", "unsqueeze"},
                  .fill = {{0, Step(0)}}},
                 {.ops = {"Tensor.mul_", "Tensor.add_", "Tensor.zero_", "Tensor.copy_",
                          "Tensor.relu_", "Tensor.fill_", "Tensor.index_add_", "Tensor.clamp_"},
                  .fill = {{0, Step(1)}}},
                 {.ops = {"sum", "mean", "mul", "cumsum", "amax", "clone"},
                  .fill = {{0, Step(0)}}}},
       .mutation = true});

  motifs.push_back(
      {.name = "attention",
       .weight = 1,
       .leaves = {{.shapes = {{2, 2, 4, 8}, {1, 2, 3, 16}, {2, 1, 5, 4}}}, {}, {}},
       .steps = {{.ops = {"transpose"}, .fill = {{0, Leaf(1)}, {1, Lit(-2)}, {2, Lit(-1)}}},
                 {.ops = {"matmul.batched"}, .fill = {{0, Leaf(0)}, {1, Step(0)}}},
                 {.ops = {"div.scalar", "mul.scalar"}, .fill = {{0, Latest()}}},
                 {.ops = {"add"}, .fill = {{0, Latest()}}, .new_others = true, .presence = 0.5},
                 {.ops = {"softmax"}, .fill = {{0, Latest()}, {1, Lit(-1)}}},
                 {.ops = {"matmul.batched"}, .fill = {{0, Latest()}, {1, Leaf(2)}}}},
       .real = true});
  motifs.push_back(
      {.name = "repeat_then_flip",
       .weight = 1,
       .steps = {{.ops = {"add.scalar", "mul.scalar", "sin"}, .fill = {{0, Latest()}}},
                 {.ops = {"flatten"}, .fill = {{0, Latest()}}},
                 {.ops = {"repeat_interleave", "Tensor.repeat"}, .fill = {{0, Latest()}}},
                 {.ops = {"flip", "roll"}, .fill = {{0, Latest()}}}},
       .dynamic = true});
  return motifs;
}

}  // namespace

std::span<const Motif> Motifs() {
  static const auto* const motifs = new std::vector<Motif>(MakeMotifs());
  return *motifs;
}

}  // namespace gradfuzz::generate
