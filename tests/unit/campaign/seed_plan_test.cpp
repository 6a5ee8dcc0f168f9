// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/seed_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace gradfuzz::campaign {
namespace {

using Seeds = std::vector<uint64_t>;

std::multiset<std::pair<std::string, uint64_t>> All(SeedPlan plan, size_t limit) {
  std::multiset<std::pair<std::string, uint64_t>> all;
  for (;;) {
    const auto [device, seeds] = plan.Next(limit);
    if (seeds.empty()) return all;
    EXPECT_LE(seeds.size(), limit);
    for (uint64_t seed : seeds) all.emplace(device, seed);
  }
}

TEST(SeedPlan, CountsUp) {
  SeedPlan plan(100, 5, {}, {"cpu"});
  EXPECT_EQ(plan.Total(), 5u);
  EXPECT_EQ(plan.Next(2).second, (Seeds{100, 101}));
  EXPECT_EQ(plan.Next(2).second, (Seeds{102, 103}));
  EXPECT_EQ(plan.Next(2).second, (Seeds{104}));
  EXPECT_TRUE(plan.Next(2).second.empty());
  EXPECT_TRUE(plan.Next(2).second.empty());
}

TEST(SeedPlan, EveryDeviceGetsEverySeed) {
  SeedPlan plan(0, 3, {}, {"cpu", "cuda"});
  EXPECT_EQ(plan.Total(), 6u);
  EXPECT_EQ(plan.Next(2), (std::pair<std::string, Seeds>{"cpu", {0, 1}}));
  EXPECT_EQ(plan.Next(2), (std::pair<std::string, Seeds>{"cuda", {0, 1}}));
  EXPECT_EQ(plan.Next(2), (std::pair<std::string, Seeds>{"cpu", {2}}));
  EXPECT_EQ(plan.Next(2), (std::pair<std::string, Seeds>{"cuda", {2}}));
  EXPECT_TRUE(plan.Next(2).second.empty());
}

TEST(SeedPlan, ResumesIntoGapsWithoutRepeating) {
  const Seeds cpu = {0, 2, 3, 7}, cuda = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto all = All(SeedPlan(0, 9, {}, {"cpu", "cuda"}, {{"cpu", cpu}, {"cuda", cuda}}), 2);
  std::multiset<std::pair<std::string, uint64_t>> expected;
  for (uint64_t seed : {1, 4, 5, 6, 8}) expected.emplace("cpu", seed);
  expected.emplace("cuda", 8);
  EXPECT_EQ(all, expected);
}

TEST(SeedPlan, ShardsPartitionTheSeeds) {
  for (uint64_t count : {0, 1, 2, 3, 10, 11}) {
    std::multiset<std::pair<std::string, uint64_t>> united;
    uint64_t total = 0;
    for (int i = 0; i < 3; ++i) {
      const SeedPlan plan(50, count, {i, 3}, {"cpu"});
      total += *plan.Total();
      united.merge(All(plan, 4));
    }
    EXPECT_EQ(total, count);
    EXPECT_EQ(united, All(SeedPlan(50, count, {}, {"cpu"}), 4));
  }
}

TEST(SeedPlan, WithoutAnEnd) {
  SeedPlan plan(7, std::nullopt, {1, 2}, {"cpu"});
  EXPECT_FALSE(plan.Total().has_value());
  EXPECT_EQ(plan.Next(3).second, (Seeds{8, 10, 12}));
}

}  // namespace
}  // namespace gradfuzz::campaign
