// SPDX-License-Identifier: BSD-3-Clause
// In place on the first operand: an intermediate value, or a leaf that requires no gradient.
#include "build.h"

namespace gradfuzz::ops {
namespace {

// Seldom drawn freely: most of what mutation finds comes from the motifs that ask for it.
constexpr double kRare = 0.12;

OpRecord InPlace(const char* name, uint32_t traits, std::vector<Param> params,
                 const char* variant = "", double weight = kRare) {
  return {.name = name,
          .variant = variant,
          .family = Family::kMutation,
          .traits = traits | kInPlace,
          .params = std::move(params),
          .weight = weight};
}

Param Matrix() {
  Param param = Target(2);
  param.sampler.high = 2;
  return param;
}

}  // namespace

std::vector<OpRecord> MutationRecords() {
  constexpr uint32_t kSet = kMove;
  constexpr uint32_t kAdd = kExactOnIntegers | kLinear | kAccumulates;
  const Param alpha = Opt(0.3, Kw("alpha", Factor()));
  std::vector<OpRecord> records = {
      InPlace("Tensor.add_", kArithmetic | kLinear, {Target(), Expandable(0), alpha}, "",
              2 * kRare),
      InPlace("Tensor.sub_", kArithmetic | kLinear, {Target(), Expandable(0), alpha}),
      InPlace("Tensor.mul_", kArithmetic, {Target(), Expandable(0)}, "", 2 * kRare),
      InPlace("Tensor.mul_", kArithmetic | kLinear, {Target(), Factor()}, "scalar"),
      InPlace("Tensor.div_", 0, {Target(), Expandable(0, Domain::kNonZero)}),
      InPlace("Tensor.zero_", kSet, {Target()}, "", 2 * kRare),
      InPlace("Tensor.fill_", kSet, {Target(), Number()}),
      InPlace("Tensor.copy_", kSet, {Target(), Expandable(0)}, "", 2 * kRare),
      InPlace("Tensor.neg_", kSet, {Target()}),
      InPlace("Tensor.detach_", kSet, {Target()}),
      InPlace("Tensor.abs_", kExact | kExactOnIntegers | kHasKinks, {Target()}),
      InPlace("Tensor.relu_", kExact | kExactOnIntegers | kHasKinks, {Target()}),
      InPlace("Tensor.sigmoid_", kTranscendental, {Target()}),
      InPlace("Tensor.tanh_", kTranscendental, {Target()}),
      InPlace("Tensor.sin_", kTranscendental, {Target(0, Domain::kModerate)}),
      InPlace("Tensor.tan_", kTranscendental, {Target(0, Domain::kUnit)}),
      InPlace("Tensor.exp_", kTranscendental, {Target(0, Domain::kModerate)}),
      InPlace("Tensor.sqrt_", kTranscendental, {Target(0, Domain::kPositive)}),
      InPlace("Tensor.clamp_", kExact | kExactOnIntegers | kHasKinks,
              {Target(), Kw("min", Float({-1, 0, -0.5})), Opt(0.7, Kw("max", Float({1, 2, 0.5})))}),
      InPlace("Tensor.addcmul_", kArithmetic,
              {Target(), Expandable(0), Expandable(0), Opt(0.4, Kw("value", Factor()))}),
      InPlace("Tensor.lerp_", 0, {Target(), Expandable(0), Float({0.25, 0.5, 2})}),
      InPlace("Tensor.masked_fill_", kSet, {Target(), Mask(0), Number()}),
      InPlace("Tensor.masked_scatter_", kSet, {Target(), Mask(0), Same(0)}),
      InPlace("Tensor.index_put_", kSet, {Target(1), IndexList(0, kUnique), Like("index", false)},
              "", 2 * kRare),
      InPlace(
          "Tensor.index_put_", kAdd,
          {Target(1), IndexList(0, kRepeated), Like("index", false), Kw("accumulate", Lit(true))},
          "accumulate", 2 * kRare),
      InPlace("Tensor.index_add_", kAdd,
              {Target(1), Dim(0), Index(0, 1, kRepeated), Like("index_select"), alpha}, "",
              2 * kRare),
      InPlace("Tensor.index_copy_", kSet,
              {Target(1), Dim(0), Index(0, 1, kUnique), Like("index_select")}, "", 2 * kRare),
      InPlace("Tensor.index_fill_", kSet, {Target(1), Dim(0), Index(0, 1, kRepeated), Number()}),
      InPlace("Tensor.scatter_", kSet, {Target(1), Dim(0), IndexLike(0, 1, kUnique), Same(2)}),
      InPlace("Tensor.scatter_add_", kAdd,
              {Target(1), Dim(0), IndexLike(0, 1, kRepeated), Same(2)}),
      InPlace("Tensor.put_", kSet, {Target(1), FlatIndex(0, kUnique), Like("take")}),
      InPlace("Tensor.fill_diagonal_", kSet, {Matrix(), Number()}),
      InPlace("Tensor.__setitem__", kSet,
              {Target(1), Of(Kind::kBasicIndex), Like("Tensor.__getitem__", false)}, "", 2 * kRare),
      InPlace("Tensor.__setitem__", kSet, {Target(1), Of(Kind::kBasicIndex), Number()}, "scalar"),
      InPlace("_foreach_add_", kArithmetic | kLinear,
              {Of(Kind::kTargetList), Of(Kind::kListLike, 0)}),
      InPlace("_foreach_mul_", kArithmetic, {Of(Kind::kTargetList), Of(Kind::kListLike, 0)}),
  };
  for (OpRecord& record : records) {
    // A Python statement, not an expression, or a function that returns None.
    if (record.name == "Tensor.__setitem__" || record.name.substr(0, 9) == "_foreach_") {
      record.results = 0;
    }
  }
  return records;
}

}  // namespace gradfuzz::ops
