// SPDX-License-Identifier: BSD-3-Clause
// Products of vectors and matrices, distances.
#include "build.h"

namespace gradfuzz::ops {

std::vector<OpRecord> LinalgRecords() {
  constexpr uint32_t kProduct = kExactOnIntegers | kAccumulates;
  const Extent n = Free();
  std::vector<OpRecord> records = {
      {.name = "matmul", .traits = kProduct, .params = {T(1, 2), Shaped({SizeOf(0, -1), n})}},
      {.name = "matmul",
       .variant = "batched",
       .traits = kProduct,
       .params = {T(3, 4), Shaped({SizeOf(0, -4), SizeOf(0, -3), SizeOf(0, -1), n})}},
      {.name = "mm", .traits = kProduct, .params = {T(2, 2), Shaped({SizeOf(0, 1), n})}},
      {.name = "bmm",
       .traits = kProduct,
       .params = {T(3, 3), Shaped({SizeOf(0, 0), SizeOf(0, 2), n})}},
      {.name = "mv",
       .traits = kProduct,
       .params = {T(2, 2), Shaped({SizeOf(0, 1)})},
       .weight = 0.5},
      {.name = "dot", .traits = kProduct, .params = {T(1, 1), Same(0)}, .weight = 0.5},
      {.name = "addmm",
       .traits = kProduct,
       .params = {At(1, T(2, 2)), At(2, Shaped({SizeOf(0, 1), n})),
                  At(0, Shaped({SizeOf(0, 0), SizeOf(1, 1)})), Opt(0.4, Kw("beta", Factor())),
                  Opt(0.4, Kw("alpha", Factor()))}},
      {.name = "baddbmm",
       .traits = kProduct,
       .params = {At(1, T(3, 3)), At(2, Shaped({SizeOf(0, 0), SizeOf(0, 2), n})),
                  At(0, Shaped({SizeOf(0, 0), SizeOf(0, 1), SizeOf(1, 2)})),
                  Opt(0.4, Kw("beta", Factor())), Opt(0.4, Kw("alpha", Factor()))},
       .weight = 0.7},
      {.name = "addmv",
       .traits = kProduct,
       .params = {At(1, T(2, 2)), At(2, Shaped({SizeOf(0, 1)})), At(0, Shaped({SizeOf(0, 0)})),
                  Opt(0.4, Kw("beta", Factor())), Opt(0.4, Kw("alpha", Factor()))},
       .weight = 0.4},
      {.name = "addr",
       .traits = kProduct,
       .params = {At(1, T(1, 1)), At(2, Shaped({n})), At(0, Shaped({SizeOf(0, 0), SizeOf(1, 0)})),
                  Opt(0.4, Kw("beta", Factor())), Opt(0.4, Kw("alpha", Factor()))},
       .weight = 0.4},
      {.name = "outer", .traits = kProduct, .params = {T(1, 1), Shaped({n})}, .weight = 0.6},
      {.name = "inner",
       .traits = kProduct,
       .params = {T(1, 3), Shaped({n, SizeOf(0, -1)})},
       .weight = 0.5},
      {.name = "kron",
       .traits = kProduct,
       .params = {T(1, 2), Contiguous(Shaped({Exactly(2), Exactly(3)}))},
       .weight = 0.4},
      {.name = "einsum",
       .traits = kProduct,
       .params = {Of(Kind::kEquation), Of(Kind::kEinsumList, 0)}},
      {.name = "linalg.cross",
       .traits = kProduct,
       .params = {Shaped({n, Exactly(3)}), Same(0)},
       .weight = 0.5},
      {.name = "linalg.vecdot",
       .traits = kProduct,
       .params = {T(1), Same(0), Opt(0.5, Kw("dim", Dim(0)))},
       .weight = 0.5},
      {.name = "cdist",
       .traits = kAccumulates | kHasKinks,
       .params = {T(2, 3), Shaped({SizeOf(0, -3), n, SizeOf(0, -1)}),
                  Opt(0.6, Kw("p", Float({1, 2, 3})))},
       .weight = 0.4},
      {.name = "linalg.matrix_norm",
       .traits = kAccumulates | kHasKinks,
       .params = {T(2), Opt(0.7, Kw("ord", Choice({"fro"}))), Opt(0.3, Kw("keepdim", Bool()))},
       .weight = 0.3},
      {.name = "linalg.matrix_power",
       .traits = kProduct | kProducts,
       .params = {Shaped({Exactly(3), Exactly(3)}), Int(0, 3)},
       .weight = 0.3},
  };
  for (OpRecord& record : records) record.family = Family::kLinalg;
  return records;
}

}  // namespace gradfuzz::ops
