// SPDX-License-Identifier: BSD-3-Clause
// Element by element: one, two or three operands.
#include "build.h"

namespace gradfuzz::ops {
namespace {

struct UnaryRow {
  const char* name;
  uint32_t traits = 0;
  Domain domain = Domain::kAny;
  double weight = 0.7;
};

constexpr uint32_t kMath = kTranscendental;

constexpr UnaryRow kUnary[] = {
    {"sin", kMath, Domain::kModerate, 1},
    {"cos", kMath, Domain::kModerate, 1},
    {"tan", kMath, Domain::kUnit},
    {"asin", kMath, Domain::kUnitOpen},
    {"acos", kMath, Domain::kUnitOpen},
    {"atan", kMath, Domain::kAny, 1},
    {"sinh", kMath, Domain::kModerate},
    {"cosh", kMath, Domain::kModerate},
    {"tanh", kMath, Domain::kAny, 1},
    {"asinh", kMath, Domain::kAny, 1},
    {"acosh", kMath, Domain::kAtLeastOne},
    {"atanh", kMath, Domain::kUnitOpen},
    {"exp", kMath, Domain::kModerate, 1},
    {"exp2", kMath, Domain::kModerate},
    {"expm1", kMath, Domain::kModerate},
    {"log", kMath, Domain::kPositive, 1},
    {"log2", kMath, Domain::kPositive},
    {"log10", kMath, Domain::kPositive},
    {"log1p", kMath, Domain::kPositive},
    {"sqrt", kMath, Domain::kPositive, 1},
    {"rsqrt", kMath, Domain::kPositive},
    {"reciprocal", 0, Domain::kNonZero},
    {"square", kArithmetic},
    {"neg", kMove},
    {"positive", kMove, Domain::kAny, 0.1},
    {"abs", kExact | kExactOnIntegers | kHasKinks},
    {"sgn", kExact | kExactOnIntegers | kJumps, Domain::kAny, 0.2},
    {"erf", kMath, Domain::kAny, 1},
    {"erfc", kMath, Domain::kModerate},
    {"erfinv", kMath, Domain::kUnitOpen},
    {"lgamma", kMath, Domain::kPositive},
    {"digamma", kMath, Domain::kPositive},
    {"sigmoid", kMath, Domain::kAny, 1},
    {"sinc", kMath, Domain::kModerate},
    {"deg2rad", kLinear, Domain::kAny, 0.3},
    {"rad2deg", kLinear, Domain::kModerate, 0.3},
    {"relu", kExact | kExactOnIntegers | kHasKinks, Domain::kAny, 1},
    {"selu", kMath | kHasKinks},
    {"floor", kExact | kExactOnIntegers | kJumps, Domain::kAny, 0.2},
    {"ceil", kExact | kExactOnIntegers | kJumps, Domain::kAny, 0.2},
    {"trunc", kExact | kExactOnIntegers | kJumps, Domain::kAny, 0.2},
    {"round", kExact | kExactOnIntegers | kJumps, Domain::kAny, 0.2},
    {"frac", kJumps, Domain::kAny, 0.3},
    {"nan_to_num", kMove, Domain::kAny, 0.3},
    {"special.entr", kMath, Domain::kPositive, 0.4},
    {"special.erfcx", kMath, Domain::kModerate, 0.4},
    {"special.i0", kMath, Domain::kModerate, 0.4},
    {"special.i0e", kMath, Domain::kModerate, 0.4},
    {"special.i1", kMath, Domain::kModerate, 0.4},
    {"special.i1e", kMath, Domain::kModerate, 0.4},
    {"special.ndtr", kMath, Domain::kModerate, 0.4},
    {"special.ndtri", kMath, Domain::kUnitOpen, 0.4},
    {"special.log_ndtr", kMath, Domain::kModerate, 0.4},
    {"nn.functional.silu", kMath},
    {"nn.functional.mish", kMath},
    {"nn.functional.relu6", kExact | kExactOnIntegers | kHasKinks},
    {"nn.functional.hardswish", kHasKinks},
    {"nn.functional.hardsigmoid", kHasKinks},
    {"clone", kMove, Domain::kAny, 0.3},
    {"detach", kExact | kExactOnIntegers, Domain::kAny, 0.15},
};

struct BinaryRow {
  const char* name;
  uint32_t traits = 0;
  Domain first = Domain::kAny;
  Domain second = Domain::kAny;
  double weight = 0.8;
};

constexpr BinaryRow kBinary[] = {
    {"mul", kArithmetic, Domain::kAny, Domain::kAny, 2},
    {"div", 0, Domain::kAny, Domain::kNonZero, 1},
    {"atan2", kMath, Domain::kNonZero, Domain::kNonZero, 1.5},
    {"hypot", kMath, Domain::kNonZero, Domain::kAny, 1},
    {"copysign", kHasKinks, Domain::kAny, Domain::kNonZero, 1},
    {"pow", kMath, Domain::kPositive, Domain::kAny, 0.8},
    {"float_power", kMath, Domain::kPositive, Domain::kAny, 0.3},
    {"maximum", kExact | kHasKinks},
    {"minimum", kExact | kHasKinks},
    {"fmax", kExact | kHasKinks, Domain::kAny, Domain::kAny, 0.5},
    {"fmin", kExact | kHasKinks, Domain::kAny, Domain::kAny, 0.5},
    {"remainder", kJumps, Domain::kAny, Domain::kNonZero, 0.4},
    {"fmod", kJumps, Domain::kAny, Domain::kNonZero, 0.4},
    {"logaddexp", kMath, Domain::kModerate, Domain::kModerate},
    {"logaddexp2", kMath, Domain::kModerate, Domain::kModerate, 0.5},
    {"xlogy", kMath, Domain::kAny, Domain::kPositive, 0.6},
    {"special.xlog1py", kMath, Domain::kAny, Domain::kPositive, 0.4},
};

constexpr const char* kCompare[] = {"gt", "lt", "ge", "le", "eq", "ne"};

Param Positive() { return Float({2, 1, 3, 0.5, 1.5, 0.3}); }

std::vector<OpRecord> Activations() {
  const auto fn = [](const char* name, uint32_t traits, std::vector<Param> params,
                     double weight = 0.7) {
    return OpRecord{.name = name, .traits = traits, .params = std::move(params), .weight = weight};
  };
  std::vector<OpRecord> records = {
      fn("nn.functional.gelu", kMath, {T(), Opt(0.4, Kw("approximate", Choice({"tanh", "none"})))},
         1),
      fn("nn.functional.elu", kMath | kHasKinks, {T(), Opt(0.6, Kw("alpha", Positive()))}),
      fn("nn.functional.celu", kMath | kHasKinks, {T(), Opt(0.6, Kw("alpha", Positive()))}, 0.5),
      fn("nn.functional.softplus", kMath,
         {T(), Opt(0.5, Kw("beta", Positive())), Opt(0.4, Kw("threshold", Float({20, 5, 1})))}),
      fn("nn.functional.hardtanh", kExact | kExactOnIntegers | kHasKinks,
         {T(), Opt(0.6, Kw("min_val", Float({-2, -1, -0.5, 0}))),
          Opt(0.6, Kw("max_val", Float({2, 1, 3, 0.5})))}),
      fn("nn.functional.leaky_relu", kExactOnIntegers | kHasKinks,
         {T(), Kw("negative_slope", Float({2, -1, 0.1, 0.01, 0.5}))}),
      fn("nn.functional.logsigmoid", kMath, {T()}),
      fn("nn.functional.softshrink", kHasKinks, {T(), Opt(0.7, Kw("lambd", Float({1, 0.25, 0.7})))},
         0.5),
      fn("nn.functional.hardshrink", kHasKinks | kJumps,
         {T(), Opt(0.7, Kw("lambd", Float({1, 0.25, 0.7})))}, 0.5),
      fn("nn.functional.threshold", kExact | kExactOnIntegers | kJumps,
         {T(), Float({0, 1, -1, 0.5}), Float({0, -2, 3, 0.25})}, 0.5),
      fn("nn.functional.glu", kMath, {Shaped({Free(), Exactly(4)}), Opt(0.5, Kw("dim", Lit(-1)))},
         0.4),
      fn("prelu", kExactOnIntegers | kHasKinks | kAccumulates, {T(2), Shaped({SizeOf(0, 1)})}, 0.4),
      fn("logit", kMath, {T(Domain::kUnitOpen), Opt(0.5, Kw("eps", Float({1e-3, 0.1, 0.25})))}),
      fn("polygamma", kMath, {Int(1, 2), T(Domain::kPositive)}, 0.3),
      fn("mvlgamma", kMath, {T(Domain::kAtLeastOne), Int(1, 2)}, 0.2),
  };
  for (OpRecord& record : records) {
    if (record.name == "nn.functional.logsigmoid") record.aten = "aten::log_sigmoid";
  }
  return records;
}

std::vector<OpRecord> WithScalars() {
  const auto fn = [](const char* name, const char* variant, uint32_t traits,
                     std::vector<Param> params, double weight = 0.8) {
    return OpRecord{.name = name,
                    .variant = variant,
                    .traits = traits,
                    .params = std::move(params),
                    .weight = weight};
  };
  return {
      fn("add", "", kArithmetic | kLinear, {T(), Broadcast(0), Opt(0.25, Kw("alpha", Factor()))},
         2),
      fn("add", "scalar", kArithmetic, {T(), Number()}, 1),
      fn("sub", "", kArithmetic | kLinear, {T(), Broadcast(0), Opt(0.25, Kw("alpha", Factor()))},
         1.5),
      fn("sub", "scalar", kArithmetic, {T(), Number()}, 0.5),
      fn("rsub", "", kArithmetic | kLinear, {T(), Broadcast(0), Opt(0.25, Kw("alpha", Factor()))},
         0.3),
      fn("mul", "scalar", kArithmetic | kLinear, {T(), Factor()}, 1.2),
      fn("div", "scalar", kLinear, {T(), Float({2, -1, 3, 0.5, 0.3})}, 0.8),
      fn("div", "rounding", kJumps | kNoGradient,
         {T(), Broadcast(0, Domain::kNonZero), Kw("rounding_mode", Choice({"floor", "trunc"}))},
         0.2),
      fn("floor_divide", "", kJumps | kNoGradient, {T(), Float({2, 3, -1.5})}, 0.1),
      fn("pow", "scalar", kMath, {T(Domain::kPositive), Float({2, 3, -1, 0.5, -0.5, 1.5, 2.5})},
         0.8),
      fn("pow", "integer", kMath, {T(), Int(1, 4)}, 0.6),
      fn("pow", "base", kMath, {Float({2, 0.5, 1.5}), T(Domain::kModerate)}, 0.3),
      fn("float_power", "scalar", kMath, {T(Domain::kPositive), Float({2, 0.5, -1})}, 0.2),
      fn("remainder", "scalar", kJumps, {T(), Float({2, -3, 0.7})}, 0.3),
      fn("fmod", "scalar", kJumps, {T(), Float({2, -3, 0.7})}, 0.3),
      fn("lerp", "", 0, {T(), Broadcast(0), Broadcast(0)}, 0.8),
      fn("lerp", "scalar", kLinear, {T(), Broadcast(0), Float({0.25, 0.5, 2, -1, 0.7})}, 0.6),
      fn("addcmul", "", kArithmetic,
         {T(), Broadcast(0), Broadcast(0), Opt(0.5, Kw("value", Factor()))}),
      fn("addcdiv", "", 0,
         {T(), Broadcast(0), Broadcast(0, Domain::kNonZero), Opt(0.5, Kw("value", Factor()))}),
      fn("clamp", "", kExact | kExactOnIntegers | kHasKinks,
         {T(), Kw("min", Float({-1, 0, -2, -0.5})), Opt(0.7, Kw("max", Float({1, 2, 3, 0.5})))}, 1),
      fn("clamp", "max", kExact | kExactOnIntegers | kHasKinks,
         {T(), Kw("max", Float({1, 2, 0, 0.5}))}, 0.4),
      fn("clamp", "tensor", kExact | kHasKinks, {T(), Broadcast(0), Opt(0.6, Broadcast(0))}, 0.5),
      fn("clamp_min", "", kExact | kExactOnIntegers | kHasKinks, {T(), Float({0, -1, 1, 0.5})},
         0.4),
      fn("clamp_max", "", kExact | kExactOnIntegers | kHasKinks, {T(), Float({0, 1, 2, 0.5})}, 0.4),
      fn("nan_to_num", "values", kMove,
         {T(), Kw("nan", Float({0, 1})), Opt(0.5, Kw("posinf", Float({2, 100})))}, 0.2),
      fn("where", "", kMove, {At(1, T()), At(0, Mask(0)), At(2, Broadcast(0))}, 1),
      fn("where", "scalar", kMove, {At(1, T()), At(0, Mask(0)), At(2, Number())}, 0.6),
      fn("ldexp", "", 0, {T(), Of(Kind::kSmallInts)}, 0.2),
      fn("Tensor.to", "", kExactOnIntegers | kLinear, {T(), Of(Kind::kDType)}, 0.3),
  };
}

}  // namespace

std::vector<OpRecord> PointwiseRecords() {
  std::vector<OpRecord> records;
  for (const UnaryRow& row : kUnary) {
    records.push_back(
        {.name = row.name, .traits = row.traits, .params = {T(row.domain)}, .weight = row.weight});
  }
  for (const BinaryRow& row : kBinary) {
    records.push_back({.name = row.name,
                       .traits = row.traits,
                       .params = {T(row.first), Broadcast(0, row.second)},
                       .weight = row.weight});
  }
  for (OpRecord& record : WithScalars()) records.push_back(std::move(record));
  for (OpRecord& record : Activations()) records.push_back(std::move(record));
  for (const char* name : kCompare) {
    const uint32_t traits = kExact | kExactOnIntegers | kNoGradient | kJumps;
    records.push_back(
        {.name = name, .traits = traits, .params = {T(), Float({0, 1, -1, 0.5})}, .weight = 0.12});
    records.push_back({.name = name,
                       .variant = "tensor",
                       .traits = traits,
                       .params = {T(), Broadcast(0)},
                       .weight = 0.08});
  }
  for (OpRecord& record : records) record.family = Family::kPointwise;
  return records;
}

}  // namespace gradfuzz::ops
