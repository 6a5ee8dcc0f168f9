// SPDX-License-Identifier: BSD-3-Clause
// The oracle as a whole on hand-made rungs: every fault with its verdict, and what must stay
// silent.
#include "gradfuzz/oracle/judge.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <limits>

#include "build.h"
#include "gradfuzz/oracle/monte_carlo.h"
#include "gradfuzz/oracle/tolerance.h"

namespace gradfuzz::oracle {
namespace {

using evaluate::Observation;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Smooth, with sums in both directions: out0 (8, 8), grad x0 (8, 16), grad x1 (16, 8).
Program Smooth(DType dtype = DType::kFloat32) {
  Build b(dtype);
  const Arg x = b.Leaf({8, 16}, Normal(1)), y = b.Leaf({16, 8}, Normal(2));
  return b.Out(b.Op("tanh", {b.Op("matmul", {b.Op("sin", {x}), y})}), Normal(3)).Done();
}

Program Atan2Amin() {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1)), y = b.Leaf({4, 8}, Normal(2));
  return b.Out(b.Op("amin", {b.Op("atan2", {x, y}), Arg::Ints({-1})})).Done();
}

Edit Grad0(std::function<at::Tensor(const at::Tensor&)> edit) {
  return [edit](Observation& o) { o.gradients[0] = edit(*o.gradients[0]); };
}
Edit Out0(std::function<at::Tensor(const at::Tensor&)> edit) {
  return [edit](Observation& o) { o.outputs[0] = edit(o.outputs[0]); };
}
at::Tensor With(const at::Tensor& t, int64_t flat, double value) {
  at::Tensor copy = t.clone();
  copy.view(-1)[flat] = value;
  return copy;
}

// --- Faults that must be called bugs ---

struct Fault {
  const char* name;
  Edit edit;
  Verdict verdict;
  const char* what;
  const char* pattern;
};

class FaultTest : public testing::TestWithParam<Fault> {};

TEST_P(FaultTest, HasItsVerdict) {
  const Fault& fault = GetParam();
  const Outcome outcome = JudgeEdit(Smooth(), fault.edit);
  EXPECT_EQ(outcome.verdict, fault.verdict) << ToJson(outcome).dump();
  EXPECT_EQ(outcome.first_wrong_rung, "inductor");
  const Comparison& c = Find(outcome, fault.what);
  EXPECT_EQ(c.verdict, fault.verdict);
  EXPECT_EQ(c.pattern, fault.pattern);
  for (const Comparison& other : outcome.rungs.back().comparisons) {
    if (other.what != fault.what) {
      EXPECT_EQ(other.verdict, Verdict::kAgree) << other.what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    testing::Values(Fault{"SignFlipped", Grad0([](auto& g) { return g.neg(); }),
                          Verdict::kGradientMismatch, "grad x0", "sign flipped"},
                    Fault{"ScaledByOnePerMille", Grad0([](auto& g) { return g * 1.001; }),
                          Verdict::kGradientMismatch, "grad x0", "constant factor 1.001"},
                    Fault{"OneElementLost", Grad0([](auto& g) { return With(g, 77, 0); }),
                          Verdict::kGradientMismatch, "grad x0", "one element, zero"},
                    Fault{"OneRowZero", Grad0([](auto& g) {
                            at::Tensor c = g.clone();
                            c[3].zero_();
                            return c;
                          }),
                          Verdict::kGradientMismatch, "grad x0", "one row, zero"},
                    Fault{"AllZero", Grad0([](auto& g) { return at::zeros_like(g); }),
                          Verdict::kGradientMismatch, "grad x0", "all zero"},
                    Fault{"AllOne", Grad0([](auto& g) { return at::ones_like(g); }),
                          Verdict::kGradientMismatch, "grad x0", "all one value"},
                    Fault{"TailWrong", Grad0([](auto& g) {
                            at::Tensor c = g.clone();
                            c.view(-1).slice(0, 123).mul_(2);
                            return c;
                          }),
                          Verdict::kGradientMismatch, "grad x0", "one row"},
                    Fault{"OneColumnOff", Grad0([](auto& g) {
                            at::Tensor c = g.clone();
                            c.select(1, 2).add_(0.25);
                            return c;
                          }),
                          Verdict::kGradientMismatch, "grad x0", "one column"},
                    Fault{"RowsRolled", Grad0([](auto& g) { return g.roll(1, 0); }),
                          Verdict::kGradientMismatch, "grad x0", "everything"},
                    Fault{"ComputedInBfloat16",
                          Out0([](auto& out) { return out.to(at::kBFloat16).to(out.dtype()); }),
                          Verdict::kForwardMismatch, "out0", "scattered"},
                    Fault{"ForwardWrongGradientRight",
                          Out0([](auto& out) { return With(out, 5, 0.123); }),
                          Verdict::kForwardMismatch, "out0", "one element"},
                    Fault{"NaNAtOnePlace", Grad0([](auto& g) { return With(g, 9, kNaN); }),
                          Verdict::kNanMismatch, "grad x0", "NaN"},
                    Fault{"InfinityAtOnePlace", Out0([](auto& out) { return With(out, 9, kInf); }),
                          Verdict::kNanMismatch, "out0", "infinity"},
                    Fault{"GradientMissing", [](Observation& o) { o.gradients[1].reset(); },
                          Verdict::kMissingGradient, "grad x1", ""},
                    Fault{"InputWritten", [](Observation& o) { o.storages_after[1][3] = 17; },
                          Verdict::kInputMutationMismatch, "input x1", "one element"},
                    Fault{"StrideChanged", Out0([](auto& out) { return out.t().contiguous().t(); }),
                          Verdict::kMetadataMismatch, "out0", ""},
                    Fault{"DtypeChanged", Grad0([](auto& g) { return g.to(at::kDouble); }),
                          Verdict::kMetadataMismatch, "grad x0", ""},
                    Fault{"RequiresGradLost",
                          [](Observation& o) { o.output_requires_grad[0] = false; },
                          Verdict::kMetadataMismatch, "out0", ""},
                    Fault{"AliasesInput", [](Observation& o) { o.aliases_storage[0] = 1; },
                          Verdict::kMetadataMismatch, "out0", ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(JudgeTest, LostElementOfALargeGradient) {
  Build b;
  const Arg x = b.Leaf({4096}, Normal(1));
  const Program p = b.Out(b.Op("sum", {b.Op("mul", {b.Op("sin", {x}), x})})).Done();
  const at::Tensor gradient = *EagerRung(p).draws[0].gradients[0];
  // The smallest element is the hardest to miss.
  const int64_t smallest = gradient.abs().argmin().item<int64_t>();
  const Outcome outcome = JudgeEdit(p, Grad0([&](auto& g) { return With(g, smallest, 0); }));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(Find(outcome, "grad x0").wrong, 1);
}

// 1/x turns the sign of a zero into the sign of an infinity.
TEST(JudgeTest, SignOfZeroUnderReciprocal) {
  Build b;
  const Program p = b.Out(b.Op("reciprocal", {b.Leaf({2}, Values({0.0, 2}))})).Done();
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return With(out, 0, -kInf); })).verdict,
            Verdict::kNanMismatch);
}

TEST(JudgeTest, DroppedGradientOfAtan2Amin) {
  const Program p = Atan2Amin();
  Outcome outcome = JudgeEdit(p, Grad0([](auto& g) { return at::zeros_like(g); }));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  // One row only.
  outcome = JudgeEdit(p, Grad0([](auto& g) {
                        at::Tensor c = g.clone();
                        c[2].zero_();
                        return c;
                      }));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(Find(outcome, "grad x0").pattern, "one element, zero");
  outcome = JudgeEdit(p, Grad0([](auto& g) {
                        at::Tensor c = g.clone();
                        c[2].fill_(kNaN);
                        return c;
                      }));
  EXPECT_EQ(outcome.verdict, Verdict::kNanMismatch);
  // Wrong numbers beside NaNs count for more.
  outcome = JudgeEdit(p, Grad0([](auto& g) {
                        at::Tensor c = at::zeros_like(g);
                        c[2].fill_(kNaN);
                        return c;
                      }));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
}

// --- What must stay silent ---

TEST(SilentTest, TwoUlpOfNoise) {
  const Program p = Smooth();
  for (const int n : {2, -2}) {
    const Outcome outcome = JudgeEdit(p, [&](Observation& o) {
      o.outputs[0] = Ulps(o.outputs[0], n);
      o.gradients[0] = Ulps(*o.gradients[0], n);
    });
    EXPECT_EQ(outcome.verdict, Verdict::kAgree);
    EXPECT_FALSE(outcome.calibrated);
  }
}

TEST(SilentTest, MoreUlpThanTheBandButNoMoreThanRounding) {
  const Outcome outcome = JudgeEdit(Smooth(), Grad0([](auto& g) { return Ulps(g, 6); }));
  EXPECT_EQ(outcome.verdict, Verdict::kAgree);
  EXPECT_TRUE(outcome.calibrated);
}

TEST(SilentTest, FloorHoldsWhereNoiseSeesNothing) {
  // Only exact operators: the spread is 0, the floor is not.
  Build b;
  const Program p = b.Out(b.Op("neg", {b.Leaf({8}, Normal(1, 1, 4))})).Done();
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return Ulps(out, 7); })).verdict, Verdict::kAgree);
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return Ulps(out, 20); })).verdict,
            Verdict::kTradeOff);
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return Ulps(out, 200); })).verdict,
            Verdict::kForwardMismatch);
  // What assert_close allows relatively is more than the floor.
  Build ones;
  const Program unit = ones.Out(ones.Op("neg", {ones.Leaf({2}, Values({1, 1}))})).Done();
  const auto moved = JudgeEdit(unit, Out0([](auto& out) { return Ulps(out, 10); }));
  EXPECT_EQ(moved.verdict, Verdict::kAgree);
  // float16: twice its eps, which is more than assert_close allows.
  Build half(DType::kFloat16);
  const Program q = half.Out(half.Op("neg", {half.Leaf({4}, Values({1, 1, 1, 1}))})).Done();
  constexpr double kEps = 0.0009765625;
  const auto off_by = [&](double ulps) {
    return JudgeEdit(q, Out0([&](auto& out) { return out * (1 + ulps * kEps); })).verdict;
  };
  EXPECT_EQ(off_by(2), Verdict::kAgree);
  EXPECT_EQ(off_by(3), Verdict::kForwardMismatch);
}

// The program in another precision, rounded to its own: nearer to the truth than eager.
TEST(SilentTest, ComputedInFloat64) {
  for (const Program& p : {Smooth(), Atan2Amin()}) {
    const Observation wide = evaluate::Reference(p, {});
    const Outcome outcome = JudgeEdit(p, [&](Observation& o) {
      o.outputs[0] = wide.outputs[0].to(at::kFloat);
      for (size_t i = 0; i < 2; ++i) o.gradients[i] = wide.gradients[i]->to(at::kFloat);
    });
    EXPECT_EQ(outcome.verdict, Verdict::kAgree);
  }
}

TEST(SilentTest, HonestNoise) {
  // Results as far from the reference as rounding in every step makes them.
  for (uint64_t seed = 100; seed < 120; ++seed) {
    const Program p = Smooth();
    ReplayOptions options;
    options.noise = true;
    options.seed = seed;
    const Replay replay = RunReplay(p, PrecisionOf(p), options);
    const Outcome outcome = JudgeEdit(p, [&](Observation& o) {
      o.outputs[0] = replay.observation.outputs[0].to(at::kFloat);
      for (size_t i = 0; i < 2; ++i) {
        o.gradients[i] = replay.observation.gradients[i]->to(at::kFloat);
      }
    });
    EXPECT_EQ(outcome.verdict, Verdict::kAgree) << seed;
  }
}

TEST(SilentTest, OtherSummationOrder) {
  Build b;
  const Arg x = b.Leaf({1000}, Normal(1));
  const Program p = b.Out(b.Op("sum", {b.Op("mul", {x, Arg(0.1)})})).Done();
  const at::Tensor terms =
      EagerRung(p).draws[0].gradients[0]->mul(0) +
      evaluate::MakeInputs(p.storages, p.leaves, 0, at::kCPU).leaves[0].detach().mul(0.1);
  float sum = 0;  // one by one
  for (int64_t i = 0; i < terms.numel(); ++i) sum += terms[i].item<float>();
  const Outcome outcome = JudgeEdit(p, Out0([&](auto& out) { return at::full_like(out, sum); }));
  EXPECT_EQ(outcome.verdict, Verdict::kAgree);
}

// Additions that are stored one by one round each time: the more terms, the more.
TEST(SilentTest, StoredAdditionsInBfloat16) {
  constexpr double kEps = 0.0078125;
  Build b(DType::kBFloat16);
  const Arg x = b.Leaf({1}, Values({0})), src = b.Leaf({64}, Normal(1, 0.1, 1));
  const Arg index = b.Leaf({64}, Ints(0, 0, 1), false, DType::kInt64);
  const Program p = b.Out(b.Op("index_add", {x, Arg(0), index, src})).Done();
  const at::Tensor exact = evaluate::Reference(p, {}).outputs[0];
  const auto off_by = [&](double eps) {
    return JudgeEdit(p, Out0([&](auto& out) { return (exact * (1 + eps * kEps)).to(out.dtype()); }))
        .verdict;
  };
  EXPECT_EQ(off_by(5), Verdict::kAgree);
  EXPECT_EQ(off_by(60), Verdict::kForwardMismatch);
}

// One operator, or the operators that it is made of: in bfloat16 the latter round more often.
TEST(SilentTest, StepsInBfloat16) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Build b(DType::kBFloat16);
    const Arg x = b.Leaf({64}, Normal(3 * seed)), y = b.Leaf({64}, Normal(3 * seed + 1));
    const Arg z = b.Leaf({64}, Normal(3 * seed + 2, 0.1, 1));
    const Program p = b.Out(b.Op("addcdiv", {x, y, z}, {{"value", Arg(3.0)}})).Done();
    const auto leaves = evaluate::MakeInputs(p.storages, p.leaves, 0, at::kCPU).leaves;
    const Outcome outcome =
        JudgeEdit(p, Out0([&](auto&) {
                    return leaves[0].detach() + leaves[1].detach() / leaves[2].detach() * 3.0;
                  }));
    EXPECT_FALSE(IsFinding(outcome.verdict)) << seed << ToJson(outcome).dump(1).substr(0, 2000);
  }
}

// Where numbers are hardly there, flushing and gradual underflow round absolutely.
TEST(SilentTest, SubnormalNumbers) {
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  Build b;
  const Program p =
      b.Out(b.Op("neg", {b.Leaf({2}, Values({100 * kSmallest, 200 * kSmallest}))})).Done();
  const auto off_by = [&](int steps) {
    return JudgeEdit(p, Out0([&](auto& out) { return Ulps(out, steps); })).verdict;
  };
  EXPECT_EQ(off_by(10), Verdict::kAgree);
  EXPECT_NE(off_by(40), Verdict::kAgree);
}

TEST(SilentTest, FusedBfloat16) {
  const Program p = Smooth(DType::kBFloat16);
  Program fp32 = p;
  for (auto& storage : fp32.storages) storage.dtype = DType::kFloat32;
  // Leaves and cotangents hold bfloat16 values, all between is float32.
  const Observation wide = evaluate::Reference(p, {});
  const Outcome outcome = JudgeEdit(p, [&](Observation& o) {
    o.outputs[0] = wide.outputs[0].to(at::kFloat).to(at::kBFloat16);
    for (size_t i = 0; i < 2; ++i) {
      o.gradients[i] = wide.gradients[i]->to(at::kFloat).to(at::kBFloat16);
    }
  });
  EXPECT_EQ(outcome.verdict, Verdict::kAgree);
}

// A vectorised function that is a little off everywhere: PyTorch calls it close.
TEST(SilentTest, InaccurateAndCloseByPyTorchsOwnRules) {
  Build b;
  const Program p = b.Out(b.Op("erf", {b.Leaf({64}, Normal(1, 0.1))})).Done();
  const auto off_by = [&](double relative) {
    return JudgeEdit(p, Out0([&](auto& out) { return out * (1 + relative); }));
  };
  EXPECT_EQ(off_by(1e-6).verdict, Verdict::kAgree);
  EXPECT_EQ(off_by(8e-6).verdict, Verdict::kTradeOff);
  EXPECT_EQ(off_by(1e-3).verdict, Verdict::kForwardMismatch);
}

// What is small may be lost as well: the absolute part of assert_close excuses nobody.
TEST(SilentTest, ButALostSmallElementIsLost) {
  Build b;
  const Program p = b.Out(b.Op("erf", {b.Leaf({64}, Normal(1, 1e-6))})).Done();
  const auto lose = Out0([](auto& out) { return With(out, 7, 0); });
  EXPECT_EQ(JudgeEdit(p, lose).verdict, Verdict::kForwardMismatch);
}

// Each thread adds up its own rows, and its sum is stored in bfloat16.
TEST(SilentTest, Bfloat16NormsWithMoreThreads) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Build b(DType::kBFloat16);
    const Arg x = b.Leaf({60, 64}, Normal(3 * seed)), weight = b.Leaf({64}, Normal(3 * seed + 1));
    const Arg bias = b.Leaf({64}, Normal(3 * seed + 2));
    const Program p = b.Out(b.Op("nn.functional.layer_norm", {x, Arg::Ints({64}), weight, bias}),
                            Normal(seed + 100))
                          .Done();
    at::set_num_threads(1);
    RungRun one = EagerRung(p);
    at::set_num_threads(4);
    RungRun four = EagerRung(p, "inductor");
    at::set_num_threads(1);
    JudgeOptions options;
    options.self_checks = false;
    std::vector<RungRun> rungs = {std::move(one), std::move(four)};
    const Outcome outcome = Judge(p, "real", rungs, options);
    EXPECT_FALSE(IsFinding(outcome.verdict)) << seed << ToJson(outcome).dump(1).substr(0, 2000);
  }
}

TEST(SilentTest, CancellationToZero) {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1));
  const Program p =
      b.Out(b.Op("sum", {b.Op("nn.functional.layer_norm", {x, Arg::Ints({8})})})).Done();
  Outcome outcome = JudgeEdit(p, [](Observation& o) {
    o.outputs[0].fill_(3e-7);
    o.gradients[0] = at::full_like(*o.gradients[0], -2e-7);
  });
  EXPECT_EQ(outcome.verdict, Verdict::kAgree) << ToJson(outcome).dump();
  EXPECT_EQ(Find(outcome, "grad x0").note, "cancels to rounding noise");
  outcome = JudgeEdit(p, Grad0([](auto& g) { return at::full_like(g, 1e-3); }));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
}

TEST(SilentTest, EdgeOfOverflow) {
  Build b;
  const Program p = b.Out(b.Op("exp", {b.Leaf({2}, Values({88.72, 1}))})).Done();
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return With(out, 0, kInf); })).verdict,
            Verdict::kIllConditioned);
  Build far;
  const Program q = far.Out(far.Op("exp", {far.Leaf({2}, Values({60, 1}))})).Done();
  EXPECT_EQ(JudgeEdit(q, Out0([](auto& out) { return With(out, 0, kInf); })).verdict,
            Verdict::kNanMismatch);
}

TEST(SilentTest, EdgeOfADomain) {
  // acos of 1 but for rounding: NaN for some honest programs.
  Build b;
  const Arg x = b.Leaf({2}, Values({0.1, 0.5})), y = b.Leaf({2}, Values({0.3, 4}), false);
  const Arg one = b.Op("div", {b.Op("mul", {x, Arg(3.0)}), y});
  const Program p = b.Out(b.Op("acos", {one})).Done();
  EXPECT_EQ(JudgeEdit(p,
                      [](Observation& o) {
                        o.outputs[0] = With(o.outputs[0], 0, kNaN);
                        o.gradients[0] = With(*o.gradients[0], 0, kNaN);
                      })
                .verdict,
            Verdict::kIllConditioned);
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return With(out, 1, kNaN); })).verdict,
            Verdict::kNanMismatch);
}

TEST(SilentTest, GradientsOfNaN) {
  // acosh(0.5) is NaN; so is its slope, which a dead zone below it masks or multiplies by 0.
  Build b;
  const Arg x = b.Leaf({2}, Values({0.5, 3}));
  const Program p = b.Out(b.Op("acosh", {b.Op("nn.functional.softshrink", {x})})).Done();
  const auto nan_at = [&](size_t i) {
    return JudgeEdit(p, Grad0([i](auto& g) { return With(g, static_cast<int64_t>(i), kNaN); }));
  };
  EXPECT_FALSE(IsFinding(nan_at(0).verdict));
  // Finite outputs have finite gradients.
  Build sound;
  const Arg y = sound.Leaf({2}, Values({2, 3}));
  const Program q = sound.Out(sound.Op("acosh", {y})).Done();
  EXPECT_EQ(JudgeEdit(q, Grad0([](auto& g) { return With(g, 0, kNaN); })).verdict,
            Verdict::kNanMismatch);
}

TEST(JudgeTest, OverflowThatTheReferenceDoesNotHave) {
  // softmax(1e60): eager NaN, float64 not. A compiled program that rescales is not eager's.
  Build b;
  const Arg x = b.Leaf({3}, Values({1e30, 2e30, 3e30}));
  const Program p = b.Out(b.Op("softmax", {b.Op("mul", {x, Arg(1e30)}), Arg(0)})).Done();
  const Outcome outcome = JudgeEdit(p, [](Observation& o) {
    o.outputs[0] = at::tensor({0.0, 0.0, 1.0}, at::kFloat);
  });
  EXPECT_EQ(outcome.verdict, Verdict::kNanMismatch);
}

TEST(JudgeTest, IllConditionedIsSaidAndCounted) {
  Build b;
  const Arg big = b.Op("add", {b.Leaf({8}, Normal(1)), Arg(1e7)});
  const Program p = b.Out(b.Op("sub", {big, Arg(1e7)})).Done();
  const Outcome outcome = JudgeEdit(p, Out0([](auto& out) { return out + 1; }));
  EXPECT_EQ(outcome.verdict, Verdict::kIllConditioned);
  EXPECT_EQ(outcome.stats.value("ill_conditioned", 0), 1);
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return out + 1000; })).verdict,
            Verdict::kForwardMismatch);
}

// --- Lanes, rungs, draws ---

TEST(ExactLaneTest, OneUlpIsABug) {
  Build b;
  const Program p =
      b.Out(b.Op("add", {b.Leaf({8}, Ints(1, 9, 1)), b.Leaf({8}, Ints(1, 9, 2))})).Done();
  const Edit edit = Out0([](auto& out) { return Ulps(out, 1); });
  EXPECT_EQ(JudgeEdit(p, edit, "exact").verdict, Verdict::kForwardMismatch);
  EXPECT_EQ(JudgeEdit(p, edit, "real").verdict, Verdict::kAgree);
}

TEST(ExactLaneTest, SignsOfZerosOfSumsDoNotCount) {
  Build b;
  const Program p =
      b.Out(b.Op("sub", {b.Leaf({8}, Ints(2, 2, 1)), b.Leaf({8}, Ints(2, 2, 2))})).Done();
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return out.neg(); }), "exact").verdict,
            Verdict::kAgree);
}

TEST(ExactLaneTest, NaNs) {
  Build b;
  const Program p = b.Out(b.Op("neg", {b.Leaf({2}, Values({kNaN, 1}))})).Done();
  EXPECT_EQ(JudgeEdit(
                p, [](Observation&) {}, "exact")
                .verdict,
            Verdict::kAgree);
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return With(out, 1, kNaN); }), "exact").verdict,
            Verdict::kNanMismatch);
}

TEST(IntegersTest, AreExactInTheRealLane) {
  Build b(DType::kInt64);
  const Program p = b.Out(b.Op("sum", {b.Leaf({8}, Ints(1, 100, 1), false)})).Done();
  EXPECT_EQ(JudgeEdit(p, Out0([](auto& out) { return out + 1; })).verdict,
            Verdict::kForwardMismatch);
}

TEST(LadderTest, EachRungIsJudgedByItself) {
  const Program p = Smooth();
  const Edit wrong = Grad0([](auto& g) { return g * 2; });
  std::vector<RungRun> rungs = {EagerRung(p), FaultyRung(p, wrong, "aot_eager"),
                                EagerRung(p, "aot_eager_decomp_partition"),
                                FaultyRung(p, wrong, "inductor")};
  const Outcome outcome = Judge(p, "real", rungs, {});
  EXPECT_EQ(outcome.first_wrong_rung, "aot_eager");
  ASSERT_EQ(outcome.rungs.size(), 4u);
  EXPECT_EQ(outcome.rungs[0].verdict, Verdict::kAgree);
  EXPECT_EQ(outcome.rungs[1].verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(outcome.rungs[2].verdict, Verdict::kAgree);
  EXPECT_EQ(outcome.rungs[3].verdict, Verdict::kGradientMismatch);
}

TEST(LadderTest, ALowerRungsErrorIsLeaveForTheNext) {
  // The decomposition rung lies at the edge of the tolerance; inductor, with the same formula, a
  // little beyond it.
  const Program p = Smooth();
  const auto verdict = [&](double lower, double upper) {
    std::vector<RungRun> rungs = {
        EagerRung(p), FaultyRung(p, Grad0([&](auto& g) { return g * (1 + lower); }), "aot_eager"),
        FaultyRung(p, Grad0([&](auto& g) { return g * (1 + upper); }), "inductor")};
    JudgeOptions options;
    options.self_checks = false;
    return Judge(p, "real", rungs, options).verdict;
  };
  // The largest error that is still right, by bisection.
  double right = 1e-7, wrong = 1e-3;
  for (int i = 0; i < 12; ++i) {
    const double middle = std::sqrt(right * wrong);
    (verdict(0, middle) == Verdict::kAgree ? right : wrong) = middle;
  }
  EXPECT_EQ(verdict(right, 1.5 * right), Verdict::kAgree);
  EXPECT_EQ(verdict(0, 1.5 * right), Verdict::kGradientMismatch);
  EXPECT_EQ(verdict(right, 6 * right), Verdict::kGradientMismatch);
}

TEST(LadderTest, WhatAllRungsShareIsNoFinding) {
  const Program p = Smooth();
  const Edit shared = Out0([](auto& out) { return out + 1; });
  std::vector<RungRun> rungs = {FaultyRung(p, shared, "eager"), FaultyRung(p, shared, "inductor")};
  EXPECT_EQ(Judge(p, "real", rungs, {}).verdict, Verdict::kAgree);
}

TEST(LadderTest, CompiledNearerThanEager) {
  const Program p = Smooth();
  std::vector<RungRun> rungs = {FaultyRung(p, Grad0([](auto& g) { return g * 1.01; }), "eager"),
                                EagerRung(p, "inductor")};
  JudgeOptions options;
  options.self_checks = false;
  const Outcome outcome = Judge(p, "real", rungs, options);
  EXPECT_EQ(outcome.verdict, Verdict::kAgree);
  EXPECT_EQ(outcome.stats.value("eager_off", 0), 1);
}

TEST(LadderTest, WithinEagersOwnErrorNothingIsSaid) {
  const Program p = Smooth();
  JudgeOptions options;
  options.self_checks = false;
  const auto verdict = [&](double eager, double got) {
    std::vector<RungRun> rungs = {
        FaultyRung(p, Grad0([&](auto& g) { return g * (1 + eager); }), "eager"),
        FaultyRung(p, Grad0([&](auto& g) { return g * (1 + got); }), "inductor")};
    return Judge(p, "real", rungs, options).verdict;
  };
  EXPECT_EQ(verdict(1e-3, 3e-3), Verdict::kIllConditioned);
  EXPECT_EQ(verdict(1e-3, -3e-3), Verdict::kIllConditioned);
  EXPECT_EQ(verdict(1e-3, 3e-2), Verdict::kGradientMismatch);
  EXPECT_EQ(verdict(1e-3, -1), Verdict::kGradientMismatch) << "all zero";
}

TEST(DrawsTest, OneDrawInFour) {
  const Program p = Smooth();
  RungRun run = EagerRung(p, "inductor", 4);
  run.draws[2].gradients[0]->view(-1)[3] = 5;
  const Outcome outcome = JudgeTwo(p, std::move(run));
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(Find(outcome, "grad x0").draw, 2);
}

TEST(DrawsTest, TheWorstDrawIsReported) {
  const Program p = Smooth();
  RungRun run = EagerRung(p, "inductor", 3);
  *run.draws[0].gradients[0] *= 1.01;
  *run.draws[1].gradients[0] *= 3;
  *run.draws[2].gradients[0] *= 1.5;
  run.repeats.clear();
  EXPECT_EQ(Find(JudgeTwo(p, std::move(run)), "grad x0").pattern, "constant factor 3");
}

TEST(DrawsTest, SecondCallOfThePlan) {
  Program p = Smooth();
  p.call.second_storages = p.storages;
  p.call.second_leaves = p.leaves;
  RungRun eager = EagerRung(p), run = EagerRung(p, "inductor");
  eager.second_draws = eager.draws;
  run.second_draws = EagerRung(p).draws;
  *run.second_draws[0].gradients[0] *= 2;
  std::vector<RungRun> rungs = {std::move(eager), std::move(run)};
  const Outcome outcome = Judge(p, "real", rungs, {});
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(Find(outcome, "grad x0").verdict, Verdict::kAgree);
  EXPECT_EQ(Find(outcome, "grad x0 (second call)").verdict, Verdict::kGradientMismatch);
}

TEST(RepeatsTest, Nondeterministic) {
  const Program p = Smooth();
  RungRun run = EagerRung(p, "inductor");
  *run.repeats[0].gradients[1] += 0.5;
  const Outcome outcome = JudgeTwo(p, std::move(run));
  EXPECT_EQ(outcome.verdict, Verdict::kNondeterministic);
  EXPECT_EQ(outcome.first_wrong_rung, "inductor");
  EXPECT_EQ(Find(outcome, "repeat grad x1").verdict, Verdict::kNondeterministic);
  EXPECT_FALSE(Find(outcome, "repeat grad x1").assert_close);
}

TEST(RepeatsTest, PyTorchsRuleIsAsked) {
  const Program p = Smooth();
  std::vector<RungRun> rungs = {EagerRung(p), EagerRung(p, "inductor")};
  *rungs[1].repeats[0].gradients[1] += 0.5;
  JudgeOptions options;
  options.same = [](const at::Tensor& reference, const at::Tensor& result, const at::Tensor& fp64) {
    EXPECT_EQ(fp64.scalar_type(), at::kDouble);
    return reference.equal(result);
  };
  const Outcome outcome = Judge(p, "real", rungs, options);
  EXPECT_FALSE(Find(outcome, "repeat grad x1").pytorch_same);
}

TEST(RepeatsTest, OrderOfAdditionsIsFree) {
  const Program p = Smooth();
  RungRun run = EagerRung(p, "inductor");
  run.repeats[0].gradients[1] = Ulps(*run.repeats[0].gradients[1], 3);
  EXPECT_EQ(JudgeTwo(p, run).verdict, Verdict::kAgree);
  // Not in the exact lane.
  EXPECT_EQ(JudgeTwo(p, run, "exact").verdict, Verdict::kNondeterministic);
}

TEST(RepeatsTest, NondeterministicEagerDropsTheProgram) {
  const Program p = Smooth();
  std::vector<RungRun> rungs = {EagerRung(p), FaultyRung(p, Grad0([](auto& g) { return g * 2; }))};
  *rungs[0].repeats[0].gradients[0] += 1;
  const Outcome outcome = Judge(p, "real", rungs, {});
  EXPECT_EQ(outcome.verdict, Verdict::kIllConditioned);
  EXPECT_NE(outcome.note.find("eager differs from itself"), std::string::npos);
}

TEST(ErrorsTest, Verdicts) {
  const Program p = Smooth();
  const auto verdict = [&](Verdict given, const std::string& error) {
    RungRun run;
    run.rung = "inductor";
    run.error_verdict = given;
    run.error = error;
    std::vector<RungRun> rungs = {EagerRung(p), std::move(run)};
    const Outcome outcome = Judge(p, "real", rungs, {});
    EXPECT_EQ(outcome.rungs[1].error, error);
    return outcome.verdict;
  };
  EXPECT_EQ(verdict(Verdict::kCompileError, "InductorError: AssertionError"),
            Verdict::kCompileError);
  EXPECT_EQ(verdict(Verdict::kRuntimeError, "RuntimeError: size mismatch"), Verdict::kRuntimeError);
  EXPECT_EQ(
      verdict(Verdict::kCompileError, "torch._dynamo.exc.Unsupported: Data-dependent branching"),
      Verdict::kUnsupported);
  EXPECT_EQ(verdict(Verdict::kUnsupported, "some refusal"), Verdict::kUnsupported);
  EXPECT_EQ(verdict(Verdict::kAgree, "RuntimeError: x"), Verdict::kRuntimeError);
}

TEST(ErrorsTest, OfOneDraw) {
  const Program p = Smooth();
  RungRun run = EagerRung(p, "inductor", 2);
  run.draws[1] = {};
  run.draws[1].error = "RuntimeError: x";
  run.draws[1].error_kind = "runtime";
  EXPECT_EQ(JudgeTwo(p, std::move(run)).verdict, Verdict::kRuntimeError);
}

TEST(ErrorsTest, OfEager) {
  const Program p = Smooth();
  std::vector<RungRun> rungs = {RungRun{}, EagerRung(p, "inductor")};
  rungs[0].rung = "eager";
  rungs[0].error = "RuntimeError: no";
  EXPECT_EQ(Judge(p, "real", rungs, {}).verdict, Verdict::kInvalid);
  std::vector<RungRun> none;
  EXPECT_EQ(Judge(p, "real", none, {}).verdict, Verdict::kInvalid);
}

TEST(TradeOffTest, EmulatedCastsDecide) {
  const Program p = Smooth(DType::kBFloat16);
  const Edit wrong = Grad0([](auto& g) { return g * 2; });
  int asked = 0;
  const auto judge = [&](bool cured) {
    RungRun run = FaultyRung(p, wrong);
    run.recompile = [&, cured](const auto& knobs) -> std::optional<RungRun> {
      ++asked;
      EXPECT_EQ(knobs.size(), 1u);
      EXPECT_EQ(knobs[0].first, "inductor.emulate_precision_casts");
      return cured ? EagerRung(p, "inductor") : FaultyRung(p, wrong);
    };
    JudgeOptions options;
    options.self_checks = false;
    return JudgeTwo(p, std::move(run), "real", options).verdict;
  };
  EXPECT_EQ(judge(true), Verdict::kTradeOff);
  EXPECT_EQ(judge(false), Verdict::kGradientMismatch);
  EXPECT_EQ(asked, 2);
}

TEST(TradeOffTest, NotForFloat32) {
  const Program p = Smooth();
  RungRun run = FaultyRung(p, Grad0([](auto& g) { return g * 2; }));
  run.recompile = [&](const auto&) -> std::optional<RungRun> { return EagerRung(p, "inductor"); };
  EXPECT_EQ(JudgeTwo(p, std::move(run)).verdict, Verdict::kGradientMismatch);
}

TEST(LowPrecisionTest, FaultsAreStillSeen) {
  const Program p = Smooth(DType::kBFloat16);
  const at::Tensor gradient = *EagerRung(p).draws[0].gradients[0];
  const int64_t largest = gradient.abs().argmax().item<int64_t>();
  EXPECT_EQ(JudgeEdit(p, Grad0([&](auto& g) { return With(g, largest, 0); })).verdict,
            Verdict::kGradientMismatch);
  EXPECT_EQ(JudgeEdit(p, Grad0([](auto& g) { return g.neg(); })).verdict,
            Verdict::kGradientMismatch);
}

TEST(ReportTest, NumbersAndSamples) {
  Build b;
  const Program p = b.Out(b.Op("sin", {b.Leaf({5000}, Normal(1))})).Done();
  JudgeOptions options;
  int same_calls = 0;
  options.same = [&](const at::Tensor& reference, const at::Tensor& result,
                     const at::Tensor& fp64) {
    ++same_calls;
    EXPECT_EQ(reference.scalar_type(), at::kFloat);
    EXPECT_EQ(result.scalar_type(), at::kFloat);
    EXPECT_EQ(fp64.scalar_type(), at::kDouble);
    return false;
  };
  const Outcome outcome =
      JudgeTwo(p, FaultyRung(p, Out0([](auto& out) { return With(out, 7, 3); })), "real", options);
  const Comparison& c = Find(outcome, "out0");
  EXPECT_EQ(same_calls, 1);
  EXPECT_FALSE(c.pytorch_same);
  EXPECT_FALSE(c.assert_close);
  EXPECT_EQ(c.sizes, std::vector<int64_t>{5000});
  EXPECT_EQ(c.numel, 5000);
  EXPECT_EQ(c.wrong, 1);
  EXPECT_EQ(c.got.size(), static_cast<size_t>(kMaxSample));
  EXPECT_EQ(c.got[7], 3.0);
  EXPECT_NEAR(c.max_error, std::abs(3.0 - c.reference[7]), 1e-12);
  EXPECT_LT(c.tolerance, 1e-5);
  EXPECT_LT(c.eager_error, 1e-6);
  EXPECT_GT(outcome.stats.value("compared", -1), 0);
  EXPECT_EQ(outcome.stats.value("calibrated", -1), 1);
  EXPECT_GT(outcome.stats.value("replays", -1), 1);
}

TEST(ReportTest, DeterministicVerdictsAndNumbers) {
  const Program p = Smooth();
  const Edit edit = Grad0([](auto& g) { return g * 1.00001; });
  auto first = ToJson(JudgeEdit(p, edit));
  auto second = ToJson(JudgeEdit(p, edit));
  for (auto* j : {&first, &second}) j->erase("reference_seconds");
  EXPECT_EQ(first, second);
}

TEST(ReportTest, CheapPathCalibratesNothing) {
  const Program p = Atan2Amin();
  const Outcome outcome = JudgeTwo(p, EagerRung(p, "inductor", 3));
  EXPECT_EQ(outcome.verdict, Verdict::kAgree);
  EXPECT_FALSE(outcome.calibrated);
  EXPECT_EQ(outcome.stats.value("replays", -1), 0);
  EXPECT_EQ(outcome.lane, "real");
  EXPECT_EQ(outcome.first_wrong_rung, "");
}

TEST(NoReferenceTest, FallsBackToAssertClose) {
  // An operator that float64 does not have cannot be had here; a program whose leaves name one
  // that even eager C++ does not know stands in for it.
  Program p = Smooth();
  RungRun eager = EagerRung(p), run = EagerRung(p, "inductor");
  p.statements[0].op = "no_such_operator";
  *run.draws[0].gradients[0] *= 1.01;
  run.repeats.clear();
  std::vector<RungRun> rungs = {std::move(eager), std::move(run)};
  JudgeOptions options;
  options.self_checks = false;
  const Outcome outcome = Judge(p, "real", rungs, options);
  EXPECT_EQ(outcome.verdict, Verdict::kGradientMismatch);
  EXPECT_NE(Find(outcome, "grad x0").note.find("no float64 reference"), std::string::npos);
  EXPECT_TRUE(outcome.stats.contains("reference_error"));
}

}  // namespace
}  // namespace gradfuzz::oracle
