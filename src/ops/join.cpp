// SPDX-License-Identifier: BSD-3-Clause
// Joins of several tensors, and pads.
#include "build.h"

namespace gradfuzz::ops {
namespace {

Param Pads(int64_t low, int64_t high) {
  Param param = Of(Kind::kPads);
  param.sampler.low = low;
  param.sampler.high = high;
  return param;
}

}  // namespace

std::vector<OpRecord> JoinRecords() {
  std::vector<OpRecord> records = {
      {.name = "cat",
       .traits = kMove,
       .params = {Of(Kind::kConcatList), Opt(0.8, Kw("dim", Of(Kind::kConcatDim)))},
       .weight = 1.5},
      {.name = "stack",
       .traits = kMove,
       .params = {Of(Kind::kStackList), Opt(0.7, Kw("dim", Of(Kind::kNewDim)))},
       .weight = 1},
      {.name = "hstack", .traits = kMove, .params = {Of(Kind::kStackList)}, .weight = 0.3},
      {.name = "vstack", .traits = kMove, .params = {Of(Kind::kStackList)}, .weight = 0.3},
      {.name = "dstack", .traits = kMove, .params = {Of(Kind::kStackList)}, .weight = 0.2},
      {.name = "column_stack", .traits = kMove, .params = {Of(Kind::kStackList)}, .weight = 0.2},
      {.name = "nn.functional.pad",
       .traits = kMove,
       .params = {T(1), Pads(-1, 3), Opt(0.4, Kw("value", Number()))},
       .weight = 1.2},
      {.name = "constant_pad_nd",
       .traits = kMove,
       .params = {T(1), Pads(-1, 2), Opt(0.4, Number())},
       .weight = 0.4},
      {.name = "nn.functional.pad",
       .variant = "mode",
       .traits = kMove | kAccumulates,
       .params = {T(2, 3), Of(Kind::kPads1d),
                  Kw("mode", Choice({"reflect", "replicate", "circular"}))},
       .weight = 0.5},
  };
  for (OpRecord& record : records) record.family = Family::kJoin;
  return records;
}

}  // namespace gradfuzz::ops
