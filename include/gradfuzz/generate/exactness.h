// SPDX-License-Identifier: BSD-3-Clause
// The exact lane: which values and gradients are integers that nothing can change.
//
// A value is exact when it is made of integers by operators of trait kExactOnIntegers and when even
// the sum of the absolute values of all terms of any element stays within the dtype's exact range:
// then every partial sum, in any order, is exact, and so is any fused multiply-add. Bounds hold for
// every draw: they follow from the leaves' recipes and the operators' traits, not from the values
// drawn.
#pragma once

#include <vector>

#include "gradfuzz/generate/workspace.h"

namespace gradfuzz::generate {

// The largest magnitude of elements of a storage, +inf when they may be no integers.
double IntegerBound(const program::Storage& storage);

// 2^(significand_bits - 1) of the narrowest floating type among the values: half of the exact
// range.
double ExactRange(const std::vector<Value>& values);

// The bound of the results of `step`, +inf when they are not exact.
double ResultBound(const Step& step, const std::vector<Value>& values, int64_t largest_numel);

// True when all steps are exact, and so are all gradients for cotangents of outputs bounded by
// `cotangent` (one per output; +inf = not integers).
bool GradientsAreExact(const Workspace& workspace, const std::vector<int>& outputs,
                       const std::vector<double>& cotangents);

}  // namespace gradfuzz::generate
