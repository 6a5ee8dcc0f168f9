// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/tolerance.h"

#include "build.h"

namespace gradfuzz::oracle {
namespace {

double EpsOf(const Program& p) { return PrecisionOf(p).eps; }

TEST(PrecisionTest, IsThatOfTheCoarsestDtype) {
  Build f32;
  f32.Out(f32.Op("neg", {f32.Leaf({2}, Ints(0, 1, 1))}));
  EXPECT_EQ(EpsOf(f32.Done()), 0x1p-23);
  EXPECT_FALSE(PrecisionOf(f32.Done()).low);

  Build f64(DType::kFloat64);
  f64.Out(f64.Op("neg", {f64.Leaf({2}, Ints(0, 1, 1))}));
  EXPECT_EQ(EpsOf(f64.Done()), 0x1p-52);

  Build mixed(DType::kFloat64);
  const Arg x = mixed.Leaf({2}, Ints(0, 1, 1));
  const Arg y = mixed.Leaf({2}, Ints(0, 1, 1), true, DType::kBFloat16);
  mixed.Out(mixed.Op("add", {x, y}));
  EXPECT_EQ(EpsOf(mixed.Done()), 0x1p-7);
  EXPECT_TRUE(PrecisionOf(mixed.Done()).low);
}

TEST(PrecisionTest, CastsCount) {
  Build b;
  const Arg x = b.Leaf({2}, Ints(0, 1, 1));
  b.Out(b.Op("Tensor.to", {x, Arg(DType::kFloat16)}));
  EXPECT_EQ(EpsOf(b.Done()), 0x1p-10);
  EXPECT_EQ(PrecisionOf(b.Done()).largest, 65504);

  Build k;
  k.Out(k.Op("sum", {k.Leaf({2}, Ints(0, 1, 1))}, {{"dtype", Arg(DType::kBFloat16)}}));
  EXPECT_EQ(EpsOf(k.Done()), 0x1p-7);
}

TEST(PrecisionTest, AutocastCounts) {
  Build b;
  b.Out(b.Op("neg", {b.Leaf({2}, Ints(0, 1, 1))}));
  Program p = b.Done();
  p.call.autocast = true;
  EXPECT_EQ(EpsOf(p), 0x1p-7);
  p.call.autocast = false;
  p.regions = {{program::Region::Kind::kAutocast, 0, 0}};
  EXPECT_EQ(EpsOf(p), 0x1p-7);
  p.regions = {{program::Region::Kind::kNoGrad, 0, 0}};
  EXPECT_EQ(EpsOf(p), 0x1p-23);
}

TEST(PrecisionTest, IntegersAloneComputeInFloat32) {
  Build b(DType::kInt64);
  b.Out(b.Op("neg", {b.Leaf({2}, Ints(0, 1, 1), false)}));
  EXPECT_EQ(EpsOf(b.Done()), 0x1p-23);
}

}  // namespace
}  // namespace gradfuzz::oracle
