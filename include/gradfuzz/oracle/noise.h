// SPDX-License-Identifier: BSD-3-Clause
// Rounding noise: values multiplied by 1 + amplitude * eps * u, u uniform in [-1, 1].
//
//  1. Zeros, infinities and NaNs stay what they are; signs stay, unless a value is as small as the
//     dtype's smallest subnormal numbers.
//  2. The random numbers come from gradfuzz's own generator: torch's global one is not touched.
//  3. Works on float64 and complex128 only: the precision of the reference.
#pragma once

#include <ATen/core/Tensor.h>

#include "gradfuzz/oracle/tolerance.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {

class Noise {
 public:
  Noise(const Precision& precision, uint64_t seed) : precision_(precision), rng_(seed) {}

  static bool Takes(const at::Tensor& tensor);  // defined, strided, CPU, float64 or complex128

  // Writes into the tensor's memory, past autograd. REQUIRES: Takes(tensor).
  void NudgeInPlace(const at::Tensor& tensor, double amplitude);
  // A nudged copy; the tensor itself where it is of another dtype.
  at::Tensor Nudged(const at::Tensor& tensor, double amplitude);
  // Adds scale * amplitude * eps * u, element by element; `scale` has the tensor's sizes.
  void AddInPlace(const at::Tensor& tensor, const at::Tensor& scale, double amplitude);
  double Nudged(double value, double amplitude);

  const Model& model() const { return precision_.model(); }

 private:
  double Unit() { return 2 * rng_.Unit() - 1; }

  Precision precision_;
  Rng rng_;
};

}  // namespace gradfuzz::oracle
