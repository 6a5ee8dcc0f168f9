// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/compare.h"

#include <cmath>
#include <limits>

#include "build.h"
#include "gradfuzz/oracle/elements.h"
#include "gradfuzz/oracle/tolerance.h"

namespace gradfuzz::oracle {
namespace {

using evaluate::Observation;

constexpr Quantity kOut0 = {Quantity::Kind::kOutput, 0};
constexpr Quantity kGrad0 = {Quantity::Kind::kGradient, 0};

// One leaf x0 of four elements, one output.
Program Neg() {
  Build b;
  return b.Out(b.Op("neg", {b.Leaf({2, 2}, Ints(-4, 4, 1))})).Done();
}

Observation Hand(const at::Tensor& output, std::optional<at::Tensor> gradient) {
  Observation o;
  o.outputs = {output};
  o.output_requires_grad = {true};
  o.gradients = {std::move(gradient)};
  o.storages_after = {at::zeros({4})};
  o.aliases_storage = {-1};
  o.aliases_output = {0};
  return o;
}

Observation Plain() { return Hand(at::ones({2, 2}), at::ones({2, 2})); }

CheapResult Compare(const Observation& got, const Quantity& quantity = kOut0,
                    CheapOptions options = {}) {
  return CompareCheaply(Neg(), quantity, Plain(), got, options);
}

TEST(CompareCheaplyTest, TheSameAgrees) {
  EXPECT_EQ(Compare(Plain()).verdict, Verdict::kAgree);
  EXPECT_FALSE(Compare(Plain()).suspicious);
  EXPECT_FALSE(Compare(Plain(), kGrad0).suspicious);
}

TEST(CompareCheaplyTest, NoneIsNotZeros) {
  Observation got = Plain();
  got.gradients[0].reset();
  EXPECT_EQ(Compare(got, kGrad0).verdict, Verdict::kMissingGradient);
  // The reverse: eager has None, compiled zeros.
  Observation zeros = Plain();
  zeros.gradients[0] = at::zeros({2, 2});
  const CheapResult reverse = CompareCheaply(Neg(), kGrad0, got, zeros, {});
  EXPECT_EQ(reverse.verdict, Verdict::kMissingGradient);
  EXPECT_EQ(reverse.note, "zeros, where eager has None");
  zeros.gradients[0]->fill_(1);
  EXPECT_EQ(CompareCheaply(Neg(), kGrad0, got, zeros, {}).note, "a gradient, where eager has None");
  EXPECT_EQ(CompareCheaply(Neg(), kGrad0, got, got, {}).verdict, Verdict::kAgree);
}

TEST(CompareCheaplyTest, ShapeAndDtype) {
  EXPECT_EQ(Compare(Hand(at::ones({4}), at::ones({2, 2}))).note, "shape [4] instead of [2, 2]");
  EXPECT_EQ(Compare(Hand(at::ones({2, 2}), at::ones({4})), kGrad0).verdict,
            Verdict::kMetadataMismatch);
  EXPECT_EQ(Compare(Hand(at::ones({2, 2}, at::kDouble), at::ones({2, 2}))).verdict,
            Verdict::kMetadataMismatch);
  EXPECT_EQ(Compare(Hand(at::ones({2, 2}), at::ones({2, 2}, at::kDouble)), kGrad0).verdict,
            Verdict::kMetadataMismatch);
}

TEST(CompareCheaplyTest, StridesOfOutputsOnly) {
  const at::Tensor turned = at::ones({2, 2}).t();
  EXPECT_EQ(Compare(Hand(turned, at::ones({2, 2}))).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(Compare(Hand(turned, at::ones({2, 2})), kOut0, {.strides = false}).verdict,
            Verdict::kAgree);
  EXPECT_EQ(Compare(Hand(at::ones({2, 2}), turned), kGrad0).verdict, Verdict::kAgree);
  // A buffer shared by all elements where eager's are apart.
  EXPECT_EQ(Compare(Hand(at::ones({1, 1}).expand({2, 2}), at::ones({2, 2}))).verdict,
            Verdict::kMetadataMismatch);
}

TEST(CompareCheaplyTest, StridesThatMeanNothing) {
  Observation eager = Hand(at::ones({1, 4}).as_strided({1, 4}, {4, 1}), at::ones({2, 2}));
  Observation got = Hand(at::ones({1, 4}).as_strided({1, 4}, {1, 1}), at::ones({2, 2}));
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, eager, got, {}).verdict, Verdict::kAgree);
  // Eager's own output overlaps itself: any layout will do.
  eager = Hand(at::ones({1, 1}).expand({2, 2}), at::ones({2, 2}));
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, eager, Plain(), {}).verdict, Verdict::kAgree);
}

TEST(CompareCheaplyTest, RequiresGradOfOutputs) {
  Observation got = Plain();
  got.output_requires_grad[0] = false;
  EXPECT_EQ(Compare(got).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, got, Plain(), {}).verdict, Verdict::kMetadataMismatch);
}

TEST(CompareCheaplyTest, AliasingOfInputs) {
  Observation aliased = Plain();
  aliased.aliases_storage[0] = 0;
  EXPECT_EQ(Compare(aliased).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, aliased, Plain(), {}).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, aliased, aliased, {}).verdict, Verdict::kAgree);
}

TEST(CompareCheaplyTest, AliasingOfOutputs) {
  Build b;
  const Arg x = b.Leaf({2, 2}, Ints(-4, 4, 1));
  const Program two = b.Out(b.Op("neg", {x})).Out(b.Op("abs", {x})).Done();
  Observation apart = Plain();
  apart.outputs.push_back(at::ones({2, 2}));
  apart.output_requires_grad.push_back(true);
  apart.aliases_storage.push_back(-1);
  apart.aliases_output.push_back(1);
  Observation together = apart;
  together.aliases_output[1] = 0;
  const Quantity out1 = {Quantity::Kind::kOutput, 1};
  EXPECT_EQ(CompareCheaply(two, out1, apart, together, {}).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(CompareCheaply(two, out1, together, apart, {}).verdict, Verdict::kMetadataMismatch);
  EXPECT_EQ(CompareCheaply(two, out1, together, together, {}).verdict, Verdict::kAgree);
}

TEST(CompareCheaplyTest, BandIsFourUlp) {
  for (const int n : {2, 4, -3}) {
    EXPECT_FALSE(Compare(Hand(Ulps(at::ones({2, 2}), n), at::ones({2, 2}))).suspicious) << n;
  }
  EXPECT_TRUE(Compare(Hand(Ulps(at::ones({2, 2}), 5), at::ones({2, 2}))).suspicious);
  EXPECT_TRUE(Compare(Hand(Ulps(at::ones({2, 2}), 1), at::ones({2, 2})), kOut0, {.exact = true})
                  .suspicious);
}

TEST(CompareCheaplyTest, BandIsPerElement) {
  // A lost element that is tiny beside its neighbours.
  Observation eager = Plain();
  eager.outputs[0] = at::tensor({1e6, 1.0, 1e-6, 0.0}, at::kFloat).reshape({2, 2});
  Observation got = eager;
  got.outputs[0] = at::tensor({1e6, 1.0, 0.0, 0.0}, at::kFloat).reshape({2, 2});
  EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, got, {}).suspicious);
  got.outputs[0] = at::tensor({1e6, 1.0, 1e-6, 1e-20}, at::kFloat).reshape({2, 2});
  EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, got, {}).suspicious);
}

TEST(CompareCheaplyTest, LowPrecisionBandIsOneUlp) {
  const auto bf16 = [](double v) { return at::full({2, 2}, v, at::kBFloat16); };
  Observation eager = Hand(bf16(1), at::ones({2, 2}));
  EXPECT_FALSE(CompareCheaply(Neg(), kOut0, eager, Hand(bf16(1 + 0.0078125), at::ones({2, 2})), {})
                   .suspicious);
  EXPECT_TRUE(
      CompareCheaply(Neg(), kOut0, eager, Hand(bf16(1.015625), at::ones({2, 2})), {}).suspicious);
}

TEST(CompareCheaplyTest, NaNAndInfinityPlaces) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto out = [](std::vector<double> v) {
    return Hand(at::tensor(v, at::kFloat).reshape({2, 2}), at::ones({2, 2}));
  };
  const Observation eager = out({nan, inf, -inf, 1});
  EXPECT_FALSE(CompareCheaply(Neg(), kOut0, eager, out({nan, inf, -inf, 1}), {}).suspicious);
  for (const auto& values : std::vector<std::vector<double>>{{inf, inf, -inf, 1},
                                                             {nan, nan, -inf, 1},
                                                             {nan, inf, inf, 1},
                                                             {nan, inf, -inf, nan},
                                                             {1, inf, -inf, 1}}) {
    EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, out(values), {}).suspicious);
  }
}

TEST(CompareCheaplyTest, IntegersAndBooleansAreExact) {
  const at::Tensor a = at::arange(4).reshape({2, 2});
  Observation eager = Hand(a, std::nullopt);
  EXPECT_FALSE(CompareCheaply(Neg(), kOut0, eager, Hand(a.clone(), std::nullopt), {}).suspicious);
  EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, Hand(a + 1, std::nullopt), {}).suspicious);
  const at::Tensor big = at::full({2, 2}, int64_t{1} << 60);
  eager = Hand(big, std::nullopt);
  EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, Hand(big + 1, std::nullopt), {}).suspicious);
}

TEST(CompareCheaplyTest, ComplexBandIsOfTheModulus) {
  const at::Tensor z = at::complex(at::ones({2, 2}), at::full({2, 2}, 1e-7));
  const at::Tensor near = at::complex(at::ones({2, 2}), at::full({2, 2}, 2e-7));
  const at::Tensor far = at::complex(at::ones({2, 2}), at::full({2, 2}, 2e-6));
  const Observation eager = Hand(z, std::nullopt);
  EXPECT_FALSE(CompareCheaply(Neg(), kOut0, eager, Hand(near, std::nullopt), {}).suspicious);
  EXPECT_TRUE(CompareCheaply(Neg(), kOut0, eager, Hand(far, std::nullopt), {}).suspicious);
}

TEST(SignOfZeroTest, CountsOnlyWhereTheProgramDefinesIt) {
  const at::Tensor plus = at::zeros({2, 2});
  const at::Tensor minus = at::zeros({2, 2}).neg();
  const Observation eager = Hand(plus, std::nullopt), got = Hand(minus, std::nullopt);
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, eager, got, {}).verdict, Verdict::kForwardMismatch);
  EXPECT_EQ(CompareCheaply(Neg(), kOut0, eager, eager, {}).verdict, Verdict::kAgree);
  Build b;
  const Program sum = b.Out(b.Op("sub", {b.Leaf({2, 2}, Ints(0, 1, 1)), Arg(1.0)})).Done();
  EXPECT_EQ(CompareCheaply(sum, kOut0, eager, got, {}).verdict, Verdict::kAgree);
}

TEST(SignOfZeroTest, OneAdditionOnTheWayUndefinesIt) {
  Build b;
  const Arg x = b.Leaf({2, 2}, Ints(-1, 1, 1)), y = b.Leaf({2, 2}, Ints(-1, 1, 2));
  const Arg moved = b.Op("transpose", {b.Op("copysign", {x, y}), Arg(0), Arg(1)});
  b.Out(moved).Out(b.Op("neg", {b.Op("add", {x, y})}));
  const Program p = b.Done();
  EXPECT_TRUE(DefinesSignOfZero(p, 0));
  EXPECT_FALSE(DefinesSignOfZero(p, 1));
}

TEST(SignOfZeroTest, WritesInPlaceUndefineIt) {
  Build b;
  const Arg x = b.Leaf({2, 2}, Ints(-1, 1, 1), false);
  const Arg y = b.Op("neg", {x});
  b.Op("Tensor.add_", {y, Arg(1)});
  EXPECT_FALSE(DefinesSignOfZero(b.Out(y).Done(), 0));
}

TEST(AssertCloseTest, DefaultsPerDtype) {
  const auto close = [](at::ScalarType type, double a, double b) {
    return AssertClose(at::full({1}, a, type), at::full({1}, b, type));
  };
  EXPECT_TRUE(close(at::kFloat, 1, 1 + 1e-5));
  EXPECT_FALSE(close(at::kFloat, 1, 1 + 2e-5));
  EXPECT_TRUE(close(at::kFloat, 1000, 1000 + 1.2e-3));
  EXPECT_FALSE(close(at::kFloat, 1000, 1000 + 1.5e-3));
  EXPECT_TRUE(close(at::kDouble, 1, 1 + 1.9e-7));
  EXPECT_FALSE(close(at::kDouble, 1, 1 + 2.1e-7));
  EXPECT_TRUE(close(at::kBFloat16, 1, 1.015625));
  EXPECT_FALSE(close(at::kBFloat16, 1, 1.0234375));
  EXPECT_TRUE(close(at::kHalf, 1, 1.0009765625));
  EXPECT_FALSE(close(at::kHalf, 1, 1.001953125));
  EXPECT_FALSE(close(at::kLong, 1, 2));
  EXPECT_TRUE(close(at::kFloat, std::nan(""), std::nan("")));
  EXPECT_FALSE(close(at::kFloat, 1, std::nan("")));
}

}  // namespace
}  // namespace gradfuzz::oracle
