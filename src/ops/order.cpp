// SPDX-License-Identifier: BSD-3-Clause
// Sorting and selection by rank: the choice at ties is free.
#include "build.h"

namespace gradfuzz::ops {

std::vector<OpRecord> OrderRecords() {
  constexpr uint32_t kRank = kExact | kHasKinks;
  std::vector<OpRecord> records = {
      {.name = "sort",
       .traits = kRank,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0))), Opt(0.4, Kw("descending", Bool()))},
       .results = 2},
      {.name = "sort",
       .variant = "stable",
       .traits = kRank,
       .params = {T(), Kw("stable", Lit(true)), Opt(0.7, Kw("dim", Dim(0))),
                  Opt(0.4, Kw("descending", Bool()))},
       .results = 2,
       .weight = 0.4},
      {.name = "msort", .traits = kRank, .params = {T(1)}, .weight = 0.3},
      {.name = "topk",
       .traits = kRank,
       .params = {T(1), At(2, Dim(0)), At(1, Of(Kind::kWindow, 0, 1)),
                  Opt(0.4, Kw("largest", Bool()))},
       .results = 2},
      {.name = "kthvalue",
       .traits = kRank,
       .params = {T(1), At(2, Dim(0)), At(1, Of(Kind::kWindow, 0, 1)),
                  Opt(0.3, Kw("keepdim", Bool()))},
       .results = 2,
       .weight = 0.5},
      {.name = "argsort",
       .traits = kExact | kNoGradient | kJumps,
       .params = {T(), Opt(0.7, Kw("dim", Dim(0)))},
       .weight = 0.15},
  };
  for (OpRecord& record : records) record.family = Family::kOrder;
  return records;
}

}  // namespace gradfuzz::ops
