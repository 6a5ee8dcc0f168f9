// SPDX-License-Identifier: BSD-3-Clause
// FindingSink: what becomes of the mismatches of a campaign.
//
// The campaign finds programs with a wrong rung; the sink says which of them are findings: it
// confirms, recognises what is known, reduces, isolates and names. It runs beside the campaign, in
// a thread of its own, and uses the campaign's workers.
#pragma once

#include <optional>
#include <string>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"

namespace gradfuzz {

struct Judgement {
  enum class Fate : uint8_t {
    kFinding,      // a bug that this run did not have yet: `finding`
    kRepeat,       // another hit of the finding `id`; `finding` when it should replace the old one
    kUnconfirmed,  // did not come back when run again: no finding
    kUndecided,    // interrupted or could not be told: to be judged again on resume
  };
  Fate fate = Fate::kUndecided;
  std::string id;
  std::optional<Finding> finding;
};

class FindingSink {
 public:
  virtual ~FindingSink() = default;

  // A finding of an earlier part of the same campaign: its hits are repeats from now on.
  virtual void Remember(const Finding& finding) = 0;

  // True when Judge would take it for one more hit of what it has. Quick; asked by Judge's thread.
  virtual bool Recognises(const CaseResult& mismatch) const {
    (void)mismatch;
    return false;
  }

  // `mismatch` has a program, a verdict that IsFinding and a first wrong rung. One call at a time.
  // Long; ends early once runner.Interrupted().
  virtual Judgement Judge(const CaseResult& mismatch, const GenerateOptions& generate,
                          const RunOptions& run, ProgramRunner& runner) = 0;
};

}  // namespace gradfuzz
