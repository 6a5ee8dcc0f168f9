// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/host_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "gradfuzz/evaluate/interpret.h"

namespace gradfuzz::evaluate {

bool SaysOutOfRange(const std::string& error) {
  // ATen's words on the CPU where the CUDA kernel asserts: index and index_put, gather and scatter,
  // embedding and index_select, take, nll_loss; binary_cross_entropy; one_hot.
  static constexpr std::array<std::string_view, 5> kWords = {
      "out of bounds", "out of range", "out of DATA bounds", "should be between 0 and 1",
      "Class values must be"};
  return std::ranges::any_of(
      kWords, [&](std::string_view words) { return error.find(words) != std::string::npos; });
}

std::string OutOfRange(const program::Program& program, int draws) {
  const auto refusal = [&](const program::Program& call) -> std::string {
    for (int draw = 0; draw < draws; ++draw) {
      const auto values = Values(call, draw);
      if (!values && SaysOutOfRange(values.error().message)) return values.error().message;
    }
    return "";
  };
  const std::string first = refusal(program);
  if (!first.empty() || program.call.second_leaves.empty()) return first;
  return refusal(program::SecondCall(program));
}

}  // namespace gradfuzz::evaluate
