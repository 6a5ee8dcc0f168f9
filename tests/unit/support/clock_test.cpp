// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/clock.h"

#include <gtest/gtest.h>

namespace gradfuzz {
namespace {

TEST(Clock, DurationsAreParsed) {
  EXPECT_EQ(ParseDuration("90"), 90);
  EXPECT_EQ(ParseDuration("90s"), 90);
  EXPECT_EQ(ParseDuration("45m"), 2700);
  EXPECT_EQ(ParseDuration("2h"), 7200);
  EXPECT_EQ(ParseDuration("1h30m"), 5400);
  EXPECT_EQ(ParseDuration("1d"), 86400);
  for (const char* bad : {"", "h", "2x", "-1", "0", "1h30", "1.5h", " 2h", "2h ", "99999d"}) {
    EXPECT_FALSE(ParseDuration(bad).has_value()) << bad;
  }
}

TEST(Clock, Deadlines) {
  EXPECT_FALSE(Deadline::Never().Passed());
  EXPECT_EQ(Deadline::Never().PollMillis(77), 77);
  EXPECT_TRUE(Deadline::After(-1).Passed());
  EXPECT_EQ(Deadline::After(-1).PollMillis(77), 0);
  EXPECT_LE(Deadline::Never().OrAfter(0.5).SecondsLeft(), 0.5);
  EXPECT_LE(Deadline::After(0.1).OrAfter(5).SecondsLeft(), 0.1);
}

TEST(Clock, TimestampsAreUtc) {
  const std::string now = UtcTimestamp();
  ASSERT_EQ(now.size(), 20u);
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace
}  // namespace gradfuzz
