// SPDX-License-Identifier: BSD-3-Clause
// Writes into a copy of the first operand.
#include "build.h"

namespace gradfuzz::ops {
namespace {

constexpr uint32_t kWrite = kMove | kWriteOp;
constexpr uint32_t kAdd = kExactOnIntegers | kLinear | kWriteOp | kAccumulates;

struct Mode {
  const char* name;
  uint32_t traits;
};
// What scatter_reduce and index_reduce do with values that meet.
constexpr Mode kModes[] = {
    {"sum", kExactOnIntegers | kLinear | kWriteOp | kAccumulates},
    {"prod", kWriteOp | kProducts},
    {"mean", kLinear | kWriteOp | kAccumulates},
    {"amin", kWriteOp | kExact | kHasKinks},
    {"amax", kWriteOp | kExact | kHasKinks},
};

OpRecord ScatterReduce(const Mode& mode) {
  return {.name = "scatter_reduce",
          .variant = mode.name,
          .family = Family::kScatter,
          .traits = mode.traits,
          .params = {T(1), Dim(0), IndexLike(0, 1, kRepeated), Same(2), Lit(mode.name),
                     Opt(0.5, Kw("include_self", Bool()))},
          .weight = 0.6};
}

OpRecord IndexReduce(const Mode& mode) {
  return {.name = "index_reduce",
          .variant = mode.name,
          .family = Family::kScatter,
          .traits = mode.traits,
          .params = {T(1), Dim(0), Index(0, 1, kRepeated), Like("index_select"), Lit(mode.name),
                     Opt(0.5, Kw("include_self", Bool()))},
          .weight = 0.3};
}

}  // namespace

std::vector<OpRecord> ScatterRecords() {
  std::vector<OpRecord> records = {
      {.name = "slice_scatter",
       .traits = kWrite,
       .params = {T(1), Kw("dim", Dim(0)), Opt(0.8, Kw("start", Of(Kind::kStart, 0, 1))),
                  Opt(0.8, Kw("end", Of(Kind::kStop, 0, 1))), Opt(0.4, Kw("step", Int(1, 3))),
                  Like("slice")},
       .weight = 1.5},
      {.name = "select_scatter",
       .traits = kWrite,
       .params = {T(1), Kw("dim", Dim(0)), Kw("index", Of(Kind::kIndexAt, 0, 1)), Like("select")},
       .weight = 1.5},
      {.name = "diagonal_scatter",
       .traits = kWrite,
       .params = {T(2), Opt(0.5, Kw("offset", Int(-1, 1))), Opt(0.5, Kw("dim1", Dim(0))),
                  Opt(1, Kw("dim2", Of(Kind::kOtherDim, 0, 2)), 2), Like("diagonal")},
       .weight = 1.5},
      {.name = "as_strided_scatter",
       .traits = kWrite,
       .params = {Contiguous(T(1)), Kw("size", Of(Kind::kStridedSizes)),
                  Kw("stride", Of(Kind::kStridedStrides)),
                  Kw("storage_offset", Of(Kind::kStridedOffset)), Like("as_strided")}},
      {.name = "scatter",
       .traits = kWrite,
       .params = {T(1), Dim(0), IndexLike(0, 1, kUnique), Same(2)}},
      {.name = "scatter",
       .variant = "value",
       .traits = kWrite,
       .params = {T(1), Dim(0), IndexLike(0, 1, kRepeated), Number()}},
      {.name = "scatter_add",
       .traits = kAdd,
       .params = {T(1), Dim(0), IndexLike(0, 1, kRepeated), Same(2)}},
      {.name = "index_add",
       .traits = kAdd,
       .params = {T(1), Dim(0), Index(0, 1, kRepeated), Like("index_select"),
                  Opt(0.4, Kw("alpha", Factor()))}},
      {.name = "index_copy",
       .traits = kWrite,
       .params = {T(1), Dim(0), Index(0, 1, kUnique), Like("index_select")}},
      {.name = "index_fill",
       .traits = kWrite,
       .params = {T(1), Dim(0), Index(0, 1, kRepeated), Number()}},
      {.name = "index_fill",
       .variant = "tensor",
       .traits = kWrite | kAccumulates,
       .params = {T(1), Dim(0), Index(0, 1, kRepeated), T(0, 0)},
       .weight = 0.5},
      {.name = "index_put",
       .traits = kWrite,
       .params = {T(1), IndexList(0, kUnique), Like("index", false)}},
      {.name = "index_put",
       .variant = "accumulate",
       .traits = kAdd,
       .params = {T(1), IndexList(0, kRepeated), Like("index", false),
                  Kw("accumulate", Lit(true))}},
      {.name = "put",
       .traits = kWrite,
       .params = {T(1), FlatIndex(0, kUnique), Like("take")},
       .weight = 0.7},
      {.name = "put",
       .variant = "accumulate",
       .traits = kAdd,
       .params = {T(1), FlatIndex(0, kRepeated), Like("take"), Kw("accumulate", Lit(true))},
       .weight = 0.7},
      {.name = "masked_fill", .traits = kWrite, .params = {T(), Mask(0), Number()}},
      {.name = "masked_fill",
       .variant = "tensor",
       .traits = kWrite | kAccumulates,
       .params = {T(), Mask(0), T(0, 0)},
       .weight = 0.5},
      {.name = "masked_scatter", .traits = kWrite, .params = {T(), Mask(0), Same(0)}},
      {.name = "fill", .traits = kWrite, .params = {T(), Number()}, .weight = 0.15},
  };
  for (const Mode& mode : kModes) records.push_back(ScatterReduce(mode));
  for (const Mode& mode : kModes) {
    if (std::string_view(mode.name) != "sum") records.push_back(IndexReduce(mode));  // index_add
  }
  for (OpRecord& record : records) record.family = Family::kScatter;
  return records;
}

}  // namespace gradfuzz::ops
