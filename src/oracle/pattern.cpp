// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "gradfuzz/support/check.h"

namespace gradfuzz::oracle {
namespace {

// Factors are recognised to this relative precision: coarser than float32's rounding in a short
// chain, finer than any factor worth a name.
constexpr double kSameFactor = 1e-4;
// Elements of this part of the largest show the factor too.
constexpr double kSupport = 0.1;

using Places = std::vector<size_t>;

// The k of got = k * expected, or nothing. Taken from the largest element; the others may be off by
// what is small beside it, as elements that cancel are.
std::optional<double> Factor(std::span<const double> expected, std::span<const double> got) {
  size_t largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::fabs(expected[i]) > std::fabs(expected[largest])) largest = i;
  }
  const double scale = std::fabs(expected[largest]);
  const double k = got[largest] / expected[largest];
  if (!std::isfinite(k) || k == 0) return std::nullopt;
  size_t support = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::fabs(got[i] - k * expected[i]) <= kSameFactor * scale)) return std::nullopt;
    if (std::fabs(expected[i]) > kSupport * scale) ++support;
  }
  // One element is a multiple of anything.
  return support > 1 ? std::optional(k) : std::nullopt;
}

std::string Slice(std::span<const int64_t> sizes, const Places& places) {
  int64_t stride = 1;
  std::string found;
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t size = sizes[d];
    const auto index = [&](size_t place) { return static_cast<int64_t>(place) / stride % size; };
    const int64_t first = index(places.front());
    if (size > 1 && std::all_of(places.begin(), places.end(),
                                [&](size_t place) { return index(place) == first; })) {
      found = sizes.size() == 2 ? (d == 0 ? "one row" : "one column")
                                : "one slice of dimension " + std::to_string(d);
    }
    stride *= size;
  }
  return found;
}

bool Permuted(std::span<const double> expected, std::span<const double> got) {
  std::vector<double> a(expected.begin(), expected.end());
  std::vector<double> b(got.begin(), got.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double scale = std::max(std::fabs(a.front()), std::fabs(a.back()));
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= kSameFactor * scale)) return false;
  }
  return true;
}

}  // namespace

std::string DescribePattern(std::span<const int64_t> sizes, std::span<const double> expected,
                            std::span<const double> got, std::span<const uint8_t> wrong) {
  GF_CHECK(expected.size() == got.size() && got.size() == wrong.size(), "spans of one length");
  Places places;
  for (size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i] != 0) places.push_back(i);
  }
  if (places.empty()) return "nothing";
  const auto every_wrong = [&](auto predicate) {
    return std::all_of(places.begin(), places.end(), [&](size_t i) { return predicate(got[i]); });
  };
  if (every_wrong([](double v) { return std::isnan(v); })) return "NaN";
  if (every_wrong([](double v) { return std::isinf(v); })) return "infinity";
  const bool finite =
      std::all_of(got.begin(), got.end(), [](double v) { return std::isfinite(v); });
  const bool same = std::all_of(got.begin(), got.end(), [&](double v) { return v == got[0]; });
  if (got.size() > 1 && same) return got[0] == 0 ? "all zero" : "all one value";
  if (finite) {
    if (const auto factor = Factor(expected, got)) {
      if (std::fabs(*factor + 1) < kSameFactor) return "sign flipped";
      char text[48];
      std::snprintf(text, sizeof text, "constant factor %.4g", *factor);
      return text;
    }
  }
  const std::string zero = every_wrong([](double v) { return v == 0; }) ? ", zero" : "";
  if (places.size() == 1) return "one element" + zero;
  const bool consecutive = places.back() - places.front() + 1 == places.size();
  if (places.size() == got.size()) return "everything";
  if (const std::string slice = Slice(sizes, places); !slice.empty()) return slice + zero;
  if (consecutive && places.back() + 1 == got.size()) return "tail" + zero;
  if (consecutive && places.front() == 0) return "head" + zero;
  if (finite && Permuted(expected, got)) return "permuted";
  return "scattered" + zero;
}

}  // namespace gradfuzz::oracle
