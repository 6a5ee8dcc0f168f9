// SPDX-License-Identifier: BSD-3-Clause
// What is compared between two observations of one program: outputs, gradients, and the inputs'
// storages after the call.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

struct Quantity {
  enum class Kind : uint8_t { kOutput, kGradient, kStorage };
  Kind kind = Kind::kOutput;
  size_t index = 0;

  auto operator<=>(const Quantity&) const = default;
};

// All of them: outputs, then the gradients of the leaves that require one, then storages.
std::vector<Quantity> Quantities(const program::Program& program);
// The tensor, or nullptr where the observation has none (a gradient that is None).
const at::Tensor* Find(const evaluate::Observation& observation, const Quantity& quantity);
// "out0", "grad x1", "input x2" (the first leaf that views the storage).
std::string NameOf(const program::Program& program, const Quantity& quantity);
// What a wrong value there is called.
Verdict MismatchOf(const Quantity& quantity);

}  // namespace gradfuzz::oracle
