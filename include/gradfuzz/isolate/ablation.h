// SPDX-License-Identifier: BSD-3-Clause
// Ablation: the reduced program with one setting changed at a time. The settings that remove the
// bug name the mechanism that causes it, and are the user's workaround.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradfuzz/isolate/knobs.h"
#include "gradfuzz/isolate/signature.h"
#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"

namespace gradfuzz::isolate {

struct Ablation {
  std::vector<KnobResult>
      results;             // in the order of the table; settings that this torch lacks last
  std::string cause;       // Knob::cause of the first that removes the bug; may be empty
  std::string workaround;  // the least invasive one as Python; may be empty
  // The same as an entry of RunOptions::knobs.
  std::optional<std::pair<std::string, nlohmann::json>> cure;
};

// `run`: the options of the search (RunnerTester::SearchOptions). What removes the bug under quick
// flags is tried again under default ones. `neighbours`: programs that show the bug as well.
// `description` holds the answer to `describe` with KnobNames(). REQUIRES: the runner is
// thread-safe; several settings are tried side by side.
Ablation Ablate(ProgramRunner& runner, const program::Program& program,
                const std::vector<program::Program>& neighbours, const Target& target,
                const RunOptions& run, const nlohmann::json& description);

}  // namespace gradfuzz::isolate
