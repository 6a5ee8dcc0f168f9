// SPDX-License-Identifier: BSD-3-Clause
// The settings of torch.compile that ablation changes one at a time: one row each.
//
// Which of them a torch has is asked of the worker; a row for a setting that only some versions
// have is fine.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace gradfuzz::isolate {

struct Knob {
  const char* name;     // "inductor.cpp.simdlen": config module and key
  const char* value;    // JSON
  const char* meaning;  // what is off or changed: "no vectorised C++ kernels"
  // The mechanism that it belongs to, part of a finding's signature when it removes the bug. Rows
  // stand in the order of how surely they name the cause: of those that remove a bug the first
  // decides.
  const char* cause;
  // What the user gives up with it as a workaround: 0 nothing .. 100 all that a compiler gains.
  int invasiveness;
  const char* device;  // "cpu", "cuda", or "" for both
};

std::span<const Knob> Knobs();
std::vector<std::string> KnobNames();  // each once, for the `describe` request
nlohmann::json ValueOf(const Knob& knob);

// The knobs that can matter to a bug whose first wrong rung is `rung` on `device`: Inductor's own
// are idle below Inductor.
std::vector<const Knob*> KnobsFor(const std::string& rung, const std::string& device);

}  // namespace gradfuzz::isolate
