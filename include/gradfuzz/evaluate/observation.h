// SPDX-License-Identifier: BSD-3-Clause
// What one rung did with one program on one draw of values: tensors, before anyone judges them.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace gradfuzz::evaluate {

struct Observation {
  // Every tensor is detached and owned: nothing aliases a buffer that a later run may write.
  // Strides are those the rung produced.
  std::vector<at::Tensor> outputs;
  std::vector<bool> output_requires_grad;
  // One per leaf: absent where the leaf does not require a gradient or autograd returned None.
  std::vector<std::optional<at::Tensor>> gradients;
  // The storages of the leaves after the call, in the order of Program::storages.
  std::vector<at::Tensor> storages_after;
  // For each output: the index of the storage that it shares memory with, -1 = none, and the index
  // of the first output that it shares memory with (its own index when none before it).
  std::vector<int> aliases_storage;
  std::vector<int> aliases_output;
  // Set instead of all the above when the rung raised: exception type, then text.
  std::string error;
  // What kind of error: "compile", "unsupported" (an explicit refusal) or "runtime".
  std::string error_kind;

  bool ok() const { return error.empty(); }
};

}  // namespace gradfuzz::evaluate
