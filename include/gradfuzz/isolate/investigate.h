// SPDX-License-Identifier: BSD-3-Clause
// From a mismatch to a finding: seen again, reduced, put on the ladder, ablated, surrounded by its
// neighbours, named.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "gradfuzz/isolate/known_bugs.h"
#include "gradfuzz/isolate/signature.h"
#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/reduce/reducer.h"

namespace gradfuzz::isolate {

struct InvestigateOptions {
  bool reduce = true;
  bool ablate = true;
  size_t neighbours = 64;          // at most; 0: no trigger table
  double neighbour_seconds = 120;  // after that no more are begun
  int confirmations = 3;           // strict runs of the result, each in a fresh process
  reduce::ReduceOptions reduction;
  const KnownBugs* known = nullptr;
  // What it does now, in a few words, for a progress line; may be empty.
  std::function<void(const std::string&)> on_progress;
  // Asked once the program is reduced, with its core signature: true = that is enough, somebody
  // has this bug already; ablation and neighbours are left out. May be empty.
  std::function<bool(const std::string& core_signature)> seen_before;
};

struct Investigation {
  Finding finding;
  Target target;           // as shown by the reduced program; bug == kNone when it was lost
  std::string cause;       // the ablation's
  std::string core;        // CoreSignature; empty when lost
  nlohmann::json cure;     // null, {"knob": [name, value]} or {"separator": "clone"}
  bool cut_short = false;  // seen_before said so
  reduce::ReduceResult reduction;
};

// `seen`: the result that a campaign, a replay or a triage got. `run`: how it was got; its device,
// draws, knobs and fault are kept.
// RETURNS: a finding whose reduction.status is "lost" when it does not show again.
// REQUIRES: seen.program; the runner is thread-safe.
Investigation Investigate(ProgramRunner& runner, const CaseResult& seen, const RunOptions& run,
                          const InvestigateOptions& options);

// The worker's `describe` answer with what ablation wants to know. An empty object when it fails.
nlohmann::json DescribeWithKnobs(ProgramRunner& runner);

}  // namespace gradfuzz::isolate
