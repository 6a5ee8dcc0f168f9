// SPDX-License-Identifier: BSD-3-Clause
// corpus/negative: programs on which compiled code differs from eager for good reasons, or is often
// said to. The files are made from the table here (GRADFUZZ_BLESS=1 rewrites them); the oracle is
// asked about honest variants of each: float64 rounded to the program's dtype, and rounding noise
// in every step.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "build.h"
#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/oracle/monte_carlo.h"
#include "gradfuzz/oracle/tolerance.h"
#include "gradfuzz/program/emit.h"

namespace gradfuzz::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Negative {
  const char* name;
  const char* title;
  Program (*make)();
};

Program Atan2Same() {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1));
  return b.Out(b.Op("atan2", {x, x})).Done();
}

Program LayerNormSum() {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1));
  return b.Out(b.Op("sum", {b.Op("nn.functional.layer_norm", {x, Arg::Ints({8})})})).Done();
}

Program LayerNormOver(int64_t n) {
  Build b;
  const Arg x = b.Leaf({5, n}, Normal(1, 1, 3));
  return b.Out(b.Op("nn.functional.layer_norm", {x, Arg::Ints({n})}), Normal(2)).Done();
}
Program LayerNormOne() { return LayerNormOver(1); }
Program LayerNormTwo() { return LayerNormOver(2); }

Program ReciprocalNearZero() {
  Build b;
  const Arg x = b.Leaf({8}, Values({1e-30, -1e-30, 3e-20, 1e-38, 0.0, -0.0, 1e-10, -7e-5}));
  return b.Out(b.Op("reciprocal", {x})).Done();
}

Program ExpLarge() {
  Build b;
  const Arg x = b.Leaf({8}, Values({87, 88.5, 88.7, 88.8, 100, -87, -100, -104}));
  return b.Out(b.Op("exp", {x})).Done();
}

Program SoftmaxHugeLogits() {
  Build b;
  const Arg x =
      b.Leaf({3, 4}, Values({1e4, 9999, -1e4, 0, 1e30, 1e30, 0, -1e30, 88, 89, 90, -kInf}));
  return b.Out(b.Op("softmax", {x, Arg(-1)}), Normal(2)).Done();
}

Program PowNearZero() {
  Build b;
  const Arg x = b.Leaf({6}, Values({0, 1e-30, 1e-12, 1e-5, 0.25, 1}));
  return b.Out(b.Op("pow", {x, Arg(1.5)})).Out(b.Op("pow", {x, Arg(0.5)})).Done();
}

Program ContractedDifference() {
  Build b;
  const Arg x = b.Leaf({4, 8}, Normal(1)), y = b.Leaf({4, 8}, Normal(2));
  const Arg u = b.Op("mul", {x, y});
  return b.Out(b.Op("mul", {b.Op("sub", {u, u}), Arg(1e4)})).Done();
}

Program CdistOfEqualPoints() {
  Build b;
  const Arg x = b.Leaf({5, 3}, Ints(0, 1, 1)), y = b.Leaf({6, 3}, Ints(0, 1, 2));
  return b.Out(b.Op("cdist", {x, y}), Normal(3)).Done();
}

Program SortTies() {
  Build b;
  const Arg x = b.Leaf({4, 9}, Ints(0, 2, 1));
  const Arg sorted = b.Op("sort", {x}, {{"dim", Arg(-1)}, {"stable", Arg(true)}}, 2);
  return b.Out(sorted, Normal(2)).Out(Arg::Value(sorted.As<program::ValueRef>().id + 1)).Done();
}

Program AmaxTies() {
  Build b;
  const Arg x = b.Leaf({5, 7}, Ints(0, 2, 1));
  return b.Out(b.Op("amax", {x, Arg::Ints({-1})}))
      .Out(b.Op("amin", {b.Op("sigmoid", {x}), Arg::Ints({0})}))
      .Done();
}

Program MaxTies() {
  Build b;
  const Arg x = b.Leaf({5, 7}, Ints(0, 2, 1));
  const Arg value = b.Op("max", {x}, {{"dim", Arg(1)}}, 2);
  return b.Out(value).Done();
}

Program VarOfConstant() {
  Build b;
  const Arg x = b.Leaf({3, 17}, Ints(3, 3, 1));
  const Arg y = b.Op("mul", {x, Arg(0.1)});
  return b.Out(b.Op("var", {y, Arg(-1)})).Out(b.Op("std", {x, Arg(-1)})).Done();
}

Program StdOfOne() {
  Build b;
  const Arg x = b.Leaf({3, 1}, Normal(1));
  return b.Out(b.Op("std", {x, Arg(-1)})).Done();
}

Program CumprodWithZeros() {
  Build b;
  const Arg x = b.Leaf({4, 9}, Ints(-2, 2, 1));
  return b.Out(b.Op("cumprod", {x, Arg(-1)})).Out(b.Op("prod", {x, Arg(-1)})).Done();
}

Program Bfloat16Chain() {
  Build b(DType::kBFloat16);
  const Arg x = b.Leaf({4, 16}, Normal(1)), y = b.Leaf({4, 16}, Normal(2));
  const Arg u = b.Op("mul", {b.Op("exp", {b.Op("sin", {x})}), y});
  const Arg v = b.Op("add", {b.Op("sigmoid", {u}), b.Op("mul", {u, x})});
  return b.Out(b.Op("mean", {v, Arg(-1)}), Normal(3)).Done();
}

Program Bfloat16Softmax() {
  Build b(DType::kBFloat16);
  const Arg x = b.Leaf({4, 16}, Normal(1, 3));
  return b.Out(b.Op("log_softmax", {b.Op("mul", {x, Arg(0.7)}), Arg(-1)}), Normal(3)).Done();
}

// Column-major, so that compiled code adds in another order than eager.
Program Bfloat16Scatter() {
  Build b(DType::kBFloat16);
  const Arg x = b.Leaf({24, 4}, Normal(1));
  const Arg at = b.Leaf({24, 4}, Ints(0, 2, 7), false, DType::kInt64);
  Program p = b.Out(b.Op("scatter_reduce", {x, Arg(0), at, x, Arg("sum")}), Normal(2)).Done();
  p.leaves[0].strides = {1, 24};
  return p;
}

Program Float16Chain() {
  Build b(DType::kFloat16);
  const Arg x = b.Leaf({4, 16}, Normal(1)), y = b.Leaf({4, 16}, Normal(2));
  return b.Out(b.Op("tanh", {b.Op("sub", {b.Op("mul", {x, y}), b.Op("mul", {y, x})})})).Done();
}

Program NormAtZero() {
  Build b;
  const Arg x = b.Leaf({3, 4}, Values({0, 0, 0, 0, 1, 2, 3, 4, 0, -0.0, 0, 0}));
  return b.Out(b.Op("linalg.vector_norm", {x}, {{"dim", Arg(-1)}})).Done();
}

Program SinOfLarge() {
  Build b;
  const Arg x = b.Leaf({16}, Normal(1));
  return b.Out(b.Op("sin", {b.Op("mul", {x, Arg(1e5)})})).Done();
}

Program CancellingSum() {
  Build b;
  const Arg x = b.Leaf({1001}, Normal(1)), y = b.Leaf({1001}, Normal(2));
  const Arg u = b.Op("mul", {x, y});
  return b.Out(b.Op("sum", {b.Op("cat", {Arg(program::ArgList{u, b.Op("neg", {u})})})})).Done();
}

Program CancellingMatmul() {
  Build b;
  const Arg x = b.Leaf({7, 33}, Normal(1, 1, 10)), y = b.Leaf({33, 5}, Normal(2));
  const Arg left = b.Op("matmul", {b.Op("add", {x, Arg(1)}), y});
  return b
      .Out(b.Op("sub", {left, b.Op("add", {b.Op("matmul", {x, y}), b.Op("sum", {y, Arg(0)})})}),
           Normal(3))
      .Done();
}

Program LogSoftmaxOfOne() {
  Build b;
  const Arg x = b.Leaf({4, 1}, Normal(1, 5));
  return b.Out(b.Op("log_softmax", {x, Arg(-1)}), Normal(2)).Done();
}

Program LogSumExpDominated() {
  Build b;
  const Arg x = b.Leaf({4, 3}, Values({0, -17, -18, 0, -30, -40, 1e-4, -20, -90, -kInf, -kInf, 3}));
  return b.Out(b.Op("logsumexp", {x, Arg(-1)})).Done();
}

Program AcosNearOne() {
  Build b;
  const Arg x = b.Leaf({8}, Normal(1, 1, 4));
  return b.Out(b.Op("acos", {b.Op("div", {x, b.Op("add", {x, Arg(1e-6)})})})).Done();
}

Program Kinks() {
  Build b;
  const Arg x = b.Leaf({16}, Ints(-1, 1, 1));
  return b.Out(b.Op("abs", {x}))
      .Out(b.Op("relu", {x}))
      .Out(b.Op("clamp", {x, Arg(-1), Arg(0)}))
      .Out(b.Op("maximum", {x, b.Op("neg", {x})}))
      .Done();
}

Program ReluOfRoundingNoise() {
  Build b;
  const Arg x = b.Leaf({16}, Normal(1));
  const Arg back = b.Op("div", {b.Op("mul", {x, Arg(0.7)}), Arg(0.7)});
  return b.Out(b.Op("mul", {b.Op("sub", {back, x}), Arg(1e3)})).Done();
}

Program GeluTail() {
  Build b;
  const Arg x = b.Leaf({32}, Normal(1, 1, -6));
  return b.Out(b.Op("nn.functional.gelu", {x})).Done();
}

Program SqrtAtZero() {
  Build b;
  const Arg x = b.Leaf({5}, Values({0, 1e-38, 1e-20, 1, 4}));
  return b.Out(b.Op("sqrt", {x})).Done();
}

Program SinSquaredPlusCosSquared() {
  Build b;
  const Arg x = b.Leaf({4, 9}, Normal(1, 3));
  const Arg s = b.Op("sin", {x}), c = b.Op("cos", {x});
  return b.Out(b.Op("add", {b.Op("mul", {s, s}), b.Op("mul", {c, c})})).Done();
}

Program InterpolateCoordinates() {
  Build b;
  const Arg x = b.Leaf({1, 1, 50, 3}, Normal(1, 30));
  const auto call = [&](std::vector<int64_t> size, const char* mode, bool align) {
    return b.Op(
        "nn.functional.interpolate", {x},
        {{"size", Arg::Ints(std::move(size))}, {"mode", Arg(mode)}, {"align_corners", Arg(align)}});
  };
  const Arg cubic = call({23, 7}, "bicubic", false), linear = call({37, 2}, "bilinear", true);
  return b.Out(cubic, Normal(2)).Out(linear, Normal(3)).Done();
}

Program SoftMarginTail(DType dtype) {
  Build b(dtype);
  const Arg x = b.Leaf({8}, Values({-40, -3, 0, 5, 12, 17, 40, 62}));
  const Arg target = b.Leaf({8}, Ints(1, 1, 1), false);
  return b.Out(b.Op("nn.functional.soft_margin_loss", {x, target})).Done();
}
Program SoftMarginTail() { return SoftMarginTail(DType::kFloat32); }
Program Bfloat16SoftMarginTail() { return SoftMarginTail(DType::kBFloat16); }

const Negative kNegatives[] = {
    {"acos_near_one", "acos of a quotient that is 1 but for rounding", AcosNearOne},
    {"amax_ties", "amax and amin of equal elements", AmaxTies},
    {"atan2_same", "gradient of atan2(x, x) cancels to 0", Atan2Same},
    {"bf16_chain", "bfloat16 intermediates may stay in float32", Bfloat16Chain},
    {"bf16_scatter", "bfloat16 partial sums of a scatter cancel, in any order", Bfloat16Scatter},
    {"bf16_softmax", "bfloat16 log_softmax after a scaling", Bfloat16Softmax},
    {"bf16_soft_margin_tail", "bfloat16 slope of soft_margin_loss: sigmoid - 1 in float32",
     Bfloat16SoftMarginTail},
    {"cancelling_matmul", "(x + 1) y - (x y + sum y) cancels", CancellingMatmul},
    {"cancelling_sum", "a sum over u and -u", CancellingSum},
    {"cdist_equal_points", "cdist of equal points: the gradient at distance 0", CdistOfEqualPoints},
    {"contracted_difference", "u - u with u = x * y may be contracted", ContractedDifference},
    {"cumprod_zeros", "cumprod and prod with zeros", CumprodWithZeros},
    {"exp_large", "exp at the edges of overflow and underflow", ExpLarge},
    {"fp16_chain", "float16 difference of equal products", Float16Chain},
    {"gelu_tail", "gelu far below 0: 1 + erf cancels", GeluTail},
    {"interpolate", "interpolation coordinates and weights are rounded in the kernel",
     InterpolateCoordinates},
    {"kinks", "abs, relu, clamp and maximum at their kinks", Kinks},
    {"layer_norm_one", "layer_norm over one element", LayerNormOne},
    {"layer_norm_sum", "the sum of layer_norm has gradient 0", LayerNormSum},
    {"layer_norm_two", "layer_norm over two elements", LayerNormTwo},
    {"log_softmax_one", "log_softmax over one element", LogSoftmaxOfOne},
    {"logsumexp_dominated", "logsumexp near 0, with one large term", LogSumExpDominated},
    {"max_ties", "max over a dimension with equal elements", MaxTies},
    {"norm_at_zero", "norm of rows of zeros", NormAtZero},
    {"pow_near_zero", "pow at 0 and close to it", PowNearZero},
    {"reciprocal_near_zero", "1/x near 0 and at both zeros", ReciprocalNearZero},
    {"rounding_noise", "x * 0.7 / 0.7 - x is noise", ReluOfRoundingNoise},
    {"sin2_cos2", "sin^2 + cos^2 has gradient 0", SinSquaredPlusCosSquared},
    {"sin_large", "sin of large arguments", SinOfLarge},
    {"soft_margin_tail", "slope of soft_margin_loss: sigmoid - 1 cancels", SoftMarginTail},
    {"softmax_huge_logits", "softmax of huge and infinite logits", SoftmaxHugeLogits},
    {"sort_ties", "sort of equal elements", SortTies},
    {"sqrt_at_zero", "infinite slope of sqrt at 0", SqrtAtZero},
    {"std_of_one", "std of one element is NaN", StdOfOne},
    {"var_constant", "var and std of constant rows", VarOfConstant},
};

// Stands for torch.nn.functional.interpolate, which only Python knows.
Result<std::vector<at::Tensor>> Interpolate(const program::Statement& statement,
                                            std::span<const at::Tensor> values) {
  const auto& mode = statement.kwargs[1].second.As<std::string>();
  const at::Tensor& x = values[static_cast<size_t>(statement.args[0].As<program::ValueRef>().id)];
  std::vector<int64_t> size;
  for (const Arg& n : statement.kwargs[0].second.As<program::ArgList>()) {
    size.push_back(n.As<int64_t>());
  }
  const bool align = statement.kwargs[2].second.As<bool>();
  return std::vector<at::Tensor>{mode == "bicubic" ? at::upsample_bicubic2d(x, size, align)
                                                   : at::upsample_bilinear2d(x, size, align)};
}

class NegativeTest : public testing::TestWithParam<Negative> {
 protected:
  void SetUp() override { evaluate::SetPythonCall(Interpolate); }
  void TearDown() override { evaluate::SetPythonCall(nullptr); }
};

TEST_P(NegativeTest, FileIsUpToDate) {
  const Negative& negative = GetParam();
  const std::string path =
      std::string(GRADFUZZ_SOURCE_DIR) + "/corpus/negative/" + negative.name + ".py";
  std::string text = std::string("# title: ") + negative.title + "\n";
  for (const char* rung : {"eager", "aot_eager", "aot_eager_decomp_partition", "inductor"}) {
    text += std::string("# expect: * cpu ") + rung + " agree\n";
  }
  text += program::EmitModule(negative.make());
  if (std::getenv("GRADFUZZ_BLESS") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  std::stringstream found;
  found << file.rdbuf();
  EXPECT_EQ(found.str(), text) << "GRADFUZZ_BLESS=1 rewrites " << path;
}

void ExpectSilent(const Program& p, const evaluate::Observation& wide, const std::string& how) {
  const Outcome outcome = JudgeEdit(p, [&](evaluate::Observation& o) {
    const auto take = [](at::Tensor* to, const at::Tensor& from) {
      *to = from.to(to->scalar_type());
    };
    for (size_t i = 0; i < o.outputs.size(); ++i) take(&o.outputs[i], wide.outputs[i]);
    for (size_t i = 0; i < o.gradients.size(); ++i) {
      if (o.gradients[i]) take(&*o.gradients[i], *wide.gradients[i]);
    }
  });
  EXPECT_FALSE(IsFinding(outcome.verdict)) << how << "\n"
                                           << ToJson(outcome).dump(1).substr(0, 3000);
}

TEST_P(NegativeTest, EagerAgreesWithItself) {
  const Program p = GetParam().make();
  const Outcome outcome = JudgeTwo(p, EagerRung(p, "inductor"));
  EXPECT_EQ(outcome.verdict, Verdict::kAgree) << ToJson(outcome).dump(1).substr(0, 3000);
}

TEST_P(NegativeTest, Float64IsSilent) {
  const Program p = GetParam().make();
  ExpectSilent(p, evaluate::Reference(p, {}), "float64");
}

TEST_P(NegativeTest, RoundingNoiseIsSilent) {
  const Program p = GetParam().make();
  const Precision precision = PrecisionOf(p);
  for (uint64_t seed = 1000; seed < 1008; ++seed) {
    ReplayOptions options;
    options.noise = true;
    options.seed = seed;
    ExpectSilent(p, RunReplay(p, precision, options).observation, "noise " + std::to_string(seed));
  }
}

// What a scatter adds to one place, it adds in any order, storing each partial sum.
TEST(ScatterOrderTest, AnyOrderIsSilent) {
  const std::vector<std::string> ops = {"scatter_add", "scatter_reduce", "index_add", "index_put",
                                        "Tensor.scatter_add_"};
  for (const std::string& op : ops) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
      for (uint64_t seed = 1; seed <= 40; ++seed) {
        Build b(dtype);
        // Large terms that cancel, row 4 + r those of row r, and small ones: partial sums are
        // larger than the sum.
        std::vector<double> terms, places;
        for (int i = 0; i < 27; ++i) {
          const double large = 3 * std::sin(static_cast<double>(seed) + i % 12);
          terms.push_back(i < 12 ? large : i < 24 ? -large : large / 64);
        }
        const bool rows = op.find("index") == 0;
        for (int i = 0; i < 27; i += rows ? 3 : 1) places.push_back(i / 3 % 4 % 2);
        const Arg x = b.Leaf({2, 3}, Normal(seed, 0.02), false);
        const Arg from = b.Leaf({9, 3}, Values(terms), false);
        const Arg at = b.Leaf(rows ? std::vector<int64_t>{9} : std::vector<int64_t>{9, 3},
                              Values(places), false, DType::kInt64);
        const auto call = [&]() -> program::ArgList {
          if (op == "index_put") return {x, Arg(program::ArgList{at}), from, Arg(true)};
          if (op == "scatter_reduce") return {x, Arg(0), at, from, Arg("sum")};
          return {x, Arg(0), at, from};
        };
        const Program p = b.Out(b.Op(op, call())).Done();
        const std::vector<at::Tensor> in =
            evaluate::MakeInputs(p.storages, p.leaves, 0, at::kCPU).leaves;
        at::Tensor sums = in[0].clone();
        const at::Tensor where = rows ? in[2].unsqueeze(1).expand({9, 3}).contiguous() : in[2];
        for (int64_t r = 8; r >= 0; --r) {  // each partial sum is stored
          sums.scatter_add_(0, where.narrow(0, r, 1), in[1].narrow(0, r, 1));
        }
        const Outcome outcome = JudgeEdit(p, [&](evaluate::Observation& o) {
          o.outputs[0] = sums;
          if (op.ends_with('_')) o.storages_after[0] = sums.flatten();
        });
        EXPECT_FALSE(IsFinding(outcome.verdict))
            << op << " " << program::Info(dtype).name << " seed " << seed << "\n"
            << ToJson(outcome).dump(1).substr(0, 2000);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NegativeTest, testing::ValuesIn(kNegatives),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace gradfuzz::oracle
