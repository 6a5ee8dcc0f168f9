// SPDX-License-Identifier: BSD-3-Clause
// Triage: from a person's script to one page that says which layer is wrong, why, and what to do.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/isolate/investigate.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/triage/decide.h"
#include "gradfuzz/triage/evidence.h"
#include "gradfuzz/triage/script.h"

namespace gradfuzz::triage {

struct TriageOptions {
  GatherOptions gather;
  isolate::InvestigateOptions investigate;
  // For the settings of a bug that only the script as a whole shows: each costs a run of it.
  double ablation_seconds = 60;
  // Only what is wrong and since which rung: no confirmation in fresh processes, nothing reduced,
  // ablated or surrounded with neighbours.
  bool verdict_only = false;
  bool bisect = false;  // ask torch's bisector, in a child process of the worker
};

// The same script under another environment.
struct Version {
  std::string python;  // as the user named it
  nlohmann::json environment;
  Decision decision;
  std::string error;  // why it could not be tried; empty otherwise
};

struct Report {
  ScriptSource source;
  Evidence evidence;
  Decision decision;
  // Of a wrong call: confirmed, reduced, ablated, with its neighbours.
  std::optional<isolate::Investigation> investigation;
  // Of a bug that no program shows: the whole script with one setting changed at a time.
  std::vector<KnobResult> script_knobs;
  std::vector<Version> versions;  // other environments
  nlohmann::json bisect;          // null, or the answer of torch's bisector
  double seconds = 0;
};

// RETURNS: an error only when the worker cannot be asked at all; a script that kills its worker is
// an answer.
Result<Report> Triage(ProgramRunner& runner, const ScriptSource& source,
                      const TriageOptions& options);

// Gather and Decide only.
Version TryVersion(ProgramRunner& runner, const std::string& python, const GatherOptions& options);

// 0 not a bug, 1 bug, 4 could not tell.
int ExitCode(const Decision& decision);

}  // namespace gradfuzz::triage
