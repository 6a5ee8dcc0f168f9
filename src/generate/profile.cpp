// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/profile.h"

#include <algorithm>

namespace gradfuzz::generate {
namespace {

using program::DType;

constexpr Alternative kDTypes[] = {
    {"float32", 70},   {"float64", 21}, {"bfloat16", 5}, {"float16", 2}, {"complex64", 3},
    {"complex128", 1}, {"int64", 1.2},  {"uint8", 2},    {"int32", 0.5}, {"int8", 0.3}};
constexpr Alternative kSizeClasses[] = {{"tiny", 60}, {"mixed", 36}, {"long", 4}};

}  // namespace

Profile DrawProfile(Rng& rng, const Weights& weights, int max_statements) {
  Profile profile;
  if (const auto row = Draw(rng, weights, "dtype.", kDTypes)) {
    profile.dtype = *program::DTypeFromName(kDTypes[*row].name);
  }
  // Sums of a few small integers soon leave the exact range of the 8 and 11 bit formats.
  const bool wide = program::Info(profile.dtype).significand_bits >= 24 &&
                    !program::Info(profile.dtype).is_complex;
  profile.exact = Chance(rng, weights, "feature.exact_lane", wide ? 0.3 : 0.15) &&
                  !program::Info(profile.dtype).is_complex;
  static const std::vector<double> kLengths = {20, 24, 20, 15, 11, 10};  // 1, 2, 3, ... statements
  profile.statements =
      std::min(static_cast<int>(rng.PickWeighted(kLengths)) + 1, std::max(1, max_statements));
  if (max_statements > 6 && profile.statements == 6) {
    profile.statements = static_cast<int>(rng.Between(6, max_statements));
  }
  profile.mutation = Chance(rng, weights, "feature.mutation", 0.35);
  profile.empty = Chance(rng, weights, "feature.empty", 0.015);
  profile.forward_only = Chance(rng, weights, "feature.forward_only", 0.02);
  if (profile.integers()) profile.exact = profile.forward_only = true;
  const bool real = !profile.integers() && !program::Info(profile.dtype).is_complex;
  if (real && !profile.exact && Chance(rng, weights, "feature.mixed_dtypes", 0.03)) {
    const bool single = profile.dtype == DType::kFloat32;
    profile.other = !single           ? DType::kFloat32
                    : rng.Chance(0.5) ? DType::kBFloat16
                                      : DType::kFloat64;
  }
  Rng non_finite = rng.Fork("non_finite");
  profile.non_finite =
      real && !profile.exact && Chance(non_finite, weights, "feature.non_finite", 0.015);
  profile.forward_only = profile.forward_only || profile.non_finite;
  if (const auto row = Draw(rng, weights, "size.", kSizeClasses)) {
    profile.sizes = static_cast<SizeClass>(*row);
  }
  static const std::vector<double> kDims = {4, 23, 38, 20, 12, 3};  // 0, 1, 2, ... dimensions
  profile.dims = static_cast<int>(rng.PickWeighted(kDims));
  if (profile.sizes == SizeClass::kLong) profile.dims = 1 + static_cast<int>(rng.Below(2));
  return profile;
}

void AppendProfileNames(std::vector<std::string>* names) {
  AppendNames("dtype.", kDTypes, names);
  AppendNames("size.", kSizeClasses, names);
}

}  // namespace gradfuzz::generate
