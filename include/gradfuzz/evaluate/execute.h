// SPDX-License-Identifier: BSD-3-Clause
// One call of a program, forward and backward, whatever carries out the forward: the interpreter,
// the emitted Python in eager, or a compiled function. What all rungs share is here once.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// Leaves in, outputs out. May throw std::exception: that becomes Observation::error.
using Forward = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& leaves)>;

// torch.autograd.grad with allow_unused; undefined tensors where Python says None.
using Grad = std::function<std::vector<at::Tensor>(
    const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& leaves,
    const std::vector<at::Tensor>& cotangents, bool retain_graph, bool create_graph)>;

// What a Forward or Grad may throw to say which kind of error it met.
class RungError : public std::runtime_error {
 public:
  RungError(std::string kind, const std::string& text)
      : std::runtime_error(text), kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;  // Observation::error_kind
};

// What an execution is about to do. kDone ends a phase: what follows is bookkeeping.
enum class Phase : uint8_t { kForward, kBackward, kDone };
// Called when the phase changes. At kForward the values in the storages may be written.
using OnPhase = std::function<void(Phase, Inputs&)>;

struct ExecuteOptions {
  int draw = 0;
  at::Device device = at::kCPU;
  // Compute in this precision: leaves and cotangents are made in their own dtype, then widened.
  bool reference = false;
  // Dtypes of the outputs in the program's own precision; needed with `reference` to round the
  // cotangents. Empty = as the outputs are.
  std::vector<at::ScalarType> cotangent_types;
  // Give the outputs these cotangents instead of their recipes'; an undefined tensor leaves that
  // output out of the backward.
  const std::vector<at::Tensor>* cotangents = nullptr;
  Grad grad;  // empty = autograd's C++ entry
  OnPhase on_phase;
};

// RETURNS: the observation, following the program's call plan (autocast, grad mode, backward mode).
// Never throws. REQUIRES: the GIL is not held.
Observation Execute(const program::Program& program, const Forward& forward,
                    const ExecuteOptions& options);

}  // namespace gradfuzz::evaluate
