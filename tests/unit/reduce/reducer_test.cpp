// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/reducer.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "gradfuzz/program/cost.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "unit/reduce/mini_eager.h"
#include "unit/reduce/random_program.h"

namespace gradfuzz::reduce {
namespace {

using program::Program;

// Answers by a predicate; what MiniEager rejects is a plain no, as a program that eager rejects is.
class FakeTester : public Tester {
 public:
  using Predicate = std::function<Answer(const Program&)>;
  explicit FakeTester(Predicate predicate, bool with_shapes = true)
      : predicate_(std::move(predicate)), with_shapes_(with_shapes) {}

  std::vector<Answer> Test(const std::vector<Program>& candidates) override {
    ++calls;
    EXPECT_LE(candidates.size(), static_cast<size_t>(std::max(batch, 3)));
    std::vector<Answer> answers;
    for (const Program& p : candidates) answers.push_back(One(p));
    return answers;
  }
  std::vector<Answer> Confirm(const Program& p, int times) override {
    std::vector<Answer> answers;
    for (int i = 0; i < times; ++i) {
      answers.push_back(confirm ? confirm(p) : One(p));
    }
    return answers;
  }
  int BatchSize(const Program&) const override { return batch; }
  void BeStrict() override { strict = true; }
  std::optional<std::vector<ValueInfo>> Shapes(const Program& p) override {
    if (!with_shapes_) return std::nullopt;
    return testing::MiniEager(p);
  }
  bool Interrupted() const override { return interrupt_after > 0 && queries >= interrupt_after; }

  int queries = 0, calls = 0, batch = 8, interrupt_after = 0;
  bool strict = false;
  Predicate confirm;
  std::vector<Program> asked;

 private:
  Answer One(const Program& p) {
    ++queries;
    EXPECT_EQ(program::Validate(p), "");
    EXPECT_FALSE(p.statements.empty());
    asked.push_back(p);
    if (with_shapes_ && !testing::MiniEager(p)) return Answer::kNo;
    return predicate_(p);
  }

  Predicate predicate_;
  bool with_shapes_;
};

Answer If(bool shows) { return shows ? Answer::kYes : Answer::kNo; }

bool ScatterFeedsSum(const Program& p) { return testing::Feeds(p, "diagonal_scatter", "sum"); }

TEST(Reducer, AlwaysEndsAtOneStatement) {
  FakeTester tester([](const Program&) { return Answer::kYes; });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kMinimal);
  EXPECT_EQ(r.program.statements.size(), 1u);
  EXPECT_EQ(r.confirmed, 3);
  EXPECT_EQ(r.program.outputs.size(), 1u);
  EXPECT_EQ(program::CostOf(r.program)[program::CostTerm::kGradients], 0);
  EXPECT_LE(program::CostOf(r.program)[program::CostTerm::kElements], 2);
  EXPECT_EQ(r.slipped, 0);
  EXPECT_EQ(r.queries, tester.queries);
}

TEST(Reducer, NeverIsLost) {
  FakeTester tester([](const Program&) { return Answer::kNo; });
  const Program original = testing::ScatterSumAmongOthers();
  const ReduceResult r = Reduce(original, tester, {});
  EXPECT_EQ(r.status, Status::kLost);
  EXPECT_EQ(r.program, original);
  EXPECT_LE(r.queries, 6);
}

TEST(Reducer, FirstTimeOnlyIsFlaky) {
  int n = 0;
  FakeTester tester([&](const Program&) { return If(n++ == 0); });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kFlaky);
  EXPECT_LE(r.queries, 6);
}

TEST(Reducer, PingPongIsFlaky) {
  int n = 0;
  FakeTester tester([&](const Program&) { return If(n++ % 2 == 0); });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kFlaky);
}

TEST(Reducer, FlakyNeverClaimsWhatWasNotConfirmed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    FakeTester tester([&](const Program&) { return If(rng.Chance(0.7)); });
    const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
    EXPECT_TRUE(r.status == Status::kFlaky || r.status == Status::kLost || r.confirmed == 3);
    EXPECT_LE(r.queries, 1200 + 60);
  }
}

TEST(Reducer, TheQuickTestErrsOnSmallPrograms) {
  // The quick test calls everything wrong; the truth needs the scatter to feed the sum.
  FakeTester* self = nullptr;
  FakeTester lying([&](const Program& p) { return If(!self->strict || ScatterFeedsSum(p)); });
  self = &lying;
  lying.confirm = [](const Program& p) { return If(ScatterFeedsSum(p) && testing::MiniEager(p)); };
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), lying, {});
  EXPECT_TRUE(lying.strict);
  EXPECT_EQ(r.status, Status::kMinimal);
  EXPECT_EQ(program::OpChain(r.program), "diagonal_scatter > sum");
  EXPECT_EQ(r.confirmed, 3);
}

TEST(Reducer, UnresolvedIsRefusedAndCounted) {
  FakeTester tester([](const Program& p) {
    if (p.statements.size() == 2 && !ScatterFeedsSum(p)) return Answer::kUnresolved;
    return If(ScatterFeedsSum(p));
  });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kMinimal);
  EXPECT_EQ(program::OpChain(r.program), "diagonal_scatter > sum");
  EXPECT_GT(r.unresolved, 0);
}

TEST(Reducer, SlippingIsRefusedAndCounted) {
  // atan2 alone shows another bug.
  FakeTester tester([](const Program& p) {
    if (ScatterFeedsSum(p)) return Answer::kYes;
    return program::OpChain(p).find("atan2") != std::string::npos ? Answer::kSlipped : Answer::kNo;
  });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(program::OpChain(r.program), "diagonal_scatter > sum");
  EXPECT_GT(r.slipped, 0);
}

TEST(Reducer, ScatterFeedsSumEndsAtTwoStatementsOnTinyShapes) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kMinimal);
  EXPECT_EQ(program::OpChain(r.program), "diagonal_scatter > sum");
  EXPECT_EQ(program::EmitFunction(r.program),
            "def program(x0, x1):\n"
            "    v2 = torch.diagonal_scatter(x0, x1)\n"
            "    v3 = torch.sum(v2)\n"
            "    return (v3,)\n");
  EXPECT_EQ(r.program.leaves[0].sizes, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(r.program.leaves[1].sizes, (std::vector<int64_t>{1}));
  EXPECT_EQ(r.program.storages[0].dtype, program::DType::kFloat64);
  EXPECT_LT(r.queries, 150) << "queries grew: look at the order of the passes";
}

TEST(Reducer, WithoutShapesItStillReduces) {
  FakeTester tester(
      [](const Program& p) { return If(ScatterFeedsSum(p) && testing::MiniEager(p)); }, false);
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kMinimal);
  EXPECT_EQ(program::OpChain(r.program), "diagonal_scatter > sum");
}

TEST(Reducer, NoProgramIsAskedTwiceWhileSearching) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  std::set<std::string> seen;
  // The first three ask for the original, the last three confirm the result.
  for (size_t i = 3; i + 3 < tester.asked.size(); ++i) {
    EXPECT_TRUE(seen.insert(program::ToJson(tester.asked[i]).dump()).second);
  }
}

TEST(Reducer, TheCostFallsAlongThePath) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  tester.batch = 1;  // one at a time: each yes is the next program
  const Program original = testing::ScatterSumAmongOthers();
  program::Cost cost = program::CostOf(original);
  Reduce(original, tester, {});
  for (size_t i = 3; i + 3 < tester.asked.size(); ++i) {
    const program::Cost next = program::CostOf(tester.asked[i]);
    EXPECT_LT(next, cost);
    if (ScatterFeedsSum(tester.asked[i]) && testing::MiniEager(tester.asked[i])) cost = next;
  }
}

TEST(Reducer, TheResultIsAFixedPoint) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  const Program once = Reduce(testing::ScatterSumAmongOthers(), tester, {}).program;
  const ReduceResult twice = Reduce(once, tester, {});
  EXPECT_EQ(twice.program, once);
  EXPECT_TRUE(twice.path.empty());
}

TEST(Reducer, BatchesSaveCalls) {
  int calls[2];
  Program results[2];
  for (int k = 0; k < 2; ++k) {
    FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
    tester.batch = k == 0 ? 1 : 16;
    results[k] = Reduce(testing::ScatterSumAmongOthers(), tester, {}).program;
    calls[k] = tester.calls;
  }
  EXPECT_LT(calls[1] * 5, calls[0]);
  EXPECT_LE(calls[1], 14);
  EXPECT_EQ(program::OpChain(results[0]), program::OpChain(results[1]));
}

TEST(Reducer, TheQueryBudgetEndsIt) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  ReduceOptions options;
  options.max_queries = 12;
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, options);
  EXPECT_EQ(r.status, Status::kQueryBudget);
  EXPECT_EQ(r.confirmed, 3);
  EXPECT_LE(r.queries, 12 + 3);
}

TEST(Reducer, TheTimeBudgetEndsIt) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  ReduceOptions options;
  double now = 0;
  options.seconds = [&] { return now += 10; };
  options.max_seconds = 35;
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, options);
  EXPECT_EQ(r.status, Status::kTimeBudget);
  EXPECT_TRUE(ScatterFeedsSum(r.program));
  // A slow machine still makes the queries that are granted.
  options.min_queries = r.queries + 20;
  const ReduceResult more = Reduce(testing::ScatterSumAmongOthers(), tester, options);
  EXPECT_GE(more.queries, options.min_queries);
  EXPECT_TRUE(program::CostOf(more.program) < program::CostOf(r.program));
}

TEST(Reducer, AnInterruptKeepsTheBestSoFar) {
  FakeTester tester([](const Program& p) { return If(ScatterFeedsSum(p)); });
  tester.interrupt_after = 20;
  const ReduceResult r = Reduce(testing::ScatterSumAmongOthers(), tester, {});
  EXPECT_EQ(r.status, Status::kInterrupted);
  EXPECT_TRUE(ScatterFeedsSum(r.program));
}

TEST(Reducer, RandomProgramsReduceToTheirOneOperator) {
  Rng rng(99);
  int reduced = 0;
  for (int round = 0; round < 30; ++round) {
    const Program p = testing::RandomProgram(rng);
    const std::string op = p.statements[rng.Below(p.statements.size())].op;
    const auto shows = [&](const Program& q) {
      return std::any_of(q.statements.begin(), q.statements.end(),
                         [&](const program::Statement& s) { return s.op == op; });
    };
    FakeTester tester([&](const Program& q) { return If(shows(q)); }, false);
    const ReduceResult r = Reduce(p, tester, {});
    EXPECT_TRUE(shows(r.program));
    EXPECT_EQ(program::Validate(r.program), "");
    EXPECT_LE(program::CostOf(r.program), program::CostOf(p));
    reduced += r.program.statements.size() == 1;
  }
  EXPECT_GE(reduced, 22);  // without shapes an operand cannot always take the place of a result
}

}  // namespace
}  // namespace gradfuzz::reduce
