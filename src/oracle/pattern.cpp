// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "gradfuzz/support/check.h"
#include "gradfuzz/support/complex.h"

namespace gradfuzz::oracle {
namespace {

// Factors are recognised to this relative precision: coarser than float32's rounding in a short
// chain, finer than any factor worth a name.
constexpr double kSameFactor = 1e-4;
// Elements of this part of the largest show the factor too.
constexpr double kSupport = 0.1;

using Places = std::vector<size_t>;

// The largest element of `expected`.
size_t Largest(std::span<const Complex> expected) {
  size_t largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(expected[i]) > std::abs(expected[largest])) largest = i;
  }
  return largest;
}

// The k of got = k * expected, or nothing. Taken from the largest element; the others may be off by
// what is small beside it, as elements that cancel are.
std::optional<Complex> Factor(std::span<const Complex> expected, std::span<const Complex> got) {
  const size_t largest = Largest(expected);
  const double scale = std::abs(expected[largest]);
  const Complex k = got[largest] / expected[largest];
  if (!IsFinite(k) || k == 0.0) return std::nullopt;
  size_t support = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - k * expected[i]) <= kSameFactor * scale)) return std::nullopt;
    if (std::abs(expected[i]) > kSupport * scale) ++support;
  }
  // One element is a multiple of anything.
  return support > 1 ? std::optional(k) : std::nullopt;
}

std::string FactorInWords(Complex k) {
  if (std::abs(k + 1.0) < kSameFactor) return "sign flipped";
  char text[64];
  if (std::fabs(k.imag()) < kSameFactor * std::abs(k)) {
    std::snprintf(text, sizeof text, "constant factor %.4g", k.real());
  } else {
    std::snprintf(text, sizeof text, "constant factor %.4g%+.4gj", k.real(), k.imag());
  }
  return text;
}

bool Conjugated(std::span<const Complex> expected, std::span<const Complex> got) {
  const double scale = std::abs(expected[Largest(expected)]);
  bool complex = false;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - std::conj(expected[i])) <= kSameFactor * scale)) return false;
    complex = complex || std::fabs(expected[i].imag()) > kSupport * scale;
  }
  return complex;
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

bool Permuted(std::span<const Complex> expected, std::span<const Complex> got) {
  std::vector<Complex> a(expected.begin(), expected.end());
  std::vector<Complex> b(got.begin(), got.end());
  const auto less = [](Complex x, Complex y) {
    return std::pair(x.real(), x.imag()) < std::pair(y.real(), y.imag());
  };
  std::ranges::sort(a, less);
  std::ranges::sort(b, less);
  const double scale = std::abs(a[Largest(a)]);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= kSameFactor * scale)) return false;
  }
  return true;
}

}  // namespace

std::string DescribePattern(std::span<const int64_t> sizes, std::span<const Complex> expected,
                            std::span<const Complex> got, std::span<const uint8_t> wrong) {
  GF_CHECK(expected.size() == got.size() && got.size() == wrong.size(), "spans of one length");
  Places places;
  for (size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i] != 0) places.push_back(i);
  }
  if (places.empty()) return "nothing";
  const auto every_wrong = [&](auto predicate) {
    return std::all_of(places.begin(), places.end(), [&](size_t i) { return predicate(got[i]); });
  };
  if (every_wrong(IsNan)) return "NaN";
  if (every_wrong([](Complex v) { return !IsFinite(v) && !IsNan(v); })) return "infinity";
  const bool finite = std::ranges::all_of(got, IsFinite);
  const bool same = std::ranges::all_of(got, [&](Complex v) { return v == got[0]; });
  if (got.size() > 1 && same) return got[0] == 0.0 ? "all zero" : "all one value";
  if (finite) {
    if (const auto factor = Factor(expected, got)) return FactorInWords(*factor);
    if (Conjugated(expected, got)) return "conjugated";
  }
  const std::string zero = every_wrong([](Complex v) { return v == 0.0; }) ? ", zero" : "";
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
