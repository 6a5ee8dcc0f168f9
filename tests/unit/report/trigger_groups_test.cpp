// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/trigger_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradfuzz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TriggerGroups, OneLinePerAxis) {
  const auto groups = GroupTriggers({
      {"op", "sum -> mean", Verdict::kGradientMismatch, true, true, ""},
      {"argument", "sum dim=0 -> 1", Verdict::kAgree, false, true, ""},
      {"op", "sum -> prod", Verdict::kAgree, false, true, ""},
      {"op", "sum -> amax", Verdict::kCompileError, false, true, ""},
      {"device", "cpu -> cuda", Verdict::kAgree, false, false, "no such device here"},
  });
  ASSERT_EQ(groups.size(), 2U);  // what was not tried says nothing
  EXPECT_EQ(groups[0].axis, "op");
  EXPECT_THAT(groups[0].wrong, ElementsAre("mean"));
  EXPECT_THAT(groups[0].right, ElementsAre("prod"));
  EXPECT_THAT(groups[0].other, ElementsAre("amax (does not compile)"));
  EXPECT_EQ(groups[1].axis, "argument");
  EXPECT_THAT(groups[1].wrong, IsEmpty());
  EXPECT_THAT(groups[1].right, ElementsAre("sum dim=0 -> 1"));
}

}  // namespace
}  // namespace gradfuzz::report
