// SPDX-License-Identifier: BSD-3-Clause
// Reductions over dimensions, and scans along one.
#include <cmath>

#include "build.h"

namespace gradfuzz::ops {
namespace {

constexpr uint32_t kSum = kExactOnIntegers | kLinear | kAccumulates | kFullAggregation;
constexpr uint32_t kExtreme = kExact | kHasKinks | kExtremum;
constexpr uint32_t kIndices = kExact | kExactOnIntegers | kNoGradient | kJumps;

// op(x), op(x, dim=d), op(x, dim=[d, e], keepdim=True)
std::vector<Param> OverDims(double presence = 0.65, int64_t low = 0) {
  return {T(low), Opt(presence, Kw("dim", DimOrDims(0))), Opt(0.35, Kw("keepdim", Bool()), 1)};
}
// op(x, dim=d, keepdim=True)
std::vector<Param> OverDim() { return {T(), Kw("dim", Dim(0)), Opt(0.35, Kw("keepdim", Bool()))}; }

Param Correction() { return Opt(0.6, Kw("correction", Int(0, 1))); }

}  // namespace

std::vector<OpRecord> AggregationRecords() {
  std::vector<OpRecord> records = {
      {.name = "sum", .traits = kSum, .params = OverDims(), .weight = 2},
      {.name = "mean",
       .traits = kLinear | kAccumulates | kFullAggregation,
       .params = OverDims(),
       .weight = 1.5},
      {.name = "nansum",
       .traits = kExactOnIntegers | kAccumulates,
       .params = OverDims(),
       .weight = 0.5},
      {.name = "nanmean", .traits = kAccumulates, .params = OverDims(), .weight = 0.3},
      {.name = "amin", .traits = kExtreme, .params = OverDims(), .weight = 1.5},
      {.name = "amax", .traits = kExtreme, .params = OverDims(), .weight = 1.5},
      {.name = "max", .traits = kExtreme, .params = {T()}, .weight = 0.7},
      {.name = "min", .traits = kExtreme, .params = {T()}, .weight = 0.7},
      {.name = "max", .variant = "dim", .traits = kExtreme, .params = OverDim(), .results = 2},
      {.name = "min", .variant = "dim", .traits = kExtreme, .params = OverDim(), .results = 2},
      {.name = "aminmax",
       .traits = kExact | kHasKinks,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0))), Opt(0.35, Kw("keepdim", Bool()), 1)},
       .results = 2,
       .weight = 0.5},
      {.name = "median", .traits = kExact | kHasKinks, .params = {T()}, .weight = 0.4},
      {.name = "median",
       .variant = "dim",
       .traits = kExact | kHasKinks,
       .params = OverDim(),
       .results = 2,
       .weight = 0.5},
      {.name = "nanmedian",
       .variant = "dim",
       .traits = kExact | kHasKinks,
       .params = OverDim(),
       .results = 2,
       .weight = 0.3},
      {.name = "prod", .traits = kProducts, .params = {T()}, .weight = 0.7},
      {.name = "prod", .variant = "dim", .traits = kProducts, .params = OverDim(), .weight = 0.7},
      {.name = "logsumexp",
       .traits = kTranscendental | kAccumulates,
       .params = {T(Domain::kModerate), Kw("dim", DimOrDims(0)), Opt(0.35, Kw("keepdim", Bool()))}},
      {.name = "var",
       .traits = kAccumulates,
       .params = {T(), Kw("dim", DimOrDims(0)), Correction(), Opt(0.35, Kw("keepdim", Bool()))}},
      {.name = "var", .variant = "full", .traits = kAccumulates, .params = {T()}, .weight = 0.4},
      {.name = "std",
       .traits = kAccumulates | kHasKinks,
       .params = {T(), Kw("dim", DimOrDims(0)), Correction(), Opt(0.35, Kw("keepdim", Bool()))},
       .weight = 0.7},
      {.name = "var_mean",
       .traits = kAccumulates,
       .params = {T(), Kw("dim", DimOrDims(0)), Correction(), Opt(0.35, Kw("keepdim", Bool()))},
       .results = 2,
       .weight = 0.5},
      {.name = "std_mean",
       .traits = kAccumulates | kHasKinks,
       .params = {T(), Kw("dim", DimOrDims(0)), Correction(), Opt(0.35, Kw("keepdim", Bool()))},
       .results = 2,
       .weight = 0.3},
      {.name = "linalg.vector_norm",
       .traits = kAccumulates | kHasKinks,
       .params = {T(), Opt(0.7, Kw("ord", Float({2, 1, 3, 0.5, INFINITY, -INFINITY}))),
                  Opt(0.6, Kw("dim", DimOrDims(0))), Opt(0.35, Kw("keepdim", Bool()), 2)}},
      {.name = "norm",
       .traits = kAccumulates | kHasKinks,
       .params = {T(), Kw("p", Float({2, 1, 3, INFINITY})), Kw("dim", Dims(0)),
                  Opt(0.35, Kw("keepdim", Bool()))},
       .weight = 0.6},
      {.name = "cumsum",
       .traits = kExactOnIntegers | kLinear | kAccumulates,
       .params = {T(), Kw("dim", Dim(0))},
       .weight = 1.2},
      {.name = "cumprod", .traits = kProducts, .params = {T(), Kw("dim", Dim(0))}},
      {.name = "logcumsumexp",
       .traits = kTranscendental | kAccumulates,
       .params = {T(Domain::kModerate), Kw("dim", Dim(0))},
       .weight = 0.6},
      {.name = "cummax",
       .traits = kExact | kHasKinks,
       .params = {T(), Kw("dim", Dim(0))},
       .results = 2,
       .weight = 0.6},
      {.name = "cummin",
       .traits = kExact | kHasKinks,
       .params = {T(), Kw("dim", Dim(0))},
       .results = 2,
       .weight = 0.6},
      {.name = "softmax",
       .traits = kTranscendental | kAccumulates,
       .params = {T(), Kw("dim", Dim(0))}},
      {.name = "log_softmax",
       .traits = kTranscendental | kAccumulates,
       .params = {T(), Kw("dim", Dim(0))}},
      {.name = "trace",
       .traits = kExactOnIntegers | kLinear | kAccumulates,
       .params = {T(2, 2)},
       .weight = 0.6},
      {.name = "diff",
       .traits = kExactOnIntegers | kLinear | kAccumulates,
       .params = {T(1), Opt(0.4, Kw("n", Int(1, 2))), Opt(0.7, Kw("dim", Dim(0)))},
       .weight = 0.6},
      {.name = "trapezoid",
       .traits = kLinear | kAccumulates,
       .params = {T(1), Opt(0.5, Kw("dx", Float({2, 0.5}))), Opt(0.6, Kw("dim", Dim(0)))},
       .weight = 0.3},
      {.name = "cumulative_trapezoid",
       .traits = kLinear | kAccumulates,
       .params = {T(1), Opt(0.5, Kw("dx", Float({2, 0.5}))), Opt(0.6, Kw("dim", Dim(0)))},
       .weight = 0.4},
      {.name = "dist",
       .traits = kAccumulates | kHasKinks,
       .params = {T(), Broadcast(0), Opt(0.5, Kw("p", Float({1, 2, 3})))},
       .weight = 0.4},
      {.name = "renorm",
       .traits = kAccumulates | kHasKinks,
       .params = {T(2), Float({2, 1}), Dim(0), Float({1, 2.5})},
       .weight = 0.3},
      {.name = "argmax",
       .traits = kIndices,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0))), Opt(0.35, Kw("keepdim", Bool()), 1)},
       .weight = 0.2},
      {.name = "argmin",
       .traits = kIndices,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0))), Opt(0.35, Kw("keepdim", Bool()), 1)},
       .weight = 0.2},
      {.name = "count_nonzero",
       .traits = kIndices,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0)))},
       .weight = 0.1},
  };
  for (OpRecord& record : records) record.family = Family::kAggregation;
  return records;
}

}  // namespace gradfuzz::ops
