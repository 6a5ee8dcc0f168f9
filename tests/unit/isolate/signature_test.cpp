// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/signature.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gradfuzz/isolate/runner_tester.h"
#include "unit/reduce/mini_eager.h"

namespace gradfuzz::isolate {
namespace {

using program::Arg;
using program::Program;

Comparison Wrong(const std::string& what, Verdict verdict) {
  Comparison c;
  c.what = what;
  c.verdict = verdict;
  c.numel = 4;
  c.wrong = 2;
  return c;
}

Outcome OutcomeWith(std::vector<Comparison> comparisons, Verdict rung_verdict = Verdict::kAgree,
                    const std::string& error = "") {
  Outcome outcome;
  outcome.rungs.push_back({"eager", "cpu"});
  RungOutcome rung{"inductor", "cpu"};
  rung.comparisons = std::move(comparisons);
  rung.verdict = rung_verdict;
  for (const Comparison& c : rung.comparisons) rung.verdict = Graver(rung.verdict, c.verdict);
  rung.error = error;
  outcome.verdict = rung.verdict;
  if (IsFinding(rung.verdict)) outcome.first_wrong_rung = "inductor";
  outcome.rungs.push_back(std::move(rung));
  return outcome;
}

// v = a call of each operator on the one before, from a leaf on; binary ones take a fresh leaf.
Program Chain(const std::vector<std::string>& ops) {
  Program p;
  testing::AddLeaf(&p, {3, 3});
  program::ValueId last = 0;
  for (const std::string& op : ops) last = testing::AddCall(&p, op, {Arg::Value(last)});
  testing::AddOutput(&p, last);
  return p;
}

TEST(Target, NamesTheClassTheRungAndTheDevice) {
  EXPECT_EQ(TargetOf(OutcomeWith({Wrong("grad x0", Verdict::kGradientMismatch)})),
            (Target{BugClass::kGradient, "inductor", "cpu", ""}));
  EXPECT_EQ(TargetOf(OutcomeWith({})).bug, BugClass::kNone);
}

TEST(Target, OneCauseIsOneClass) {
  // A dropped gradient is NaN where the backward divides by a count of zero.
  EXPECT_EQ(TargetOf(OutcomeWith({Wrong("grad x1", Verdict::kNanMismatch)})).bug,
            BugClass::kGradient);
  // Wrong outputs explain wrong gradients.
  EXPECT_EQ(TargetOf(OutcomeWith({Wrong("grad x0", Verdict::kGradientMismatch),
                                  Wrong("out0", Verdict::kForwardMismatch)}))
                .bug,
            BugClass::kForward);
  EXPECT_EQ(TargetOf(OutcomeWith({Wrong("input x0", Verdict::kInputMutationMismatch)})).bug,
            BugClass::kForward);
  EXPECT_EQ(TargetOf(OutcomeWith({Wrong("grad x0", Verdict::kMissingGradient)})).bug,
            BugClass::kMissing);
}

TEST(Target, AMissingGradientSaysWhatIsThereInstead) {
  Comparison zeros = Wrong("grad x0", Verdict::kMissingGradient);
  zeros.note = "zeros, where eager has None";
  Comparison none = Wrong("grad x1", Verdict::kMissingGradient);
  none.note = "None, where eager has a gradient";
  EXPECT_EQ(TargetOf(OutcomeWith({zeros})).error, zeros.note);
  EXPECT_EQ(TargetOf(OutcomeWith({zeros, none})).error, none.note);
}

TEST(Target, AnotherKindOfWrongIsAnotherBug) {
  // An alias that is not written through (an output) and a write that is lost (the input as well)
  // are of one class, and still two bugs.
  CaseResult seen, other, less;
  seen.outcome = OutcomeWith(
      {Wrong("out0", Verdict::kForwardMismatch), Wrong("grad x0", Verdict::kGradientMismatch)});
  other.outcome = OutcomeWith({Wrong("out0", Verdict::kForwardMismatch),
                               Wrong("input x0", Verdict::kInputMutationMismatch)});
  less.outcome = OutcomeWith({Wrong("out1", Verdict::kNanMismatch)});
  const Target target = TargetOf(seen.outcome);
  const auto kinds = WrongKinds(seen.outcome);
  EXPECT_EQ(kinds, (std::set<std::string>{"forward", "gradient"}));
  EXPECT_EQ(TargetOf(other.outcome), target);
  EXPECT_EQ(AnswerFor(target, kinds, seen), reduce::Answer::kYes);
  EXPECT_EQ(AnswerFor(target, kinds, less), reduce::Answer::kYes);
  EXPECT_EQ(AnswerFor(target, kinds, other), reduce::Answer::kSlipped);
  EXPECT_EQ(AnswerFor(target, {}, other), reduce::Answer::kYes);
}

TEST(Target, WrongQuantitiesByIndex) {
  const Outcome outcome =
      OutcomeWith({Wrong("out1", Verdict::kForwardMismatch), Wrong("out0", Verdict::kAgree),
                   Wrong("grad x12", Verdict::kGradientMismatch)});
  EXPECT_EQ(WrongOutputs(outcome), (std::vector<size_t>{1}));
  EXPECT_EQ(WrongLeaves(outcome), (std::vector<size_t>{12}));
}

TEST(SkeletonTest, ClassesInOrderOfDataFlow) {
  EXPECT_EQ(ToText(SkeletonOf(Chain({"select_scatter", "sum"}))), "aggregation(write)");
  EXPECT_EQ(ToText(SkeletonOf(Chain({"index_fill", "sum"}))), "aggregation(write)");
  EXPECT_EQ(ToText(SkeletonOf(Chain({"asinh", "amax"}))), "extremum(transcendental)");
  EXPECT_EQ(ToText(SkeletonOf(Chain({"atan2", "amin"}))), "extremum(transcendental)");
}

TEST(SkeletonTest, NeighboursThatMisleadNoOtherwiseAreMerged) {
  EXPECT_EQ(ToText(SkeletonOf(Chain({"sigmoid", "nn.functional.gelu", "atan", "amax"}))),
            "extremum(transcendental)");
  EXPECT_EQ(ToText(SkeletonOf(Chain({"neg", "relu", "amax"}))), "extremum(pointwise)");
  EXPECT_EQ(ToText(SkeletonOf(Chain({"transpose", "permute", "sum"}))), "aggregation(view)");
  // A write between two keeps them apart.
  EXPECT_EQ(ToText(SkeletonOf(Chain({"sin", "select_scatter", "sin"}))),
            "transcendental(write(transcendental))");
}

TEST(SkeletonTest, WhatNobodyUsesIsARootOfItsOwn) {
  Program p = Chain({"slice_scatter"});
  testing::AddCall(&p, "Tensor.zero_", {Arg::Value(0)});
  const std::string text = ToText(SkeletonOf(p));
  EXPECT_NE(text.find("write"), std::string::npos);
  EXPECT_NE(text.find("_"), std::string::npos) << text;
  EXPECT_NE(text.find("; "), std::string::npos) << text;
}

TEST(SkeletonTest, TextRoundTrips) {
  for (const char* text :
       {"aggregation(write)", "a(b(c), d); e", "extremum(transcendental(write), view)", "x"}) {
    EXPECT_EQ(ToText(SkeletonFromText(text)), text);
  }
}

TEST(SkeletonTest, ContainsFindsItAmongOthers) {
  const Program large = testing::ScatterSumAmongOthers();
  EXPECT_TRUE(Contains(large, SkeletonFromText("aggregation(write)")));
  EXPECT_TRUE(Contains(large, SkeletonOf(Chain({"diagonal_scatter", "sum"}))));
  EXPECT_FALSE(Contains(large, SkeletonFromText("extremum(transcendental)")));
  EXPECT_FALSE(Contains(large, SkeletonFromText("write(aggregation)")));
  EXPECT_FALSE(Contains(large, Skeleton()));
  // A pointwise operation between the two is another program.
  EXPECT_FALSE(
      Contains(Chain({"select_scatter", "sin", "sum"}), SkeletonFromText("aggregation(write)")));
}

TEST(SkeletonTest, ManyUsesOfOneValueStaySmall) {
  Program p;
  testing::AddLeaf(&p, {2});
  program::ValueId last = 0;
  for (int i = 0; i < 60; ++i) {
    const auto a = testing::AddCall(&p, i % 2 == 0 ? "cumsum" : "flip", {Arg::Value(last)});
    last = testing::AddCall(&p, "matmul", {Arg::Value(last), Arg::Value(a)});
  }
  testing::AddOutput(&p, last);
  EXPECT_LT(ToText(SkeletonOf(p)).size(), 4000u);
}

TEST(SignatureTest, IgnoresWhatVariesAmongHitsOfOneBug) {
  const Target target{BugClass::kGradient, "inductor", "cpu", ""};
  Program a = Chain({"slice_scatter", "sum"});
  Program b = Chain({"index_copy", "mean"});
  b.storages[0].dtype = program::DType::kFloat64;
  EXPECT_EQ(Signature(target, a, ""), Signature(target, b, ""));
  EXPECT_EQ(Signature(target, a, ""), "gradient | inductor | cpu | aggregation(write)");
  EXPECT_NE(Signature(target, a, "vectorisation"), Signature(target, a, ""));
  Program set = a;
  set.call.config = {{"inductor.cpp.simdlen", 1}};
  EXPECT_NE(Signature(target, set, ""), Signature(target, a, ""));
  Program part = a;
  part.regions = {{program::Region::Kind::kJvp, 0, 0}};
  EXPECT_NE(Signature(target, part, ""), Signature(target, a, ""));
  Target cuda = target;
  cuda.device = "cuda";
  EXPECT_NE(Signature(cuda, a, ""), Signature(target, a, ""));
}

TEST(SignatureTest, AnErrorIsItsText) {
  const Target target{BugClass::kCompileError, "inductor", "cpu", "AssertionError: n=copy_"};
  EXPECT_EQ(Signature(target, Chain({"sin"}), "fusion"),
            Signature(target, Chain({"index_fill", "sum"}), ""));
  EXPECT_EQ(PreSignature(target), Signature(target, Chain({"sin"}), ""));
  EXPECT_EQ(PreSignature({BugClass::kGradient, "inductor", "cpu", ""}), "");
}

TEST(SignatureTest, IdIsStable) {
  // Golden: ids name folders and appear in reports, so they must not change by accident.
  EXPECT_EQ(FindingId("gradient | inductor | cpu | aggregation(write)").size(), 8u);
  EXPECT_EQ(FindingId("a"), FindingId("a"));
  EXPECT_NE(FindingId("a"), FindingId("b"));
}

}  // namespace
}  // namespace gradfuzz::isolate
