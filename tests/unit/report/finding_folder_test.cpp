// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/finding_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gradfuzz/program/json.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"
#include "unit/report/sample.h"

namespace gradfuzz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FindingFolder : public ::testing::Test {
 protected:
  void SetUp() override { out_ = *MakeTempFolder(TempFolder(), "gradfuzz-folder-"); }
  void TearDown() override { RemoveTree(out_); }

  static std::vector<std::string> List(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Target() const { return out_ + "/findings/3f1c9a5d2b7e8041"; }

  std::string out_;
};

TEST_F(FindingFolder, HoldsTheWholeFinding) {
  const Finding f = sample::DiagonalScatter();
  ASSERT_TRUE(WriteFindingFolder(Target(), f).ok());
  EXPECT_THAT(List(out_ + "/findings"), ElementsAre("3f1c9a5d2b7e8041"));
  EXPECT_THAT(List(Target()), ElementsAre("environment.json", "finding.json", "program.json",
                                          "report.md", "repro.py"));
  EXPECT_EQ(*ReadFile(Target() + "/repro.py"), EmitRepro(f));
  const auto finding = FindingFromJson(*ReadJsonFile(Target() + "/finding.json"));
  ASSERT_TRUE(finding.ok());
  EXPECT_EQ(ToJson(*finding), ToJson(f));
  const auto reduced = program::FromJson(*ReadJsonFile(Target() + "/program.json"));
  ASSERT_TRUE(reduced.ok());
  EXPECT_EQ(*reduced, f.reduced);
}

TEST_F(FindingFolder, ASecondCallReplacesAll) {
  ASSERT_TRUE(WriteFindingFolder(Target() + "/", sample::DiagonalScatter()).ok());
  ASSERT_TRUE(WriteFileAtomic(Target() + "/stale.txt", "x").ok());
  ASSERT_TRUE(WriteFindingFolder(Target(), sample::Atan2Amin()).ok());
  EXPECT_FALSE(Exists(Target() + "/stale.txt"));
  EXPECT_THAT(*ReadFile(Target() + "/repro.py"), HasSubstr("atan2"));
  EXPECT_THAT(List(out_ + "/findings"), ElementsAre("3f1c9a5d2b7e8041"));
}

TEST_F(FindingFolder, FailureLeavesNothingHalfWritten) {
  ASSERT_TRUE(WriteFileAtomic(out_ + "/findings", "a file, not a folder").ok());
  const Status status = WriteFindingFolder(Target(), sample::DiagonalScatter());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(status.error().message, HasSubstr("findings"));
  EXPECT_THAT(List(out_), ElementsAre("findings"));
}

TEST_F(FindingFolder, HostileFindingsAreWritten) {
  Finding f = sample::Hostile();
  ASSERT_TRUE(WriteFindingFolder(Target(), f).ok());
  EXPECT_TRUE(ReadJsonFile(Target() + "/finding.json").ok());
  EXPECT_TRUE(ReadJsonFile(Target() + "/environment.json").ok());
}

TEST_F(FindingFolder, RunReports) {
  ASSERT_TRUE(WriteRunReports(sample::Run(), out_ + "/nightly").ok());
  EXPECT_THAT(List(out_ + "/nightly"), ElementsAre("junit.xml", "report.html", "summary.md"));
}

TEST(Summary, JsonRoundTrip) {
  const RunSummary run = sample::Run();
  const auto back = RunSummaryFromJson(ToJson(run));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(ToJson(*back), ToJson(run));
  EXPECT_EQ(back->totals.verdicts, run.totals.verdicts);
  EXPECT_FALSE(RunSummaryFromJson({{"totals", 3}}).ok());
}

TEST(Summary, OrderIsNewFirstThenHits) {
  const RunSummary run = sample::Run();
  const auto order = InReportOrder(run);
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[0]->hits, 23);
  EXPECT_EQ(order[1]->hits, 2);
  EXPECT_FALSE(order[2]->known_issue.empty());
}

}  // namespace
}  // namespace gradfuzz::report
