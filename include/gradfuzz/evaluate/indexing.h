// SPDX-License-Identifier: BSD-3-Clause
// Python's indexing, x[i] and x[i] = y, in eager C++: ints, slices, None, ..., index tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// RETURNS: the results of "Tensor.__getitem__" and "Tensor.__setitem__" (none for the latter), or
// nothing when `statement` is neither, or indexes with something else (a bool, a list of numbers).
// May throw c10::Error, as eager does.
std::optional<std::vector<at::Tensor>> CallIndexing(const program::Statement& statement,
                                                    std::span<const at::Tensor> values);

}  // namespace gradfuzz::evaluate
