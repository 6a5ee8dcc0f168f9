// SPDX-License-Identifier: BSD-3-Clause
// What triage says, on one page: for people, and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gradfuzz/report/terminal.h"
#include "gradfuzz/triage/triage.h"

namespace gradfuzz::triage {

// Ends in a newline. `folder`: where the finding's files are, empty = nowhere.
std::string RenderPage(const Report& report, const gradfuzz::report::TerminalStyle& style,
                       const std::string& folder = "");

nlohmann::json ToJson(const Report& report);

// "torch.diagonal_scatter" for a program; "f" for one that calls the script's function.
std::string CallInWords(const CapturedCall& call);

}  // namespace gradfuzz::triage
