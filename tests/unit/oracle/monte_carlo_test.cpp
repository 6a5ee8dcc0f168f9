// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/monte_carlo.h"

#include <algorithm>
#include <cmath>

#include "build.h"
#include "gradfuzz/oracle/elements.h"
#include "gradfuzz/oracle/envelope.h"

namespace gradfuzz::oracle {
namespace {

constexpr Quantity kOut0 = {Quantity::Kind::kOutput, 0};
constexpr Quantity kGrad0 = {Quantity::Kind::kGradient, 0};

class Calibrated {
 public:
  explicit Calibrated(Program program, int samples = 16, uint64_t seed = 7)
      : program_(std::move(program)),
        precision_(PrecisionOf(program_)),
        envelope_(program_, precision_, {}, seed) {
    EXPECT_TRUE(envelope_.ok()) << envelope_.reference().observation.error;
    envelope_.Sample(samples);
  }
  double LargestSpread(const Quantity& q) const {
    double largest = 0;
    for (size_t i = 0; i < envelope_.Reference(q)->size(); ++i) {
      largest = std::max(largest, envelope_.Spread(q, i));
    }
    return largest;
  }
  double SmallestSpread(const Quantity& q) const {
    double smallest = 1e300;
    for (size_t i = 0; i < envelope_.Reference(q)->size(); ++i) {
      smallest = std::min(smallest, envelope_.Spread(q, i));
    }
    return smallest;
  }
  const Elements& Reference(const Quantity& q) const { return *envelope_.Reference(q); }
  Envelope& envelope() { return envelope_; }
  const Program& program() const { return program_; }

 private:
  Program program_;
  Precision precision_;
  Envelope envelope_;
};

Replay Noisy(const Program& p, uint64_t seed, Follow follow = Follow::kNothing,
             const Trace* trace = nullptr) {
  ReplayOptions options;
  options.noise = true;
  options.seed = seed;
  options.follow = follow;
  options.trace = trace;
  Replay replay = RunReplay(p, PrecisionOf(p), options);
  EXPECT_EQ(replay.observation.error, "");
  return replay;
}

bool SameObservation(const Program& p, const evaluate::Observation& a,
                     const evaluate::Observation& b) {
  for (const Quantity& q : Quantities(p)) {
    if (!Find(a, q)->equal(*Find(b, q))) return false;
  }
  return true;
}

Program Atan2Amin() {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1)), y = b.Leaf({4, 8}, Normal(2));
  return b.Out(b.Op("amin", {b.Op("atan2", {x, y}), Arg::Ints({-1})})).Done();
}

TEST(ReplayTest, WithoutNoiseIsTheReference) {
  const Program p = Atan2Amin();
  const Replay replay = RunReplay(p, PrecisionOf(p), {});
  EXPECT_TRUE(SameObservation(p, replay.observation, evaluate::Reference(p, {})));
  EXPECT_GT(replay.calls, 10);  // forward and backward
  EXPECT_EQ(replay.nudged, 0);
}

TEST(ReplayTest, SameSeedSameNoise) {
  const Program p = Atan2Amin();
  EXPECT_TRUE(SameObservation(p, Noisy(p, 3).observation, Noisy(p, 3).observation));
  EXPECT_FALSE(SameObservation(p, Noisy(p, 3).observation, Noisy(p, 4).observation));
}

TEST(ReplayTest, LeavesTorchsGeneratorAlone) {
  const Program p = Atan2Amin();
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  Noisy(p, 3);
  EXPECT_TRUE(at::rand({4}).equal(expected));
}

TEST(ReplayTest, NothingStaysSwitchedOn) {
  const Program p = Atan2Amin();
  Noisy(p, 3);
  const at::Tensor x = at::full({3}, 0.5, at::kDouble);
  EXPECT_TRUE(at::sin(x).equal(at::full({3}, std::sin(0.5), at::kDouble)));
}

TEST(ReplayTest, ErrorsAreReported) {
  Build b;
  b.Out(b.Op("matmul", {b.Leaf({2, 3}, Ints(0, 1, 1)), b.Leaf({2, 3}, Ints(0, 1, 2))}));
  const Program p = b.Done();
  EXPECT_NE(RunReplay(p, PrecisionOf(p), {}).observation.error, "");
}

// The classic: amin's backward finds its place by comparing with the saved result.
TEST(NoiseTest, Atan2AminKeepsItsMask) {
  const Program p = Atan2Amin();
  const at::Tensor reference = *evaluate::Reference(p, {}).gradients[0];
  const Replay plain = RunReplay(p, PrecisionOf(p), {});
  for (uint64_t seed = 0; seed < 16; ++seed) {
    for (const Follow follow : {Follow::kNothing, Follow::kEverything}) {
      const Replay replay = Noisy(p, seed, follow, &plain.trace);
      const at::Tensor gradient = *replay.observation.gradients[0];
      EXPECT_TRUE(gradient.ne(0).equal(reference.ne(0)));
      EXPECT_TRUE(at::allclose(gradient, reference, 1e-5, 0));
      EXPECT_FALSE(gradient.equal(reference));
    }
  }
}

TEST(NoiseTest, SelectionsAndMovesAreExact) {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1));
  const Arg idx = b.Leaf({2}, Values({1, 3}), false, DType::kInt64);
  const Arg sorted = b.Op("sort", {b.Op("relu", {x})}, {{"dim", Arg(-1)}}, 2);
  const Arg picked = b.Op("index_select", {sorted, Arg(0), idx});
  const Arg written = b.Op("slice_scatter", {x, picked}, {{"dim", Arg(0)}, {"end", Arg(2)}});
  b.Out(b.Op("amax", {b.Op("cat", {Arg(program::ArgList{written, b.Op("neg", {x})}), Arg(0)}),
                      Arg::Ints({1})}));
  const Calibrated c(b.Done());
  EXPECT_EQ(c.LargestSpread(kOut0), 0);
  // Two paths meet in the gradient by one addition.
  EXPECT_LT(c.LargestSpread(kGrad0), 1e-5);
}

TEST(NoiseTest, SizeIsThatOfTheDtype) {
  for (const auto& [dtype, low, high] :
       {std::tuple(DType::kFloat32, 1e-8, 1e-6), std::tuple(DType::kFloat64, 1e-17, 1e-15),
        std::tuple(DType::kBFloat16, 1e-3, 1e-2), std::tuple(DType::kFloat16, 1e-4, 1e-3)}) {
    Build b(dtype);
    b.Out(b.Op("div", {b.Leaf({8}, Ints(4, 4, 1)), b.Leaf({8}, Ints(3, 3, 1))}));
    const Calibrated c(b.Done());
    EXPECT_GT(c.SmallestSpread(kOut0), low);
    EXPECT_LT(c.LargestSpread(kOut0), high);
  }
}

TEST(NoiseTest, CompositesAreSeenThrough) {
  Build b;
  b.Out(b.Op("nn.functional.linear",
             {b.Leaf({3, 4}, Normal(1)), b.Leaf({5, 4}, Normal(2)), b.Leaf({5}, Normal(3))}));
  const Calibrated c(b.Done());
  EXPECT_GT(c.SmallestSpread(kOut0), 0);
  EXPECT_GT(c.SmallestSpread(kGrad0), 0);
}

TEST(NoiseTest, InPlaceOperatorsAreNudged) {
  Build b;
  const Arg y = b.Op("neg", {b.Leaf({8}, Normal(1, 1, 5))});
  b.Op("Tensor.mul_", {y, Arg(1.5)});
  b.Out(y);
  const Calibrated c(b.Done());
  EXPECT_GT(c.SmallestSpread(kOut0), 0);
}

TEST(NoiseTest, CancellationIsSeen) {
  Build b;
  const Arg big = b.Op("add", {b.Leaf({8}, Normal(1)), Arg(1e6)});
  b.Out(b.Op("sub", {big, Arg(1e6)}));
  const Calibrated c(b.Done());
  EXPECT_GT(c.LargestSpread(kOut0), 1e-2);
}

TEST(NoiseTest, LargeSumsMoveByTheirTerms) {
  Build b;
  b.Out(b.Op("sum", {b.Leaf({4096}, Normal(1))}));
  const Calibrated c(b.Done());
  EXPECT_GT(c.LargestSpread(kOut0), 1e-6);
  EXPECT_LT(c.LargestSpread(kOut0), 1e-2);
}

TEST(NoiseTest, AValueMinusItself) {
  Build leaf;
  const Arg x = leaf.Leaf({8}, Normal(1));
  leaf.Out(leaf.Op("sub", {x, x}));
  EXPECT_EQ(Calibrated(leaf.Done()).LargestSpread(kOut0), 0);
  // a * b - a * b may be contracted to one rounding.
  Build product;
  const Arg y = product.Leaf({8}, Normal(1));
  const Arg u = product.Op("mul", {y, product.Leaf({8}, Normal(2))});
  product.Out(product.Op("sub", {u, u}));
  EXPECT_GT(Calibrated(product.Done()).LargestSpread(kOut0), 0);
}

TEST(NoiseTest, EqualPointsStayAtDistanceZero) {
  Build b;
  b.Out(b.Op("cdist", {b.Leaf({3, 4}, Ints(1, 1, 1)), b.Leaf({2, 4}, Ints(1, 1, 2))}));
  const Calibrated c(b.Done());
  EXPECT_EQ(c.LargestSpread(kOut0), 0);
  EXPECT_EQ(c.LargestSpread(kGrad0), 0);
}

// Each fused kernel whose analytic result is 0 or cancels: noise must show what rounding can do.
struct Fused {
  const char* name;
  std::function<Arg(Build&, const Arg&)> make;
  double output, gradient;  // least spread of each
};

class FusedTest : public testing::TestWithParam<Fused> {};

TEST_P(FusedTest, InnerCancellationIsSeen) {
  Build b;
  const Arg x = b.Leaf({2, 2, 3}, Normal(1, 1, 3));
  b.Out(GetParam().make(b, x));
  const Calibrated c(b.Done());
  EXPECT_GE(c.LargestSpread(kOut0), GetParam().output);
  EXPECT_GE(c.LargestSpread(kGrad0), GetParam().gradient);
  EXPECT_LT(c.LargestSpread(kOut0), 1e-2);
  EXPECT_LT(c.LargestSpread(kGrad0), 1e-2);
}

Arg Sum(Build& b, const Arg& x) { return b.Op("sum", {x}); }

INSTANTIATE_TEST_SUITE_P(
    All, FusedTest,
    testing::Values(
        Fused{"LayerNormSum",
              [](Build& b, const Arg& x) {
                return Sum(b, b.Op("nn.functional.layer_norm", {x, Arg::Ints({3})}));
              },
              1e-7, 1e-8},
        Fused{"LayerNormOfOne",
              [](Build& b, const Arg& x) {
                const Arg one = b.Op("Tensor.reshape", {x, Arg::Ints({12, 1})});
                return b.Op("nn.functional.layer_norm", {one, Arg::Ints({1})});
              },
              1e-6, 1e-6},
        Fused{"GroupNormSum",
              [](Build& b, const Arg& x) {
                return Sum(b, b.Op("nn.functional.group_norm", {x, Arg(1)}));
              },
              1e-7, 1e-8},
        Fused{"BatchNormSum",
              [](Build& b, const Arg& x) {
                return Sum(b, b.Op("native_batch_norm",
                                   {x, Arg(), Arg(), Arg(), Arg(), Arg(true), Arg(0.1), Arg(1e-5)},
                                   {}, 3));
              },
              1e-7, 1e-8},
        Fused{"SoftmaxSum",
              [](Build& b, const Arg& x) {
                return Sum(b, b.Op("softmax", {x, Arg(-1)}));
              },
              1e-8, 1e-9},
        Fused{"LogSoftmaxOfOne",
              [](Build& b, const Arg& x) {
                const Arg one = b.Op("Tensor.reshape", {x, Arg::Ints({12, 1})});
                return b.Op("log_softmax", {one, Arg(-1)});
              },
              1e-8, 0},
        Fused{"LogSumExp",
              [](Build& b, const Arg& x) {
                return b.Op("logsumexp", {x, Arg(-1)});
              },
              1e-8, 1e-9},
        Fused{"Gelu",
              [](Build& b, const Arg& x) {
                return b.Op("nn.functional.gelu", {b.Op("sub", {x, Arg(8)})});
              },
              1e-8, 1e-9},
        // Inductor's sigmoid - 1, far on the right side: 0 but for rounding.
        Fused{"SoftMarginLoss",
              [](Build& b, const Arg& x) {
                const Arg far = b.Op("add", {x, Arg(40)});
                return b.Op("nn.functional.soft_margin_loss", {far, b.Op("ones_like", {x})});
              },
              0, 1e-8},
        Fused{"VarOfConstant",
              [](Build& b, const Arg& x) {
                const Arg three = b.Op("add", {b.Op("mul", {x, Arg(0)}), Arg(3)});
                return b.Op("var", {three, Arg(-1)});
              },
              1e-16, 0}),
    [](const auto& row) { return std::string(row.param.name); });

struct Resize {
  const char* op;
  std::vector<int64_t> in, out;
};

// An ULP of a coordinate moves an interpolation by hundreds of ULP of its operand: eager's own
// float32 result must lie well inside the tolerance, which must stay far below a neighbour's
// weight.
TEST(InterpolationTest, CoordinatesRound) {
  const Resize rows[] = {{"upsample_linear1d", {2, 1, 1000}, {999}},
                         {"upsample_bilinear2d", {1, 2, 3, 200}, {5, 133}},
                         {"upsample_bicubic2d", {1, 1, 400, 2}, {301, 3}},
                         {"upsample_bicubic2d", {2, 1, 7, 1}, {3, 1}},
                         {"upsample_trilinear3d", {1, 1, 2, 3, 90}, {3, 2, 31}}};
  for (const Resize& row : rows) {
    for (const bool align : {false, true}) {
      Build b;
      const Arg x = b.Leaf(row.in, Normal(1, 30));
      b.Out(b.Op(row.op, {x, Arg::Ints(row.out), Arg(align)}), Normal(2));
      Calibrated c(b.Done(), 16);
      const evaluate::Observation eager = evaluate::Interpret(c.program(), {});
      ASSERT_EQ(eager.error, "");
      for (const Quantity& q : {kOut0, kGrad0}) {
        const Elements values = Flatten(*Find(eager, q));
        const double scale = q == kOut0 ? 90 : 3;
        for (size_t i = 0; i < values.size(); ++i) {
          const double tolerance = c.envelope().Tolerance(q, i);
          EXPECT_LE(Distance(values, c.Reference(q), i), 0.5 * tolerance) << row.op << " " << i;
          EXPECT_LT(tolerance, 3e-3 * scale) << row.op << " " << i;
        }
      }
    }
  }
}

TEST(DecisionTest, FollowedTracesKeepNearTies) {
  // sin at two neighbours: which one is the larger is a matter of rounding.
  Build b;
  const Arg x = b.Leaf({2}, Values({1.5, 1.50000012}));
  b.Out(b.Op("amax", {b.Op("sin", {x}), Arg::Ints({0})}));
  Calibrated c(b.Done(), 32);
  EXPECT_LT(c.LargestSpread(kGrad0), 1e-5);
  int flips = 0;
  const bool first = c.Reference(kGrad0).re[0] > c.Reference(kGrad0).re[1];
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const Elements g = Flatten(*Noisy(c.program(), seed).observation.gradients[0]);
    flips += (g.re[0] > g.re[1]) != first;
    EXPECT_GT(g.re[0] + g.re[1], 0.01);  // the share goes somewhere
  }
  EXPECT_GT(flips, 2);
}

TEST(DecisionTest, FollowedTracesKeepKinksInsideKernels) {
  for (const char* op : {"relu", "nn.functional.hardtanh", "abs", "nn.functional.leaky_relu",
                         "nn.functional.hardswish"}) {
    Build b;
    const Arg x = b.Leaf({6}, Values({1.1, 1.3, 1.7, 2.1, 2.3, 3.1}));
    // 0 but for rounding.
    const Arg zero = b.Op("sub", {b.Op("div", {b.Op("mul", {x, Arg(0.7)}), Arg(0.7)}), x});
    b.Out(b.Op(op, {zero}));
    const Calibrated c(b.Done(), 32);
    EXPECT_LT(c.LargestSpread(kGrad0), 1e-4) << op;
  }
}

TEST(DecisionTest, FollowedTracesKeepJumps) {
  Build b;
  const Arg x = b.Leaf({3}, Values({0.1, 0.3, 0.7}));
  const Arg one = b.Op("div", {b.Op("mul", {x, Arg(3.3)}), b.Op("mul", {x, Arg(3.3)})});
  b.Out(b.Op("floor", {one})).Out(b.Op("remainder", {one, Arg(0.5)}));
  Calibrated c(b.Done(), 32);
  EXPECT_EQ(c.LargestSpread(kOut0), 0);
  EXPECT_LT(c.LargestSpread({Quantity::Kind::kOutput, 1}), 1e-5);
  bool jumped = false;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    jumped = jumped || Flatten(Noisy(c.program(), seed).observation.outputs[0]).re[0] == 0;
  }
  EXPECT_TRUE(jumped);
}

TEST(DecisionTest, TracesOfAnotherProgramAreNotFollowed) {
  Build b;
  b.Out(b.Op("amax", {b.Leaf({3}, Normal(1)), Arg::Ints({0})}));
  const Program p = b.Done();
  const Trace foreign = {{"argsort", {at::zeros({1})}}};
  EXPECT_FALSE(Noisy(p, 1, Follow::kEverything, &foreign).followed);
  const Trace own = RunReplay(p, PrecisionOf(p), {}).trace;
  EXPECT_TRUE(Noisy(p, 1, Follow::kEverything, &own).followed);
}

TEST(DecisionTest, SelectionsBySavedResultStayWholeUnderNoise) {
  // Backwards that find their place by comparing values: the infinity norm, scatter_reduce.
  Build b;
  const Arg x = b.Op("sin", {b.Leaf({4, 3}, Normal(1))});
  b.Out(b.Op("linalg.vector_norm", {x}, {{"ord", Arg(INFINITY)}, {"dim", Arg(1)}}));
  const Program p = b.Done();
  const at::Tensor reference = *evaluate::Reference(p, {}).gradients[0];
  for (uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_TRUE(at::allclose(*Noisy(p, seed).observation.gradients[0], reference, 1e-4, 1e-7));
  }
}

TEST(RangeTest, EdgesAreSeen) {
  const auto edge = [](double x, DType dtype = DType::kFloat32) {
    Build b(dtype);
    b.Out(b.Op("exp", {b.Leaf({1}, Values({x}))}));
    const Program p = b.Done();
    return RunReplay(p, PrecisionOf(p), {}).range_edge;
  };
  EXPECT_FALSE(edge(1));
  EXPECT_TRUE(edge(88.7));   // float32 ends at exp(88.72)
  EXPECT_FALSE(edge(200));   // far beyond: infinite for everyone
  EXPECT_TRUE(edge(-88));    // subnormal in float32
  EXPECT_FALSE(edge(-200));  // 0 for everyone
  EXPECT_TRUE(edge(11, DType::kFloat16));
  EXPECT_FALSE(edge(88.7, DType::kFloat64));
}

}  // namespace
}  // namespace gradfuzz::oracle
