// SPDX-License-Identifier: BSD-3-Clause
// Short names for the samplers, so that a record reads like the signature it stands for.
// Private to src/ops: records are data, these only spell them.
#pragma once

#include <utility>
#include <vector>

#include "gradfuzz/ops/record.h"

namespace gradfuzz::ops {

using Kind = Sampler::Kind;

inline constexpr uint32_t kMove = kExact | kExactOnIntegers | kLinear;  // views, copies, reads
inline constexpr uint32_t kArithmetic = kExactOnIntegers;
inline constexpr int64_t kMaxDims = 5;

// --- modifiers -----------------------------------------------------------------------------------
inline Param Kw(std::string_view keyword, Param param) {
  param.keyword = keyword;
  return param;
}
inline Param Opt(double presence, Param param, int needs = -1) {
  param.presence = presence;
  param.needs = needs;
  return param;
}

// Spelled as positional argument number `position`, whenever it is drawn.
inline Param At(int position, Param param) {
  param.position = position;
  return param;
}

// --- tensors -------------------------------------------------------------------------------------
inline Param Of(Kind kind, int of = 0, int dim = -1) {
  Param param;
  param.sampler.kind = kind;
  param.sampler.of = of;
  param.sampler.dim = dim;
  return param;
}
inline Param T(Domain domain = Domain::kAny, int64_t low = 0, int64_t high = kMaxDims) {
  Param param = Of(Kind::kTensor);
  param.sampler.domain = domain;
  param.sampler.low = low;
  param.sampler.high = high;
  return param;
}
inline Param T(int64_t low, int64_t high = kMaxDims) { return T(Domain::kAny, low, high); }
inline Param Contiguous(Param param) {
  param.sampler.contiguous = true;
  return param;
}
// The operand of an in-place operator.
inline Param Target(int64_t low = 0, Domain domain = Domain::kAny) {
  Param param = T(domain, low);
  param.sampler.detached = true;
  return param;
}
inline Param Same(int of, Domain domain = Domain::kAny) {
  Param param = Of(Kind::kSameShape, of);
  param.sampler.domain = domain;
  return param;
}
inline Param Broadcast(int of, Domain domain = Domain::kAny) {
  Param param = Of(Kind::kBroadcastable, of);
  param.sampler.domain = domain;
  return param;
}
inline Param Expandable(int of, Domain domain = Domain::kAny) {
  Param param = Of(Kind::kExpandable, of);
  param.sampler.domain = domain;
  return param;
}
// `exact` false: a shape that expands to the result's will do, too.
inline Param Like(std::string_view op, bool exact = true) {
  Param param = Of(Kind::kLikeResult);
  param.sampler.text = op;
  param.sampler.exact_shape = exact;
  return param;
}
inline Extent SizeOf(int of, int dim) { return {.of = of, .dim = dim}; }
inline Extent AtMost(int of, int dim) { return {.of = of, .dim = dim, .at_most = true}; }
inline Extent Over(Extent extent, int param) {
  extent.over = param;
  return extent;
}
inline Extent Times(int param) { return {.times = param}; }
inline Extent Free() { return {}; }
inline Extent Exactly(int64_t size) { return {.constant = size}; }
inline Param Shaped(std::vector<Extent> extents, Domain domain = Domain::kAny) {
  Param param = T(domain);
  param.sampler.extents = std::move(extents);
  return param;
}

// --- index tensors -------------------------------------------------------------------------------
inline constexpr bool kUnique = true;
inline constexpr bool kRepeated = false;
inline Param Index(int of, int dim, bool unique) {
  Param param = Of(Kind::kIndex, of, dim);
  param.sampler.unique = unique;
  return param;
}
inline Param IndexLike(int of, int dim, bool unique, bool exact_shape = false) {
  Param param = Of(Kind::kIndexLike, of, dim);
  param.sampler.unique = unique;
  param.sampler.exact_shape = exact_shape;
  return param;
}
inline Param FlatIndex(int of, bool unique) {
  Param param = Of(Kind::kFlatIndex, of);
  param.sampler.unique = unique;
  return param;
}
inline Param IndexList(int of, bool unique) {
  Param param = Of(Kind::kIndexList, of);
  param.sampler.unique = unique;
  return param;
}
inline Param Mask(int of) { return Of(Kind::kMask, of); }

// --- attributes ----------------------------------------------------------------------------------
inline Param Dim(int of) { return Of(Kind::kDim, of); }
inline Param Dims(int of) { return Of(Kind::kDims, of); }
inline Param DimOrDims(int of) { return Of(Kind::kDimOrDims, of); }
inline Param Int(int64_t low, int64_t high) {
  Param param = Of(Kind::kInt);
  param.sampler.low = low;
  param.sampler.high = high;
  return param;
}
inline Param Ints(int length, int64_t low, int64_t high) {
  Param param = Of(Kind::kIntList);
  param.sampler.length = length;
  param.sampler.low = low;
  param.sampler.high = high;
  return param;
}
inline Param Float(std::vector<double> floats) {
  Param param = Of(Kind::kFloat);
  param.sampler.floats = std::move(floats);
  return param;
}
inline Param Number() { return Float({2, -1, 3, 1, 0, 0.5, -1.5, 0.3}); }
inline Param Factor() { return Float({2, -1, 3, 0.5, -1.5, 0.3}); }
inline Param Bool() { return Of(Kind::kBool); }
inline Param Choice(std::vector<std::string_view> choices) {
  Param param = Of(Kind::kChoice);
  param.sampler.choices = std::move(choices);
  return param;
}
inline Param Literal(program::Arg literal) {
  Param param = Of(Kind::kLiteral);
  param.sampler.literal = std::move(literal);
  return param;
}
inline Param Lit(program::Arg literal) { return Literal(std::move(literal)); }

// --- the families, one file each -----------------------------------------------------------------
std::vector<OpRecord> ScatterRecords();
std::vector<OpRecord> GatherRecords();
std::vector<OpRecord> PointwiseRecords();
std::vector<OpRecord> AggregationRecords();
std::vector<OpRecord> ViewRecords();
std::vector<OpRecord> JoinRecords();
std::vector<OpRecord> OrderRecords();
std::vector<OpRecord> LinalgRecords();
std::vector<OpRecord> NnRecords();
std::vector<OpRecord> MutationRecords();

}  // namespace gradfuzz::ops
