// SPDX-License-Identifier: BSD-3-Clause
// torch.autocast(device, dtype=bfloat16, enabled=...) as a C++ scope.
#pragma once

#include <ATen/autocast_mode.h>

#include <optional>

namespace gradfuzz::evaluate {

class AutocastScope {
 public:
  // `enabled` absent: does nothing.
  AutocastScope(std::optional<bool> enabled, at::DeviceType device)
      : active_(enabled.has_value()), device_(device) {
    if (!active_) return;
    was_enabled_ = at::autocast::is_autocast_enabled(device_);
    was_type_ = at::autocast::get_autocast_dtype(device_);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, *enabled);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    if (!active_) return;
    // Leaving the outermost scope drops the cache of cast weights, as Python's autocast does.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, was_type_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  at::DeviceType device_;
  bool was_enabled_ = false;
  at::ScalarType was_type_ = at::kFloat;
};

}  // namespace gradfuzz::evaluate
