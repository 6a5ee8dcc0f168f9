// SPDX-License-Identifier: BSD-3-Clause
// Reads by index.
#include "build.h"

namespace gradfuzz::ops {

std::vector<OpRecord> GatherRecords() {
  constexpr uint32_t kRead = kMove | kAccumulates;  // one element may be read many times
  std::vector<OpRecord> records = {
      {.name = "gather", .traits = kRead, .params = {T(1), Dim(0), IndexLike(0, 1, kRepeated)}},
      {.name = "index_select", .traits = kRead, .params = {T(1), Dim(0), Index(0, 1, kRepeated)}},
      {.name = "take", .traits = kRead, .params = {T(1), FlatIndex(0, kRepeated)}},
      {.name = "take_along_dim",
       .traits = kRead,
       .params = {T(1), Kw("dim", Dim(0)), IndexLike(0, 1, kRepeated, true)}},
      {.name = "embedding",
       .traits = kRead,
       .params = {T(2, 2), Of(Kind::kIndexAny), Opt(0.3, Kw("padding_idx", Of(Kind::kIndexAt)))},
       .weight = 0.6},
      {.name = "repeat_interleave",
       .traits = kRead,
       .params = {T(1), Int(1, 3), Opt(0.8, Kw("dim", Dim(0)))},
       .weight = 0.6},
      {.name = "Tensor.__getitem__",
       .variant = "basic",
       .traits = kRead,
       .params = {T(1), Of(Kind::kBasicIndex)}},
      {.name = "Tensor.__getitem__",
       .variant = "tensor",
       .traits = kRead,
       .params = {T(1), Of(Kind::kAdvancedIndex)}},
  };
  for (OpRecord& record : records) record.family = Family::kGather;
  return records;
}

}  // namespace gradfuzz::ops
