// SPDX-License-Identifier: BSD-3-Clause
// Errors that are refusals: torch says that it does not support something, by design. They are
// counted as unsupported, never reported as findings.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gradfuzz::oracle {

struct Refusal {
  std::string_view needle;   // found in the error's text
  std::string_view example;  // a text that torch has printed, shortened
  std::string_view reason;   // why it is a refusal
};

std::span<const Refusal> Refusals();
// The row that an error's text matches, or nullptr.
const Refusal* FindRefusal(std::string_view error);

}  // namespace gradfuzz::oracle
