// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/known_bugs.h"

#include <gtest/gtest.h>

#include "unit/reduce/mini_eager.h"

namespace gradfuzz::isolate {
namespace {

using nlohmann::json;
using program::Arg;
using program::Program;

Program Two(const std::string& first, const std::string& second) {
  Program p;
  testing::AddLeaf(&p, {3, 3});
  const auto v = testing::AddCall(&p, first, {Arg::Value(0)});
  testing::AddOutput(&p, testing::AddCall(&p, second, {Arg::Value(v)}));
  return p;
}

KnownBugs Corpus() {
  auto known = KnownBugs::Load(std::string(GRADFUZZ_SOURCE_DIR) + "/corpus/known_bugs.json");
  EXPECT_TRUE(known) << known.error().message;
  return known ? *known : KnownBugs();
}

const Target kGradient{BugClass::kGradient, "inductor", "cpu", ""};

std::string IssueOf(const KnownBug* bug) {
  return bug == nullptr ? "" : bug->issue.substr(bug->issue.rfind('/') + 1);
}

TEST(KnownBugsTest, TheCorpusRecognisesTheClassics) {
  const KnownBugs known = Corpus();
  EXPECT_EQ(IssueOf(known.Match(kGradient, Two("diagonal_scatter", "sum"), "", "2.11.0+cu130")),
            "182012");
  EXPECT_EQ(IssueOf(known.Match(kGradient, Two("erf", "amax"), "vectorisation", "2.15.0")),
            "186799");
  EXPECT_EQ(IssueOf(known.Match({BugClass::kCompileError, "inductor", "cpu",
                                 "AssertionError: n=copy_, n.args[..]=empty, placeholders={..}"},
                                Two("index_fill", "sum"), std::nullopt, "2.11.0")),
            "178952");
}

TEST(KnownBugsTest, ABugOfOurOwnCorpusNeedsNoIssue) {
  const KnownBugs known = Corpus();
  const auto title = [&](BugClass bug, const char* rung, const char* error, const char* op) {
    const KnownBug* match =
        known.Match({bug, rung, "cpu", error}, Two(op, "sum"), std::nullopt, "2.15.0");
    return match == nullptr || !match->issue.empty() ? "" : match->title;
  };
  const char* const no_convert =
      "CppCompileError: no matching function for call to 'convert<float>(<vector>&)'";
  EXPECT_NE(title(BugClass::kCompileError, "inductor", no_convert, "frexp"), "");
  EXPECT_EQ(title(BugClass::kCompileError, "inductor", no_convert, "sin"), "");
  const char* const strides =
      "AssertionError: expected size #==#, stride #==# at dim=# Error in op: ";
  const auto strides_of = [&](const char* op) {
    return title(BugClass::kRuntimeError, "inductor", (std::string(strides) + op).c_str(), "sin");
  };
  EXPECT_NE(strides_of("torch.ops.aten.linalg_solve_triangular.default"), "");
  EXPECT_EQ(strides_of("torch.ops.aten.slice_scatter.default"), "");
  EXPECT_NE(
      title(BugClass::kCompileError, "inductor",
            "InductorError: LoweringException: AssertionError: expected: len(padding) == #", "sin"),
      "");
}

TEST(KnownBugsTest, ZerosForNoneAreKnownTheReverseIsNot) {
  const KnownBugs known = Corpus();
  Target target{BugClass::kMissing, "aot_eager", "cpu", "zeros, where eager has None"};
  const Program p = Two("add_", "sum");
  EXPECT_EQ(IssueOf(known.Match(target, p, "", "2.15.0")), "1102");
  target.error = "None, where eager has a gradient";
  EXPECT_EQ(known.Match(target, p, "", "2.15.0"), nullptr);
  target.error = "a gradient, where eager has None";
  EXPECT_EQ(known.Match(target, p, "", "2.15.0"), nullptr);
}

TEST(KnownBugsTest, EachConditionCounts) {
  const KnownBugs known = Corpus();
  const Program scatter = Two("diagonal_scatter", "sum");
  EXPECT_EQ(known.Match(kGradient, scatter, "", "2.15.0"), nullptr);     // fixed there: a new bug
  EXPECT_EQ(known.Match(kGradient, scatter, "cse", "2.11.0"), nullptr);  // another cause
  EXPECT_NE(known.Match(kGradient, scatter, std::nullopt, "2.11.0"), nullptr);
  Target forward = kGradient;
  forward.bug = BugClass::kForward;
  EXPECT_EQ(known.Match(forward, scatter, "", "2.11.0"), nullptr);
  Target lower = kGradient;
  lower.rung = "aot_eager";
  EXPECT_EQ(known.Match(lower, scatter, "", "2.11.0"), nullptr);
  EXPECT_EQ(known.Match(kGradient, Two("sin", "sum"), "", "2.11.0"), nullptr);
  Target cuda = kGradient;
  cuda.device = "cuda";
  EXPECT_EQ(known.Match(cuda, Two("erf", "amax"), "vectorisation", "2.15.0"), nullptr);
}

TEST(KnownBugsTest, AVersionIsAPrefixAtADot) {
  const auto known =
      KnownBugs::FromJson(json::parse(R"({"bugs": [{"title": "t", "torch": ["2.1"]}]})"));
  ASSERT_TRUE(known);
  const Program p = Two("sin", "sum");
  EXPECT_NE(known->Match(kGradient, p, "", "2.1.2"), nullptr);
  EXPECT_NE(known->Match(kGradient, p, "", "2.1+cpu"), nullptr);
  EXPECT_EQ(known->Match(kGradient, p, "", "2.11.0"), nullptr);
}

TEST(KnownBugsTest, FaultsNameTheEntryAndTheField) {
  const auto message = [](const char* text) {
    const auto known = KnownBugs::FromJson(json::parse(text));
    return known ? std::string("accepted") : known.error().message;
  };
  EXPECT_NE(message(R"({"bugs": [{"title": "a"}, {"issue": "b"}]})").find("entry 1"),
            std::string::npos);
  EXPECT_NE(message(R"({"bugs": [{"title": "a", "clas": ["gradient"]}]})").find("clas"),
            std::string::npos);
  EXPECT_NE(message(R"({"bugs": [{"title": "a", "class": ["gradiant"]}]})").find("gradiant"),
            std::string::npos);
  EXPECT_NE(message(R"({"bugs": [{"title": "a", "error": "("}]})").find("entry 0"),
            std::string::npos);
  EXPECT_NE(message("{}").find("bugs"), std::string::npos);
  EXPECT_FALSE(KnownBugs::Load("/nonexistent/known_bugs.json"));
}

}  // namespace
}  // namespace gradfuzz::isolate
