// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/report/golden.h"
#include "unit/report/sample.h"
#include "unit/report/well_formed.h"

namespace gradfuzz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Junit, Run) { ExpectGolden("junit.xml", RenderJunit(sample::Run())); }

TEST(Junit, CountsAreThoseOfTheCases) {
  const std::string xml = RenderJunit(sample::Run());
  ExpectWellFormed(xml, {});
  EXPECT_EQ(CountOf(xml, "<testcase "), 5U);  // campaign, 2 new, 1 known, 1 gone
  EXPECT_EQ(CountOf(xml, "<failure "), 2U);
  EXPECT_EQ(CountOf(xml, "<skipped "), 1U);
  EXPECT_EQ(CountOf(xml, "tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\""), 2U);
}

TEST(Junit, AnEmptyRunIsAnError) {
  const std::string xml = RenderJunit(RunSummary{});
  ExpectWellFormed(xml, {});
  EXPECT_EQ(CountOf(xml, "<error "), 1U);
  EXPECT_THAT(xml, HasSubstr("tests=\"1\" failures=\"0\" errors=\"1\""));
}

TEST(Junit, HostileTextIsOnlyText) {
  RunSummary run = sample::Run();
  run.findings.push_back(sample::Hostile());
  run.findings[0].known_issue = sample::kHostile;
  run.command = run.end = run.shard = sample::kHostile;
  run.devices = {sample::kHostile};
  run.environment = {{sample::kHostile, sample::kHostile}};
  run.known_bugs[1].name = run.known_bugs[1].link = sample::kHostile;
  const std::string xml = RenderJunit(run);
  ExpectWellFormed(xml, {});
  EXPECT_THAT(xml, Not(HasSubstr("<img")));
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
  for (char c : xml) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int{c};
  EXPECT_THAT(xml, HasSubstr("\\x1b[2J"));
}

}  // namespace
}  // namespace gradfuzz::report
