// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/describe.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace gradfuzz::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Comparison NotFinite(std::complex<double> reference, std::complex<double> eager,
                     std::complex<double> got) {
  Comparison c;
  c.verdict = Verdict::kNanMismatch;
  c.numel = 2;
  c.wrong = 1;
  c.reference = {1, reference};
  c.eager = {1, eager};
  c.got = {1, got};
  c.wrong_at = {1};
  c.eager_error = 1e-7;  // of finite elements; those that are not have no distance
  return c;
}

// NaN is no distance of 0: what has it where float64 has none is not what float64 sides with.
TEST(DescribeTest, SidesOfNaNAndInfGoByTheirPlaces) {
  EXPECT_TRUE(Sides(NotFinite(2, 2, kNaN), "inductor").starts_with("float64 sides with eager"));
  EXPECT_TRUE(Sides(NotFinite(2, 2, -kInf), "inductor").starts_with("float64 sides with eager"));
  EXPECT_TRUE(
      Sides(NotFinite(kInf, kInf, kNaN), "inductor").starts_with("float64 sides with eager"));
  EXPECT_TRUE(Sides(NotFinite(2, kNaN, 2), "inductor").starts_with("float64 sides with inductor"));
  EXPECT_TRUE(
      Sides(NotFinite(2, kInf, kNaN), "inductor").starts_with("float64 sides with neither"));
  // Of a complex number it does not matter which part is no number.
  EXPECT_TRUE(Sides(NotFinite({kNaN, 1}, {kInf, kNaN}, {1, 1}), "inductor")
                  .starts_with("float64 sides with eager"));
}

TEST(DescribeTest, AnErrorDoesNotHideWrongValuesAboveIt) {
  Outcome outcome;
  outcome.first_wrong_rung = "aot_eager_decomp_partition";
  RungOutcome raises, wrong;
  raises.rung = outcome.first_wrong_rung;
  raises.verdict = Verdict::kRuntimeError;
  wrong.rung = "inductor";
  wrong.verdict = Verdict::kGradientMismatch;
  wrong.comparisons = {NotFinite(1, 1, 2)};
  wrong.comparisons[0].verdict = Verdict::kGradientMismatch;
  outcome.rungs = {raises, wrong};
  EXPECT_EQ(Accusation(outcome), "raises when run; inductor: wrong gradient");
  outcome.rungs = {raises};
  EXPECT_EQ(Accusation(outcome), "raises when run");
}

}  // namespace
}  // namespace gradfuzz::report
