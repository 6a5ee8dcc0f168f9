// SPDX-License-Identifier: BSD-3-Clause
// A finding: one bug, reduced, isolated and named. Written by isolate/ and reduce/, kept by store/,
// shown by report/.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz {

// The reduced program run with one knob changed.
struct KnobResult {
  std::string knob;      // "inductor.cpp.simdlen"
  nlohmann::json value;  // 1
  std::string meaning;   // "no vectorised kernels", from the knob table
  Verdict verdict = Verdict::kAgree;
  bool removes = false;  // the bug is gone and the program still compiles and runs
  bool exists = true;    // this torch has the knob
};

// A neighbour of the reduced program, tried to say what triggers the bug.
struct TriggerRow {
  std::string axis;  // "aggregation", "dtype", "layout", "cotangent", "op", "in between", "device"
  std::string change;  // "sum -> mean"
  Verdict verdict = Verdict::kAgree;
  bool wrong = false;  // shows the bug
  bool tried = true;   // false: not possible here (eager rejects it, no such device)
  std::string detail;  // "x0.grad all zero", or why it was not tried
};

struct ReductionStats {
  std::string status;  // "minimal", "query budget", "time budget", "flaky", "lost", "interrupted",
                       // "not reduced"
  int queries = 0;
  int unresolved = 0;  // queries that could not tell
  int slipped = 0;     // candidates that failed with another signature, and were refused
  double seconds = 0;
  int statements_before = 0, statements_after = 0;
};

struct Finding {
  std::string id;         // short hash of `signature`: the folder's name
  std::string signature;  // pure function of verdict, rung, device, reduced skeleton, ablation
  std::string title;      // one line for people
  Verdict verdict = Verdict::kGradientMismatch;
  std::string first_wrong_rung;
  std::string device;
  std::optional<uint64_t> first_seed;
  int hits = 1;
  program::Program original;
  program::Program reduced;
  Outcome outcome;  // the full ladder on the reduced program, default flags
  RunOptions run;   // how `outcome` was run
  std::vector<KnobResult> ablation;
  std::string workaround;  // the least invasive knob that removes the bug, as Python; may be empty
  std::vector<TriggerRow> triggers;
  ReductionStats reduction;
  int confirmed = 0, confirmations = 0;  // "3 of 3" in fresh processes
  std::string known_issue;     // link or name of the known bug that it matches; empty = new
  nlohmann::json bisect;       // CompilerBisector's answer when asked for, else null
  nlohmann::json environment;  // the worker's `describe` answer
};

nlohmann::json ToJson(const Finding& finding);
Result<Finding> FindingFromJson(const nlohmann::json& json);

}  // namespace gradfuzz
