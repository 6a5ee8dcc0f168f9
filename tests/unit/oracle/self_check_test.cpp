// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/self_check.h"

#include "build.h"
#include "gradfuzz/evaluate/materialise.h"

namespace gradfuzz::oracle {
namespace {

using evaluate::Observation;

Program SinMatmul() {
  Build b;
  const Arg x = b.Leaf({4, 6}, Normal(1)), y = b.Leaf({6, 5}, Normal(2));
  return b.Out(b.Op("matmul", {b.Op("sin", {x}), y}), Normal(3)).Done();
}

SelfCheckReport Check(const Program& p, const RungRun& run) {
  return SelfCheck(p, PrecisionOf(p), run, 1);
}

std::string Failures(const SelfCheckReport& report) {
  std::string text;
  for (const Comparison& c : report.failures) text += c.what + ";";
  return text;
}

// A rung whose gradients go through `edit` on each run, which also gets the cotangents (nullptr:
// the recipes').
RungRun Rung(const Program& p,
             const std::function<void(Observation&, const std::vector<at::Tensor>*)>& edit) {
  RungRun run = EagerRung(p);
  edit(run.draws[0], nullptr);
  edit(run.repeats[0], nullptr);
  run.rerun = [honest = run.rerun, edit](Law law, const std::vector<at::Tensor>& cotangents) {
    Observation o = honest(law, cotangents);
    edit(o, &cotangents);
    return o;
  };
  return run;
}

TEST(SelfCheckTest, EagerObeysItsLaws) {
  const Program p = SinMatmul();
  const SelfCheckReport report = Check(p, EagerRung(p));
  EXPECT_EQ(Failures(report), "");
  EXPECT_EQ(report.checks, 3);
}

TEST(SelfCheckTest, StaleGradient) {
  const Program p = SinMatmul();
  const at::Tensor stale = *EagerRung(p).draws[0].gradients[0];
  const auto report =
      Check(p, Rung(p, [&](Observation& o, const auto*) { o.gradients[0] = stale.clone(); }));
  EXPECT_EQ(Failures(report),
            "self-check zero grad x0;self-check scaling grad x0;self-check linearity grad x0;");
}

TEST(SelfCheckTest, ZeroCotangent) {
  const Program p = SinMatmul();
  const auto report = Check(p, Rung(p, [](Observation& o, const auto* c) {
                              if (c != nullptr && (*c)[0].eq(0).all().template item<bool>()) {
                                (*o.gradients[1])[2][3] = 1e-30;
                              }
                            }));
  EXPECT_EQ(Failures(report), "self-check zero grad x1;");
  EXPECT_EQ(report.failures[0].verdict, Verdict::kSelfCheckFailed);
  EXPECT_EQ(report.failures[0].pattern, "one element");
}

TEST(SelfCheckTest, ZeroTimesInfinityIsNaNForEveryone) {
  Build b;
  const Program p = b.Out(b.Op("sqrt", {b.Leaf({3}, Values({0, 1, 4}))})).Done();
  EXPECT_EQ(Failures(Check(p, EagerRung(p))), "");
  // But not where the derivative is finite.
  const auto report = Check(p, Rung(p, [](Observation& o, const auto* c) {
                              if (c != nullptr && (*c)[0].eq(0).all().template item<bool>()) {
                                (*o.gradients[0])[1] = std::nan("");
                              }
                            }));
  EXPECT_EQ(Failures(report), "self-check zero grad x0;");
}

// The gradient where cotangents are large, changed; honest elsewhere.
RungRun WrongForLargeCotangents(const Program& p, at::Tensor (*change)(const at::Tensor&)) {
  return Rung(p, [change](Observation& o, const auto* c) {
    if (c != nullptr && (*c)[0].abs().max().template item<double>() > 3) {
      o.gradients[0] = change(*o.gradients[0]);
    }
  });
}

TEST(SelfCheckTest, ScalingSeesAFactorThatDependsOnTheCotangent) {
  const Program p = SinMatmul();
  const RungRun run = WrongForLargeCotangents(p, [](const at::Tensor& g) { return g * 1.001; });
  EXPECT_EQ(Failures(Check(p, run)), "self-check scaling grad x0;");
}

// A backward may work with the logarithm of the cotangent, or in numbers too small to double.
TEST(SelfCheckTest, ScalingAllowsRounding) {
  const Program p = SinMatmul();
  const RungRun run = WrongForLargeCotangents(p, [](const at::Tensor& g) { return Ulps(g, 1); });
  EXPECT_EQ(Failures(Check(p, run)), "");
  Build b;
  const Arg x = b.Leaf({257}, Normal(1));
  const Program scan = b.Out(b.Op("logcumsumexp", {x}, {{"dim", Arg(0)}}), Normal(2)).Done();
  EXPECT_EQ(Failures(Check(scan, EagerRung(scan))), "");
}

TEST(SelfCheckTest, ScalingIsNotAskedOfWhatIsNotDeterministic) {
  const Program p = SinMatmul();
  int calls = 0;
  RungRun run = EagerRung(p);
  run.repeats[0].gradients[0] = Ulps(*run.repeats[0].gradients[0], 1);
  run.rerun = [&calls, honest = run.rerun](Law law, const auto& cotangents) {
    Observation o = honest(law, cotangents);
    o.gradients[0] = Ulps(*o.gradients[0], ++calls % 2);
    return o;
  };
  EXPECT_EQ(Failures(Check(p, run)), "");
}

// Wrong for an expanded cotangent, right for a contiguous one: what scatters did in torch 2.11.
TEST(SelfCheckTest, SplitSeesWhatDependsOnTheLayout) {
  Build b;
  const Arg x = b.Leaf({3, 4}, Normal(1));
  const Program p = b.OutExpanded(b.Op("mul", {x, x})).Done();
  RungRun run = EagerRung(p);
  run.draws[0].gradients[0]->zero_();
  run.repeats[0].gradients[0]->zero_();
  run.rerun = [honest = run.rerun](Law law, const std::vector<at::Tensor>& c) {
    Observation o = honest(law, c);
    if (!c[0].is_contiguous()) o.gradients[0]->zero_();
    return o;
  };
  EXPECT_EQ(Failures(Check(p, run)), "self-check linearity grad x0;");
  // Eager shares the fault: all rungs agree, and still it is found.
  std::vector<RungRun> rungs = {run, run};
  rungs[1].rung = "inductor";
  const Outcome outcome = Judge(p, "real", rungs, {});
  EXPECT_EQ(outcome.verdict, Verdict::kSelfCheckFailed);
  EXPECT_EQ(outcome.first_wrong_rung, "eager");
}

TEST(SelfCheckTest, SplitAllowsOtherSummationOrder) {
  Build b;
  const Arg x = b.Leaf({512}, Normal(1)), y = b.Leaf({512}, Normal(2));
  const Arg sum = b.Op("sum", {x}, {{"dim", Arg(0)}, {"keepdim", Arg(true)}});
  const Program p = b.Out(b.Op("mul", {sum, y}), Normal(4)).Done();
  EXPECT_EQ(Failures(Check(p, EagerRung(p))), "");
  // A gradient that is off by 1e-3 where both parts are there.
  const auto report = Check(p, Rung(p, [](Observation& o, const auto* c) {
                              if (c == nullptr) o.gradients[0] = *o.gradients[0] * 1.001;
                            }));
  EXPECT_NE(Failures(report).find("self-check linearity grad x0;"), std::string::npos);
}

TEST(SelfCheckTest, NotAskedWithoutBackward) {
  Program p = SinMatmul();
  p.call.backward = program::CallPlan::Backward::kNone;
  EXPECT_EQ(Check(p, EagerRung(p)).checks, 0);
}

Program SliceScatter() {
  Build b;
  const Arg x = b.Leaf({4, 3}, Ints(-4, 4, 1)), s = b.Leaf({2, 3}, Ints(-4, 4, 2));
  return b.Out(b.Op("slice_scatter", {x, s}, {{"dim", Arg(0)}, {"start", Arg(1)}, {"end", Arg(3)}}))
      .Done();
}

std::string Partition(const Program& p, const Edit& edit, bool* applies) {
  RungRun run = EagerRung(p);
  edit(run.draws[0]);
  const std::vector<at::Tensor> cotangents = {
      evaluate::MakeCotangent(p.outputs[0].cotangent, run.draws[0].outputs[0], 0)};
  return PartitionFault(p, run.draws[0], cotangents, applies);
}

TEST(PartitionTest, HoldsForEager) {
  bool applies = false;
  EXPECT_EQ(Partition(
                SliceScatter(), [](Observation&) {}, &applies),
            "");
  EXPECT_TRUE(applies);
}

TEST(PartitionTest, SeesLostAndDoubledShares) {
  bool applies = false;
  EXPECT_NE(Partition(
                SliceScatter(), [](Observation& o) { (*o.gradients[1])[0][0] = 0; }, &applies),
            "");
  EXPECT_NE(Partition(
                SliceScatter(), [](Observation& o) { (*o.gradients[0])[0][0] = 9; }, &applies),
            "");
  // The target's gradient where the source covers it.
  EXPECT_NE(Partition(
                SliceScatter(), [](Observation& o) { (*o.gradients[0])[1][0] = 1; }, &applies),
            "");
}

// Linear in the cotangent, so no other law sees it: what the source covers goes to the target, too.
TEST(PartitionTest, IsAskedOfEveryRung) {
  const Program p = SliceScatter();
  const RungRun run = Rung(p, [](Observation& o, const auto*) {
    o.gradients[0]->slice(0, 1, 3).copy_(*o.gradients[1]);
  });
  EXPECT_EQ(Failures(Check(p, run)), "self-check partition;");
}

TEST(PartitionTest, AppliesOnlyWhereNothingElseContributes) {
  Build b;
  const Arg x = b.Leaf({4, 3}, Ints(-4, 4, 1)), s = b.Leaf({2, 3}, Ints(-4, 4, 2));
  const Arg y = b.Op("slice_scatter", {x, s}, {{"dim", Arg(0)}, {"end", Arg(2)}});
  const Program p = b.Out(y).Out(b.Op("mul", {x, x})).Done();
  bool applies = true;
  Partition(
      p, [](Observation&) {}, &applies);
  EXPECT_FALSE(applies);
}

}  // namespace
}  // namespace gradfuzz::oracle
