// SPDX-License-Identifier: BSD-3-Clause
// Fused kernels that cancel inside (normalisations, softmax backward, variance, logsumexp) or that
// compute with numbers which are no operand (interpolation), spelled out with noise after every
// step.
//
// Noise on operands and result of such a kernel misses what its inner rounding can do: the mean is
// subtracted inside, from operands that moved together. The formulas are those of Inductor's
// decompositions and of ATen's kernels; where these differ in their terms, those that lose more.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <span>
#include <string_view>
#include <vector>

#include "gradfuzz/oracle/noise.h"

namespace gradfuzz::oracle {

// One noisy evaluation of the operator `name` ("native_layer_norm").
// `plain`: its results without noise; they give the sizes, and which results are absent.
// RETURNS: results with the sizes of `plain`; empty when these arguments are not covered (complex).
// REQUIRES: called with autograd and every mode excluded.
std::vector<at::Tensor> FusedWithNoise(std::string_view name, std::span<const c10::IValue> args,
                                       std::span<const at::Tensor> plain, Noise& noise);

}  // namespace gradfuzz::oracle
