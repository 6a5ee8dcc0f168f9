// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/exactness.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradfuzz/evaluate/materialise.h"

namespace gradfuzz::generate {
namespace {

using ops::Trait;
using program::ValueRecipe;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double LargestInteger(const std::vector<double>& values) {
  double bound = 0;
  for (const double v : values) {
    if (!std::isfinite(v) || v != std::floor(v)) return kInfinity;
    bound = std::max(bound, std::fabs(v));
  }
  return bound;
}

int64_t LargestNumel(const std::vector<Value>& values, const std::vector<int>& ids) {
  int64_t numel = 1;
  for (const int id : ids) {
    numel = std::max(numel, values[static_cast<size_t>(id)].first().numel());
  }
  return numel;
}

// How many terms one element of the gradient of `operand` may add up.
double GradientTerms(const Step& step, const std::vector<Value>& values, int operand) {
  std::vector<int> all = step.operands;
  all.insert(all.end(), step.results.begin(), step.results.end());
  const double largest = static_cast<double>(LargestNumel(values, all));
  if (step.record->Has(ops::kAccumulates)) return largest;
  // Broadcasting: each element of the operand meets as many elements of the result.
  const double own = static_cast<double>(values[static_cast<size_t>(operand)].first().numel());
  return std::max(1.0, std::ceil(largest / std::max(1.0, own)));
}

}  // namespace

double IntegerBound(const program::Storage& storage) {
  const ValueRecipe& recipe = storage.values;
  switch (recipe.kind) {
    case ValueRecipe::Kind::kInts:
      return std::max(std::fabs(recipe.low), std::fabs(recipe.high));
    case ValueRecipe::Kind::kLiteral:
    case ValueRecipe::Kind::kChoice:
      return LargestInteger(recipe.values);
    default:
      return kInfinity;
  }
}

double ExactRange(const std::vector<Value>& values) {
  int bits = 53;
  for (const Value& value : values) {
    const program::DType dtype = evaluate::FromScalarType(value.first().scalar_type());
    if (program::IsDifferentiable(dtype)) {
      bits = std::min(bits, program::Info(dtype).significand_bits);
    }
  }
  return std::ldexp(1.0, bits - 1);
}

double ResultBound(const Step& step, const std::vector<Value>& values, int64_t largest_numel) {
  if (!step.record->Has(ops::kExactOnIntegers) || step.record->Has(ops::kProducts) ||
      !step.integral) {
    return kInfinity;
  }
  double largest = step.factor;
  double product = step.factor;
  for (const int id : step.operands) {
    const Value& value = values[static_cast<size_t>(id)];
    if (!value.exact) return kInfinity;
    largest = std::max(largest, value.bound);
    // An index or mask takes no part in the arithmetic.
    if (at::isFloatingType(value.first().scalar_type())) product *= std::max(1.0, value.bound);
  }
  if (step.record->Has(ops::kExact)) return largest;
  // At most one sum of products for each element, plus one term (the operand added to).
  const double terms =
      step.record->Has(ops::kAccumulates) ? static_cast<double>(largest_numel) : 1.0;
  return 2 * terms * product;
}

bool GradientsAreExact(const Workspace& workspace, const std::vector<int>& outputs,
                       const std::vector<double>& cotangents) {
  const std::vector<Value>& values = workspace.values();
  // Where nothing is written in place each value has a gradient of its own; otherwise all values of
  // one buffer share one bound, which covers every order of views and writes.
  std::vector<size_t> owner(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    owner[i] = i;
    if (!workspace.mutates()) continue;
    const std::vector<int> aliases = workspace.Aliases(static_cast<int>(i));
    owner[i] = static_cast<size_t>(*std::min_element(aliases.begin(), aliases.end()));
  }
  std::vector<double> bounds(values.size(), 0);
  for (size_t i = 0; i < outputs.size(); ++i) {
    bounds[owner[static_cast<size_t>(outputs[i])]] += cotangents[i];
  }
  const double range = ExactRange(values);
  for (size_t s = workspace.steps().size(); s-- > 0;) {
    const Step& step = workspace.steps()[s];
    double incoming = 0;
    for (const int id : step.results) incoming += bounds[owner[static_cast<size_t>(id)]];
    if (step.results.empty()) {  // writes operands, yields nothing
      for (const int id : step.operands) incoming += bounds[owner[static_cast<size_t>(id)]];
    }
    for (const int id : step.results) {
      if (!values[static_cast<size_t>(id)].exact) return false;
    }
    double product = step.record->Has(ops::kExact) ? 1 : step.factor;
    if (!step.record->Has(ops::kLinear) && !step.record->Has(ops::kExact)) {
      product *= 2;  // the derivative of x * x
      for (const int id : step.operands) {
        product *= std::max(1.0, values[static_cast<size_t>(id)].bound);
      }
    }
    for (const int id : step.operands) {
      const Value& value = values[static_cast<size_t>(id)];
      if (!value.exact) return false;
      if (!at::isFloatingType(value.first().scalar_type())) continue;
      double& bound = bounds[owner[static_cast<size_t>(id)]];
      bound += incoming * product * GradientTerms(step, values, id);
      if (!(bound <= range)) return false;
    }
  }
  return true;
}

}  // namespace gradfuzz::generate
