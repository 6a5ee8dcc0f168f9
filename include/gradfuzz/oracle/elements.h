// SPDX-License-Identifier: BSD-3-Clause
// A tensor as plain numbers in row-major order: what the decisions per element are made on.
#pragma once

#include <ATen/core/Tensor.h>

#include <complex>
#include <cstdint>
#include <vector>

namespace gradfuzz::oracle {

// What kind of number an element is; a complex number is finite or not, no more (libraries differ
// in which part of an infinite product is NaN).
enum class ValueClass : uint8_t { kFinite, kNaN, kPlusInf, kMinusInf, kNotFinite };

struct Elements {
  std::vector<int64_t> sizes;
  std::vector<double> re;
  std::vector<double> im;  // empty unless complex
  bool discrete = false;   // integer or bool

  size_t size() const { return re.size(); }
  bool complex() const { return !im.empty(); }
  ValueClass Class(size_t i) const;
  double Modulus(size_t i) const;
  // Of real numbers the imaginary part is +0.
  std::complex<double> Value(size_t i) const { return {re[i], complex() ? im[i] : 0}; }
  // Value() of all elements, or of the first `limit`.
  std::vector<std::complex<double>> Values(size_t limit = SIZE_MAX) const;
};

// Exact for every dtype but int64 beyond 2^53.
Elements Flatten(const at::Tensor& tensor);
// |a[i] - b[i]|; NaN where either is not finite. REQUIRES: one size, one kind.
double Distance(const Elements& a, const Elements& b, size_t i);
// The largest finite modulus.
double Scale(const Elements& values);

// The positions of what is wrong, of the first kMaxSample elements: Comparison::wrong_at.
std::vector<int64_t> SampledPositions(const std::vector<uint8_t>& wrong);

// True when the tensors hold the same values bit for bit, but for the payload of NaNs and the sign
// of zeros. REQUIRES: same dtype and sizes.
bool SameValues(const at::Tensor& a, const at::Tensor& b);
// True when each element of `got` is within `band` * |eager| of it, NaNs and infinities at the same
// places; integers and booleans equal. REQUIRES: same dtype and sizes.
bool WithinBand(const at::Tensor& eager, const at::Tensor& got, double band);
// torch.testing.assert_close(got, eager, equal_nan=True) at default tolerances, values only.
bool AssertClose(const at::Tensor& eager, const at::Tensor& got);

}  // namespace gradfuzz::oracle
