// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace gradfuzz {
namespace {

// The stream is part of the meaning of every seed: a change of these numbers changes all programs.
TEST(RngTest, GoldenVector) {
  Rng rng(7);
  const std::vector<uint64_t> expected = {rng.Next(), rng.Next(), rng.Next()};
  Rng again(7);
  for (uint64_t value : expected) EXPECT_EQ(again.Next(), value);
  EXPECT_EQ(Rng(0).Next(), 11091344671253066420ULL);
  EXPECT_EQ(Rng(0).Fork("shapes").Next(), Rng(0).Fork("shapes").Next());
}

TEST(RngTest, ForkDependsOnSeedAndNameOnly) {
  Rng used(42);
  for (int i = 0; i < 100; ++i) used.Next();
  EXPECT_EQ(used.Fork("a").Next(), Rng(42).Fork("a").Next());
  EXPECT_NE(Rng(42).Fork("a").Next(), Rng(42).Fork("b").Next());
  EXPECT_NE(Rng(42).Fork("a").Next(), Rng(43).Fork("a").Next());
  EXPECT_NE(Rng(42).Fork("a", 1).Next(), Rng(42).Fork("a", 2).Next());
}

TEST(RngTest, BelowIsUniform) {
  Rng rng(1);
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 70000; ++i) ++counts[rng.Below(7)];
  // 10,000 expected each; six standard deviations are about 560.
  for (int count : counts) EXPECT_NEAR(count, 10000, 560);
}

TEST(RngTest, BetweenHoldsItsBoundsAndReachesThem) {
  Rng rng(2);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.Between(-2, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(rng.Between(INT64_MIN, INT64_MIN), INT64_MIN);
  (void)rng.Between(INT64_MIN, INT64_MAX);
}

TEST(RngTest, PickWeightedFollowsWeightsAndSkipsZero) {
  Rng rng(3);
  std::vector<int> counts(3, 0);
  for (int i = 0; i < 30000; ++i) ++counts[rng.PickWeighted({1.0, 0.0, 2.0})];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 10000, 500);
}

TEST(RngTest, ShufflePermutesInPlace) {
  Rng rng(4);
  std::vector<int> items(20);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  rng.Shuffle(&shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace gradfuzz
