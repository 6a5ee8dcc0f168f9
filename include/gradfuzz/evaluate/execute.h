// SPDX-License-Identifier: BSD-3-Clause
// One call of a program, forward and backward, whatever carries out the forward: the interpreter,
// the emitted Python in eager, or a compiled function. What all rungs share is here once.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// Leaves in, outputs out. May throw std::exception: that becomes Observation::error.
using Forward = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& leaves)>;

struct ExecuteOptions {
  int draw = 0;
  at::Device device = at::kCPU;
  bool second_call = false;  // the leaves of CallPlan::second_leaves
  // Compute in this precision: leaves and cotangents are made in their own dtype, then widened.
  bool reference = false;
  // Dtypes of the outputs in the program's own precision; needed with `reference` to round the
  // cotangents. Empty = as the outputs are.
  std::vector<at::ScalarType> cotangent_types;
  // Give the outputs these cotangents instead of their recipes'; an undefined tensor leaves that
  // output out of the backward.
  const std::vector<at::Tensor>* cotangents = nullptr;
};

// RETURNS: the observation, following the program's call plan (autocast, grad mode, backward mode).
// Never throws. REQUIRES: the GIL is not held.
Observation Execute(const program::Program& program, const Forward& forward,
                    const ExecuteOptions& options);

}  // namespace gradfuzz::evaluate
