// SPDX-License-Identifier: BSD-3-Clause
// Recipes into tensors: bit for bit what the emitted Python module makes from the same draw.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

at::ScalarType ToScalarType(program::DType dtype);
program::DType FromScalarType(at::ScalarType type);  // REQUIRES: a type that programs use

// The buffer of a storage, one-dimensional, on `device`.
at::Tensor MakeStorage(const program::Storage& storage, int draw, const at::Device& device);

struct Inputs {
  std::vector<at::Tensor> storages;
  std::vector<at::Tensor> leaves;  // views of `storages`, detached, requires_grad set
};
Inputs MakeInputs(const std::vector<program::Storage>& storages,
                  const std::vector<program::Leaf>& leaves, int draw, const at::Device& device);

// The cotangent for `output`: its shape, dtype and device; the layout of the recipe.
at::Tensor MakeCotangent(const program::Cotangent& cotangent, const at::Tensor& output, int draw);

}  // namespace gradfuzz::evaluate
