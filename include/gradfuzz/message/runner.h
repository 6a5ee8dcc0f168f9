// SPDX-License-Identifier: BSD-3-Clause
// ProgramRunner: the one way in which the parent side asks what programs do.
//
// The worker pool implements it (campaign/pool.h); reduction, isolation and triage use it and never
// see a process; their tests implement it with a fake.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz {

struct CaseResult {
  std::optional<uint64_t> seed;
  std::optional<program::Program> program;  // absent only when the worker died while generating
  Outcome outcome;         // for a lost worker: kCrash or kTimeout, the note says how it died
  std::string phase;       // what the worker was doing when it was lost; empty otherwise
  double seconds = 0;      // wall
  double cpu_seconds = 0;  // of the worker and its children, compilers included
  int worker = -1;         // which one ran it
};

// Thread-safe: several calls may be under way at the same time.
class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;

  // RETURNS: one result per item, in the order of the items, whatever happens to workers.
  // Blocks; items are spread over the workers. After an interrupt (Ctrl-C) the items that were not
  // run have the verdict kInvalid and the note "interrupted".
  virtual std::vector<CaseResult> Run(const std::vector<WorkItem>& items,
                                      const GenerateOptions& generate, const RunOptions& run) = 0;

  // How many programs can run at the same time; >= 1.
  virtual int Parallelism() const = 0;

  // Sends one request that is not an evaluation (request.h) to any worker; RETURNS its answer.
  virtual Result<nlohmann::json> Ask(const nlohmann::json& request) = 0;

  // True once the user has asked to stop: long loops end early and keep what they have.
  virtual bool Interrupted() const = 0;
};

}  // namespace gradfuzz
