// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/tolerance.h"

#include <ATen/ATen.h>

#include <limits>

#include "gradfuzz/evaluate/materialise.h"

namespace gradfuzz::oracle {
namespace {

using program::Arg;
using program::DType;

template <typename T>
Precision Limits(bool low) {
  using L = std::numeric_limits<T>;
  return {static_cast<double>(L::epsilon()), static_cast<double>(L::denorm_min()),
          static_cast<double>(L::min()), static_cast<double>(L::max()), low};
}

struct CloseRow {
  at::ScalarType type;
  CloseTolerance tolerance;
};
constexpr CloseRow kClose[] = {
    {at::kHalf, {1e-3, 1e-5}},           {at::kBFloat16, {1.6e-2, 1e-5}},
    {at::kFloat, {1.3e-6, 1e-5}},        {at::kDouble, {1e-7, 1e-7}},
    {at::kComplexFloat, {1.3e-6, 1e-5}}, {at::kComplexDouble, {1e-7, 1e-7}},
};

void Coarsen(at::ScalarType type, Precision* precision) {
  if (!at::isFloatingType(type) && !at::isComplexType(type)) return;
  const Precision other = PrecisionOf(type);
  precision->low = precision->low || other.low;
  precision->eps = std::max(precision->eps, other.eps);
  precision->subnormal = std::max(precision->subnormal, other.subnormal);
  precision->smallest = std::max(precision->smallest, other.smallest);
  precision->largest =
      precision->largest == 0 ? other.largest : std::min(precision->largest, other.largest);
}

void Coarsen(const Arg& arg, Precision* precision) {
  if (arg.Is<DType>()) Coarsen(evaluate::ToScalarType(arg.As<DType>()), precision);
}

}  // namespace

Precision PrecisionOf(at::ScalarType type) {
  switch (at::toRealValueType(type)) {
    case at::kHalf:
      return Limits<at::Half>(true);
    case at::kBFloat16:
      return Limits<at::BFloat16>(true);
    case at::kDouble:
      return Limits<double>(false);
    default:
      return Limits<float>(false);
  }
}

Precision PrecisionOf(const program::Program& program) {
  Precision precision;
  for (const auto& storage : program.storages) {
    Coarsen(evaluate::ToScalarType(storage.dtype), &precision);
  }
  for (const auto& statement : program.statements) {
    for (const Arg& arg : statement.args) Coarsen(arg, &precision);
    for (const auto& [name, arg] : statement.kwargs) Coarsen(arg, &precision);
    // Methods that are casts by name.
    if (statement.op == "Tensor.half") Coarsen(at::kHalf, &precision);
    if (statement.op == "Tensor.bfloat16") Coarsen(at::kBFloat16, &precision);
    if (statement.op == "Tensor.float") Coarsen(at::kFloat, &precision);
  }
  bool autocast = program.call.autocast;
  for (const auto& region : program.regions) {
    autocast = autocast || region.kind == program::Region::Kind::kAutocast;
  }
  if (autocast) Coarsen(at::kBFloat16, &precision);
  // A program of integers alone divides and averages in float32.
  if (precision.eps == 0) precision = PrecisionOf(at::kFloat);
  return precision;
}

double Band(at::ScalarType type) {
  const Precision precision = PrecisionOf(type);
  return precision.model().band * precision.eps;
}

CloseTolerance AssertCloseDefaults(at::ScalarType type) {
  for (const CloseRow& row : kClose) {
    if (row.type == type) return row.tolerance;
  }
  return {};
}

}  // namespace gradfuzz::oracle
