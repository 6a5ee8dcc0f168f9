// SPDX-License-Identifier: BSD-3-Clause
// Set-valued gradients, through Judge: what is another choice, and what is a bug.
#include "gradfuzz/oracle/ties.h"

#include <limits>

#include "build.h"

namespace gradfuzz::oracle {
namespace {

// One output, cotangent 1 everywhere unless said otherwise.
ValueRecipe One() { return Ints(1, 1, 0); }

Verdict WithGradient(const Program& p, std::vector<std::vector<double>> gradients,
                     const std::string& lane = "real") {
  const Outcome outcome = JudgeEdit(
      p,
      [&](evaluate::Observation& o) {
        for (size_t i = 0; i < gradients.size(); ++i) {
          o.gradients[i] = at::tensor(gradients[i], at::kDouble)
                               .to(o.gradients[i]->scalar_type())
                               .reshape(o.gradients[i]->sizes());
        }
      },
      lane);
  return outcome.verdict;
}

Program Unary(const char* op, std::vector<double> values, program::ArgList more = {}) {
  Build b;
  program::ArgList args = {b.Leaf({static_cast<int64_t>(values.size())}, Values(values))};
  args.insert(args.end(), more.begin(), more.end());
  return b.Out(b.Op(op, args), One()).Done();
}

class BothLanes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Lanes, BothLanes, testing::Values("real", "exact"));

TEST_P(BothLanes, AmaxOfEqualElements) {
  const Program p = Unary("amax", {1, 3, 3, 2});
  const auto verdict = [&](std::vector<double> g) { return WithGradient(p, {g}, GetParam()); };
  EXPECT_EQ(verdict({0, 0.5, 0.5, 0}), Verdict::kAgree);
  EXPECT_EQ(verdict({0, 1, 0, 0}), Verdict::kConvention);
  EXPECT_EQ(verdict({0, 0, 1, 0}), Verdict::kConvention);
  EXPECT_EQ(verdict({0, 0.25, 0.75, 0}), Verdict::kConvention);
  EXPECT_EQ(verdict({0, 0, 0, 0}), Verdict::kGradientMismatch) << "mass lost";
  EXPECT_EQ(verdict({0, 0.5, 0, 0}), Verdict::kGradientMismatch) << "half lost";
  EXPECT_EQ(verdict({0, 1, 1, 0}), Verdict::kGradientMismatch) << "tie broken twice";
  EXPECT_EQ(verdict({0, 0.5, 0.6, 0}), Verdict::kGradientMismatch) << "mass grown";
  EXPECT_EQ(verdict({0.5, 0.5, 0, 0}), Verdict::kGradientMismatch) << "outside the support";
  EXPECT_EQ(verdict({0, 2, -1, 0}), Verdict::kGradientMismatch) << "outside the hull";
  EXPECT_EQ(verdict({0, 0.5, std::numeric_limits<double>::infinity(), 0}), Verdict::kNanMismatch);
}

TEST(TiesTest, MaxOverADimensionPicksOne) {
  Build b;
  const Arg x = b.Leaf({4}, Values({1, 3, 3, 3}));
  const Arg value = b.Op("max", {x}, {{"dim", Arg(0)}}, 2);
  const Arg index = Arg::Value(value.As<program::ValueRef>().id + 1);
  const Program p = b.Out(value, One()).Out(index).Done();
  const auto verdict = [&](int64_t place, std::vector<double> g) {
    return JudgeEdit(p,
                     [&](evaluate::Observation& o) {
                       o.outputs[1].fill_(place);
                       o.gradients[0] = at::tensor(g, at::kFloat);
                     })
        .verdict;
  };
  EXPECT_EQ(verdict(2, {0, 0, 1, 0}), Verdict::kConvention);
  EXPECT_EQ(verdict(3, {0, 0, 0, 1}), Verdict::kConvention);
  EXPECT_EQ(verdict(1, {0, 1.0 / 3, 1.0 / 3, 1.0 / 3}), Verdict::kConvention);
  EXPECT_EQ(verdict(0, {0, 1, 0, 0}), Verdict::kForwardMismatch) << "1 < 3";
  EXPECT_EQ(verdict(1, {0, 0, 0, 0}), Verdict::kGradientMismatch);
}

TEST(TiesTest, IndependentRowsChooseIndependently) {
  Build b;
  std::vector<double> values, first, lost;
  for (int row = 0; row < 6; ++row) {
    values.insert(values.end(), {1, 2, 2});
    first.insert(first.end(), row % 2 == 0 ? std::initializer_list<double>{0, 1, 0}
                                           : std::initializer_list<double>{0, 0, 1});
  }
  const Program p =
      b.Out(b.Op("amax", {b.Leaf({6, 3}, Values(values)), Arg::Ints({1})}), One()).Done();
  EXPECT_EQ(WithGradient(p, {first}), Verdict::kConvention);
  lost = first;
  lost[1] = 0;
  EXPECT_EQ(WithGradient(p, {lost}), Verdict::kGradientMismatch);
  // A share that moved to another row.
  std::vector<double> moved = lost;
  moved[4] = 1;
  EXPECT_EQ(WithGradient(p, {moved}), Verdict::kGradientMismatch);
}

// 200 values that rounding cannot tell apart: a choice that no sample made is one all the same.
TEST(TiesTest, MoreNearTiesThanSamples) {
  constexpr double kSlope = 1e-10;
  std::vector<double> values(200);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 200;
  Build b;
  const Arg small = b.Op("mul", {b.Leaf({200}, Values(values)), Arg(kSlope)});
  const Program p = b.Out(b.Op("amax", {b.Op("add", {small, Arg(1.0)})}), One()).Done();
  const auto verdict = [&](std::vector<std::pair<size_t, double>> shares) {
    std::vector<double> g(200, 0);
    for (const auto& [place, share] : shares) g[place] = share * kSlope;
    return WithGradient(p, {g});
  };
  for (const size_t place : {3, 57, 58, 130, 199}) {
    EXPECT_FALSE(IsFinding(verdict({{place, 1}}))) << place;
  }
  EXPECT_FALSE(IsFinding(verdict({{20, 0.5}, {140, 0.5}})));
  EXPECT_EQ(verdict({{57, 2}}), Verdict::kGradientMismatch) << "mass doubled";
}

TEST(TiesTest, MaximumOfEqualOperandsSharesBetweenLeaves) {
  Build b;
  const Arg x = b.Leaf({3}, Values({1, 2, 5})), y = b.Leaf({3}, Values({1, 3, 4}));
  const Program p = b.Out(b.Op("maximum", {x, y}), One()).Done();
  EXPECT_EQ(WithGradient(p, {{0.5, 0, 1}, {0.5, 1, 0}}), Verdict::kAgree);
  EXPECT_EQ(WithGradient(p, {{1, 0, 1}, {0, 1, 0}}), Verdict::kConvention);
  EXPECT_EQ(WithGradient(p, {{1, 0, 1}, {1, 1, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{0, 0, 1}, {0, 1, 0}}), Verdict::kGradientMismatch);
}

TEST(TiesTest, Kinks) {
  EXPECT_EQ(WithGradient(Unary("abs", {0, 2, -3}), {{1, 1, -1}}), Verdict::kConvention);
  EXPECT_EQ(WithGradient(Unary("abs", {0, 2, -3}), {{-0.5, 1, -1}}), Verdict::kConvention);
  EXPECT_EQ(WithGradient(Unary("abs", {0, 2, -3}), {{2, 1, -1}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(Unary("abs", {0, 2, -3}), {{0, 1, 1}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(Unary("relu", {0, 2, -3}), {{1, 1, 0}}), Verdict::kConvention);
  EXPECT_EQ(WithGradient(Unary("relu", {0, 2, -3}), {{-1, 1, 0}}), Verdict::kGradientMismatch);
  const Program clamp = Unary("clamp", {1, 0.5, 3}, {Arg(0), Arg(1)});
  // Versions of torch differ in what the bound itself gets.
  const double own = (*EagerRung(clamp).draws[0].gradients[0])[0].item<double>();
  EXPECT_EQ(WithGradient(clamp, {{1 - own, 1, 0}}), Verdict::kConvention);
  EXPECT_EQ(WithGradient(clamp, {{1, 0, 0}}), Verdict::kGradientMismatch);
}

TEST(TiesTest, ForwardJumpsAtExactValuesAreNoChoice) {
  const auto output = [](const Program& p, std::vector<double> values) {
    return JudgeEdit(p,
                     [&](evaluate::Observation& o) {
                       o.outputs[0] =
                           at::tensor(values, at::kDouble).to(o.outputs[0].scalar_type());
                     })
        .verdict;
  };
  EXPECT_EQ(output(Unary("sgn", {0, 2}), {1, 1}), Verdict::kForwardMismatch);
  EXPECT_EQ(output(Unary("floor", {2, 0.5}), {1, 0}), Verdict::kForwardMismatch);
  EXPECT_EQ(output(Unary("ge", {2, 0.5}, {Arg(2)}), {0, 0}), Verdict::kForwardMismatch);
}

TEST(TiesTest, ForwardJumpsThatRoundingDecides) {
  // 0.1 * 3 / 0.3 is 1 but for rounding: floor may say 0 or 1.
  Build b;
  const Arg x = b.Leaf({2}, Values({0.1, 0.25})), y = b.Leaf({2}, Values({0.3, 0.5}));
  const Arg one = b.Op("div", {b.Op("mul", {x, Arg(3.0)}), y});
  const Program p = b.Out(b.Op("floor", {one})).Done();
  const at::Tensor eager = EagerRung(p).draws[0].outputs[0];
  const auto shifted = [&](int64_t element) {
    return JudgeEdit(p,
                     [&](evaluate::Observation& o) {
                       const double v = o.outputs[0][element].item<double>();
                       o.outputs[0][element] = element == 0 ? 1 - v : v + 1;
                     })
        .verdict;
  };
  EXPECT_EQ(shifted(0), Verdict::kIllConditioned);
  EXPECT_EQ(shifted(1), Verdict::kForwardMismatch);
}

TEST(TiesTest, OrderStatistics) {
  Build b;
  const Arg x = b.Leaf({5}, Values({2, 1, 2, 3, 1}));
  const Arg value = b.Op("topk", {x, Arg(2)}, {}, 2);
  const Program p = b.Out(value, Values({1, 10})).Done();
  // eager: 3 and one of the two 2s.
  EXPECT_NE(WithGradient(p, {{10, 0, 0, 1, 0}}), Verdict::kGradientMismatch);
  EXPECT_NE(WithGradient(p, {{0, 0, 10, 1, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{10, 0, 10, 1, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{0, 10, 0, 1, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{1, 0, 0, 10, 0}}), Verdict::kGradientMismatch);
}

// atan2(1, 2) and atan2(2, 4) are one number; in float32 and in vector or scalar code one may be
// an ULP smaller. Either or both may get the gradient; none may not.
TEST(TiesTest, NearTiesAfterAFunctionKeepTheirMass) {
  Build b;
  const Arg y = b.Leaf({1, 3}, Values({1, 2, 3})), x = b.Leaf({1, 3}, Values({2, 4, 1}));
  const Program p = b.Out(b.Op("amin", {b.Op("atan2", {y, x}), Arg::Ints({-1})}), One()).Done();
  // d atan2 / dy = x / (x^2 + y^2): 0.4 and 0.2; dx = -y / (x^2 + y^2): -0.2 and -0.1.
  EXPECT_FALSE(IsFinding(WithGradient(p, {{0.4, 0, 0}, {-0.2, 0, 0}})));
  EXPECT_FALSE(IsFinding(WithGradient(p, {{0, 0.2, 0}, {0, -0.1, 0}})));
  EXPECT_FALSE(IsFinding(WithGradient(p, {{0.2, 0.1, 0}, {-0.1, -0.05, 0}})));
  EXPECT_EQ(WithGradient(p, {{0, 0, 0}, {0, 0, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{0.4, 0.2, 0}, {-0.2, -0.1, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{0.4, 0, 0}, {0, -0.1, 0}}), Verdict::kGradientMismatch)
      << "one leaf chooses one, the other the other";
}

TEST(TiesTest, Bfloat16NearTies) {
  // exp of neighbours rounds to one bfloat16 number: eager splits, float32 inside does not.
  Build b(DType::kBFloat16);
  const Arg x = b.Leaf({3}, Values({0.5, 0.50390625, -1}));
  const Program p = b.Out(b.Op("amax", {b.Op("mul", {x, Arg(0.3)}), Arg::Ints({0})}), One()).Done();
  EXPECT_FALSE(IsFinding(WithGradient(p, {{0, 0.3, 0}})));
  EXPECT_FALSE(IsFinding(WithGradient(p, {{0.3, 0, 0}})));
  EXPECT_EQ(WithGradient(p, {{0, 0, 0}}), Verdict::kGradientMismatch);
  EXPECT_EQ(WithGradient(p, {{0.3, 0.3, 0}}), Verdict::kGradientMismatch);
}

TEST(TiesTest, TooManyTiesAreNotJudged) {
  Build b;
  const int64_t n = 200;
  const Program p = b.Out(b.Op("relu", {b.Leaf({n}, Ints(0, 0, 1))}), One()).Done();
  EXPECT_EQ(WithGradient(p, {std::vector<double>(n, 1.0)}), Verdict::kIllConditioned);
  EXPECT_EQ(WithGradient(p, {std::vector<double>(n, 2.0)}), Verdict::kGradientMismatch);
}

}  // namespace
}  // namespace gradfuzz::oracle
