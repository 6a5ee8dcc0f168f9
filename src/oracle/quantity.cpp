// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/quantity.h"

#include <ATen/ATen.h>

namespace gradfuzz::oracle {

std::vector<Quantity> Quantities(const program::Program& program) {
  using Kind = Quantity::Kind;
  std::vector<Quantity> quantities;
  for (size_t i = 0; i < program.outputs.size(); ++i) quantities.push_back({Kind::kOutput, i});
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (program.leaves[i].requires_grad) quantities.push_back({Kind::kGradient, i});
  }
  for (size_t i = 0; i < program.storages.size(); ++i) quantities.push_back({Kind::kStorage, i});
  return quantities;
}

const at::Tensor* Find(const evaluate::Observation& observation, const Quantity& quantity) {
  const size_t i = quantity.index;
  const at::Tensor* found = nullptr;
  switch (quantity.kind) {
    case Quantity::Kind::kOutput:
      if (i < observation.outputs.size()) found = &observation.outputs[i];
      break;
    case Quantity::Kind::kGradient:
      if (i < observation.gradients.size() && observation.gradients[i]) {
        found = &*observation.gradients[i];
      }
      break;
    case Quantity::Kind::kStorage:
      if (i < observation.storages_after.size()) found = &observation.storages_after[i];
      break;
  }
  return found != nullptr && found->defined() ? found : nullptr;
}

std::string NameOf(const program::Program& program, const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kOutput:
      return "out" + std::to_string(quantity.index);
    case Quantity::Kind::kGradient:
      return "grad x" + std::to_string(quantity.index);
    case Quantity::Kind::kStorage:
      break;
  }
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (program.leaves[i].storage == static_cast<int>(quantity.index)) {
      return "input x" + std::to_string(i);
    }
  }
  return "storage s" + std::to_string(quantity.index);
}

Verdict MismatchOf(const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kOutput:
      return Verdict::kForwardMismatch;
    case Quantity::Kind::kGradient:
      return Verdict::kGradientMismatch;
    case Quantity::Kind::kStorage:
      break;
  }
  return Verdict::kInputMutationMismatch;
}

}  // namespace gradfuzz::oracle
