// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/investigate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gradfuzz/isolate/dedup.h"
#include "gradfuzz/isolate/neighbours.h"
#include "gradfuzz/isolate/runner_tester.h"
#include "gradfuzz/program/emit.h"
#include "unit/isolate/fake_runner.h"

namespace gradfuzz::isolate {
namespace {

using program::Arg;
using program::Program;
using testing::FakeRunner;
using testing::Seen;

Program AtanAmin(const std::string& op = "atan2", const std::string& extremum = "amin") {
  Program p;
  const auto x = testing::AddLeaf(&p, {4, 3});
  const auto y = testing::AddLeaf(&p, {4, 3});
  auto v = testing::AddCall(&p, "mul", {Arg::Value(x), Arg(2.0)});
  v = op == "atan2" || op == "hypot" ? testing::AddCall(&p, op, {Arg::Value(v), Arg::Value(y)})
                                     : testing::AddCall(&p, op, {Arg::Value(v)});
  v = testing::AddCall(&p, extremum, {Arg::Value(v)}, {{"dim", Arg(-1)}});
  v = testing::AddCall(&p, "square", {Arg::Value(v)});
  testing::AddOutput(&p, v);
  return p;
}

const TriggerRow* Row(const Finding& finding, const std::string& change) {
  for (const TriggerRow& row : finding.triggers) {
    if (row.change == change) return &row;
  }
  return nullptr;
}

TEST(NeighboursTest, AnotherOperatorIsAnother) {
  Program p;
  const auto x = testing::AddLeaf(&p, {3, 3});
  const auto src = testing::AddLeaf(&p, {3});
  // An offset that is spelt out: the same call without it is no other operator.
  auto v = testing::AddCall(&p, "diagonal_scatter", {Arg::Value(x), Arg::Value(src), Arg(0)});
  v = testing::AddCall(&p, "sum", {Arg::Value(v)});
  testing::AddOutput(&p, v);
  std::vector<reduce::ValueInfo> values(4);
  const std::vector<std::vector<int64_t>> sizes = {{3, 3}, {3}, {3, 3}, {}};
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].is_tensor = true;
    values[i].dtype = program::DType::kFloat32;
    values[i].sizes = sizes[i];
  }
  std::vector<std::string> changes;
  for (const Neighbour& n : NeighboursOf(p, values, "cpu", {"cpu"}, 64)) {
    if (n.axis == "op") changes.push_back(n.change);
  }
  const auto has = [&](const char* change) {
    return std::find(changes.begin(), changes.end(), change) != changes.end();
  };
  EXPECT_TRUE(has("diagonal_scatter -> select_scatter"));
  EXPECT_FALSE(has("diagonal_scatter -> diagonal_scatter"));
}

TEST(InvestigateTest, DiagonalScatterFeedsSum) {
  FakeRunner runner(testing::ScatterSum);
  const CaseResult seen = Seen(runner, testing::ScatterSumAmongOthers(), 17);
  const Investigation i = Investigate(runner, seen, {}, {});
  const Finding& f = i.finding;
  EXPECT_EQ(f.reduction.status, "minimal");
  EXPECT_EQ(program::OpChain(f.reduced), "diagonal_scatter > sum");
  EXPECT_EQ(f.reduction.statements_before, 7);
  EXPECT_EQ(f.reduction.statements_after, 2);
  EXPECT_EQ(f.reduction.slipped, 0);
  EXPECT_EQ(f.confirmed, 3);
  EXPECT_GE(runner.fresh, 3);
  EXPECT_EQ(f.first_seed, 17u);
  EXPECT_EQ(f.first_wrong_rung, "inductor");
  EXPECT_EQ(f.signature, "gradient | inductor | cpu | aggregation(write)");
  EXPECT_EQ(f.id, FindingId(f.signature));
  // Every rung of the ladder is in the table, in its order, the side branches too.
  std::vector<std::string> rungs;
  for (const RungOutcome& rung : f.outcome.rungs) rungs.push_back(rung.rung);
  EXPECT_EQ(rungs,
            (std::vector<std::string>{"eager", "dynamo", "aot_eager", "aot_eager_decomp_partition",
                                      "inductor_fallback", "inductor"}));
  EXPECT_FALSE(f.run.fast);
  EXPECT_TRUE(f.run.knobs.empty());
}

TEST(InvestigateTest, TheTriggerTableSaysWhatDoesAndDoesNot) {
  FakeRunner runner(testing::ScatterSum);
  InvestigateOptions options;
  options.neighbours = 200;
  const Finding f =
      Investigate(runner, Seen(runner, testing::ScatterSumAmongOthers(), 1), {}, options).finding;
  ASSERT_NE(Row(f, "sum -> mean()"), nullptr);
  EXPECT_FALSE(Row(f, "sum -> mean()")->wrong);
  EXPECT_TRUE(Row(f, "sum -> mean()")->tried);
  ASSERT_NE(Row(f, "sum -> sum(dim=0)"), nullptr);
  EXPECT_TRUE(Row(f, "sum -> sum(dim=0)")->wrong);
  ASSERT_NE(Row(f, "relu between diagonal_scatter and sum"), nullptr);
  EXPECT_FALSE(Row(f, "relu between diagonal_scatter and sum")->wrong);
  ASSERT_NE(Row(f, "every size 17"), nullptr);
  EXPECT_TRUE(Row(f, "every size 17")->wrong);
  EXPECT_NE(Row(f, "every size 17")->detail.find("all zero"), std::string::npos);
  ASSERT_NE(Row(f, "float64 -> float32"), nullptr);
  EXPECT_TRUE(Row(f, "float64 -> float32")->wrong);
  // MiniEager knows no mask: eager rejects it, so nothing is said of it.
  ASSERT_NE(Row(f, "diagonal_scatter -> masked_fill"), nullptr);
  EXPECT_FALSE(Row(f, "diagonal_scatter -> masked_fill")->tried);
  ASSERT_NE(Row(f, "cpu -> cuda"), nullptr);
  EXPECT_FALSE(Row(f, "cpu -> cuda")->tried);
  // No setting removes it, but an operator in between does.
  EXPECT_EQ(f.workaround, "insert .clone() between diagonal_scatter and sum");
}

TEST(InvestigateTest, AblationNamesTheCauseAndTheMildestWorkaround) {
  FakeRunner runner(testing::Extremum);
  const Investigation i = Investigate(runner, Seen(runner, AtanAmin(), 5), {}, {});
  const Finding& f = i.finding;
  EXPECT_EQ(f.reduced.statements.size(), 2u);
  EXPECT_EQ(i.cause, "vectorisation");
  EXPECT_EQ(f.workaround, "torch._inductor.config.cpp.simdlen = 1");
  EXPECT_EQ(f.signature, "gradient | inductor | cpu | extremum(transcendental) | vectorisation");
  int removes = 0, missing = 0;
  for (const KnobResult& k : f.ablation) {
    removes += k.removes;
    missing += !k.exists;
    EXPECT_FALSE(!k.exists && k.removes);
  }
  EXPECT_EQ(removes, 2);
  EXPECT_EQ(missing, 1);
}

TEST(InvestigateTest, NeighboursEndWithTheirTime) {
  FakeRunner runner(testing::ScatterSum);
  InvestigateOptions options;
  options.ablate = false;
  options.neighbour_seconds = -1;
  const Finding f =
      Investigate(runner, Seen(runner, testing::ScatterSumAmongOthers(), 1), {}, options).finding;
  ASSERT_FALSE(f.triggers.empty());
  for (const TriggerRow& row : f.triggers) {
    EXPECT_FALSE(row.tried);
    EXPECT_FALSE(row.wrong);
    EXPECT_FALSE(row.detail.empty());
  }
}

TEST(InvestigateTest, WhatDoesNotShowAgainIsLost) {
  int n = 0;
  FakeRunner runner([&](const Program&, const RunOptions&) { return testing::WrongIf(n++ == 0); });
  const Investigation i = Investigate(runner, Seen(runner, AtanAmin(), 5), {}, {});
  EXPECT_EQ(i.finding.reduction.status, "lost");
  EXPECT_EQ(i.finding.reduced, i.finding.original);
  EXPECT_TRUE(i.finding.ablation.empty());
}

TEST(InvestigateTest, WhatShowsAtTimesIsFlaky) {
  int n = 0;
  FakeRunner runner(
      [&](const Program&, const RunOptions&) { return testing::WrongIf(n++ % 3 != 2); });
  const Investigation i = Investigate(runner, Seen(runner, AtanAmin(), 5), {}, {});
  EXPECT_EQ(i.finding.reduction.status, "flaky");
}

TEST(InvestigateTest, AnErrorIsReducedToItsOwnText) {
  // Another error on the way is a slip.
  FakeRunner runner([](const Program& p, const RunOptions&) -> FakeRunner::Result {
    if (testing::Feeds(p, "mul", "atan2")) {
      return {Verdict::kCompileError, "", "AssertionError: n=copy__7, n.args[0]=empty"};
    }
    for (const program::Statement& s : p.statements) {
      if (s.op == "amin") return {Verdict::kCompileError, "", "TypeError: other"};
    }
    return {};
  });
  const Investigation i = Investigate(runner, Seen(runner, AtanAmin(), 5), {}, {});
  EXPECT_EQ(program::OpChain(i.finding.reduced), "mul > atan2");
  EXPECT_GT(i.finding.reduction.slipped, 0);
  EXPECT_EQ(i.finding.signature,
            "compile error | inductor | cpu | AssertionError: n=copy_, n.args[..]=empty");
}

TEST(InvestigateTest, QuickFlagsThatHideTheBugAreGivenUp) {
  FakeRunner runner([](const Program& p, const RunOptions& run) {
    return testing::WrongIf(!run.fast && testing::Feeds(p, "diagonal_scatter", "sum"));
  });
  const Investigation i =
      Investigate(runner, Seen(runner, testing::ScatterSumAmongOthers(), 3), {}, {});
  EXPECT_EQ(program::OpChain(i.finding.reduced), "diagonal_scatter > sum");
  EXPECT_EQ(i.finding.confirmed, 3);
}

TEST(InvestigateTest, QueriesAreFew) {
  FakeRunner runner(testing::ScatterSum);
  InvestigateOptions options;
  options.ablate = false;
  options.neighbours = 0;
  const Finding f =
      Investigate(runner, Seen(runner, testing::ScatterSumAmongOthers(), 1), {}, options).finding;
  // One call costs about as much as one compilation of a pack: it is calls that count.
  EXPECT_LE(runner.calls, 20);
  EXPECT_LE(f.reduction.queries, 260);
}

TEST(DedupTest, AThousandHitsOfOneBugAreOneFinding) {
  FakeRunner runner(testing::Extremum);
  Deduplicator dedup(nullptr, "2.11.0");
  const char* ops[] = {"atan2", "asinh", "tanh", "sin", "hypot"};
  int investigated = 0;
  for (uint64_t k = 0; k < 1000; ++k) {
    const Program p = AtanAmin(ops[k % 5], k % 2 == 0 ? "amin" : "amax");
    const auto handled = dedup.Handle(runner, Seen(runner, p, 5000 - k), {}, {});
    investigated += handled.what != Deduplicator::Handled::What::kMuted;
    EXPECT_EQ(handled.index, std::optional<size_t>(0));
  }
  ASSERT_EQ(dedup.findings().size(), 1u);
  EXPECT_EQ(dedup.findings()[0].finding.hits, 1000);
  EXPECT_EQ(dedup.findings()[0].finding.first_seed, 4001u);
  EXPECT_EQ(investigated, 1);
}

TEST(DedupTest, AMutedHitCostsNothingButNowAndThenACheck) {
  FakeRunner runner(testing::Extremum);
  Deduplicator dedup(nullptr, "2.11.0");
  dedup.Handle(runner, Seen(runner, AtanAmin(), 1), {}, {});
  const CaseResult seen = Seen(runner, AtanAmin(), 2);
  const int before = runner.programs;
  for (int k = 0; k < 100; ++k) dedup.Handle(runner, seen, {}, {});
  EXPECT_LE(runner.programs - before, 3 + 5);
}

TEST(DedupTest, WhatAKnownBugDoesNotExplainIsInvestigated) {
  // Extremum, and a second bug that no setting removes: sin feeds sum.
  FakeRunner runner([](const Program& p, const RunOptions& run) {
    if (testing::Feeds(p, "sin", "sum")) return testing::WrongIf(true);
    return testing::Extremum(p, run);
  });
  Deduplicator dedup(nullptr, "2.11.0");
  dedup.Handle(runner, Seen(runner, AtanAmin(), 1), {}, {});
  Program both = AtanAmin();
  const auto v = testing::AddCall(&both, "sin", {Arg::Value(0)});
  testing::AddOutput(&both, testing::AddCall(&both, "sum", {Arg::Value(v)}));
  const auto handled = dedup.Handle(runner, Seen(runner, both, 2), {}, {});
  EXPECT_NE(handled.what, Deduplicator::Handled::What::kMuted);
  EXPECT_EQ(dedup.findings().size(), 2u);
}

TEST(DedupTest, WithoutACureOnlyTheSameOperatorsAreTheSameBug) {
  // Wrong whatever the settings: ablation finds no cure that a later hit could be asked with.
  FakeRunner runner([](const Program& p, const RunOptions&) {
    return testing::WrongIf(std::ranges::any_of(
        p.statements, [](const program::Statement& s) { return s.op == "sin" || s.op == "exp"; }));
  });
  const auto feeding = [](const std::string& op) {
    Program p;
    testing::AddLeaf(&p, {3, 3});
    const auto v = testing::AddCall(&p, op, {Arg::Value(0)});
    testing::AddOutput(&p, testing::AddCall(&p, "sum", {Arg::Value(v)}));
    return p;
  };
  Deduplicator dedup(nullptr, "2.11.0");
  dedup.Handle(runner, Seen(runner, feeding("exp"), 1), {}, {});
  using What = Deduplicator::Handled::What;
  EXPECT_EQ(dedup.Handle(runner, Seen(runner, feeding("exp"), 2), {}, {}).what, What::kMuted);
  EXPECT_NE(dedup.Handle(runner, Seen(runner, feeding("sin"), 3), {}, {}).what, What::kMuted);
}

TEST(DedupTest, KnownErrorsAreRecognisedByTheirText) {
  FakeRunner runner([](const Program& p, const RunOptions&) -> FakeRunner::Result {
    // The number of the node differs from program to program.
    return {Verdict::kCompileError, "",
            "AssertionError: n=copy__" + std::to_string(p.statements.size()) +
                ", n.args[0]=empty_3, placeholders={a, b}, graph=graph():"};
  });
  Deduplicator dedup(nullptr, "2.11.0");
  dedup.Handle(runner, Seen(runner, AtanAmin(), 1), {}, {});
  const CaseResult seen = Seen(runner, testing::ScatterSumAmongOthers(), 2);
  const int before = runner.programs;
  const auto handled = dedup.Handle(runner, seen, {}, {});
  EXPECT_EQ(handled.what, Deduplicator::Handled::What::kMuted);
  EXPECT_EQ(runner.programs, before);
}

TEST(DedupTest, TheSmallerProgramIsKept) {
  FakeRunner runner(testing::Extremum);
  Deduplicator dedup(nullptr, "2.11.0");
  Investigation large = Investigate(runner, Seen(runner, AtanAmin("hypot"), 1), {}, {});
  Investigation small = Investigate(runner, Seen(runner, AtanAmin("hypot"), 2), {}, {});
  large.finding.reduced = AtanAmin("hypot");
  dedup.Add(large);
  const auto added = dedup.Add(small);
  EXPECT_FALSE(added.is_new);
  EXPECT_TRUE(added.smaller);
  EXPECT_EQ(dedup.findings()[0].finding.reduced, small.finding.reduced);
  EXPECT_EQ(dedup.findings()[0].finding.hits, 2);
  EXPECT_EQ(dedup.findings()[0].finding.first_seed, 1u);
}

TEST(DedupTest, KnownBugsAreListedAndNeverReduced) {
  const auto known = KnownBugs::Load(std::string(GRADFUZZ_SOURCE_DIR) + "/corpus/known_bugs.json");
  ASSERT_TRUE(known) << known.error().message;
  FakeRunner runner(testing::Extremum);
  Deduplicator dedup(&*known, "2.15.0");
  const auto handled = dedup.Handle(runner, Seen(runner, AtanAmin(), 9), {}, {});
  EXPECT_EQ(handled.what, Deduplicator::Handled::What::kMuted);
  ASSERT_EQ(dedup.findings().size(), 1u);
  const Finding& f = dedup.findings()[0].finding;
  EXPECT_EQ(f.known_issue, "https://github.com/pytorch/pytorch/issues/186799");
  EXPECT_EQ(f.hits, 1);
  EXPECT_LE(runner.programs, 2);  // seen, and checked with the entry's cure
}

}  // namespace
}  // namespace gradfuzz::isolate
