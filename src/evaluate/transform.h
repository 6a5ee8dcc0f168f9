// SPDX-License-Identifier: BSD-3-Clause
// Parts of a program that are differentiated, or given another derivative, as a whole: the regions
// for which program::IsTransform holds.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// The part: the tensors that it takes in, those that it gives out.
using Block = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& takes)>;

// What the part gives under the transformation, as the emitted Python does it. Throws what eager
// says when it refuses.
std::vector<at::Tensor> Transform(program::Region::Kind kind, const std::vector<at::Tensor>& takes,
                                  const Block& block);

}  // namespace gradfuzz::evaluate
