// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/message/outcome.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace gradfuzz {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(OutcomeTest, ValuesSurviveTheJourney) {
  using Values = std::vector<std::complex<double>>;
  RungOutcome rung;
  rung.rung = "inductor";
  rung.comparisons.resize(1);
  Comparison& sent = rung.comparisons[0];
  sent.reference = Values{1.5, kInf, {-2, 0.25}, {0, -0.0}};
  sent.eager = Values{-0.0, -kInf, {kInf, kNaN}};
  sent.got = Values{0.1};
  Outcome outcome;
  outcome.rungs = {rung};
  // As the channel and the store carry it.
  const auto back = OutcomeFromJson(nlohmann::json::parse(ToJson(outcome).dump()));
  ASSERT_TRUE(back.ok());
  const Comparison& c = back->rungs.at(0).comparisons.at(0);
  EXPECT_EQ(c.reference, sent.reference);
  EXPECT_TRUE(std::signbit(c.reference.at(3).imag()));
  ASSERT_EQ(c.eager.size(), 3U);
  EXPECT_TRUE(std::signbit(c.eager[0].real()));
  EXPECT_EQ(c.eager[1], -kInf);
  EXPECT_EQ(c.eager[2].real(), kInf);
  EXPECT_TRUE(std::isnan(c.eager[2].imag()));
  EXPECT_EQ(c.got, sent.got);
}

}  // namespace
}  // namespace gradfuzz
