// SPDX-License-Identifier: BSD-3-Clause
// reduce::Tester by running programs on workers.
//
// Searching uses quick compiler flags and compiles several candidates together; strict tests use
// default flags, one program at a time, and for Confirm a fresh process each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gradfuzz/isolate/signature.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/reduce/tester.h"

namespace gradfuzz::isolate {

class RunnerTester : public reduce::Tester {
 public:
  // `run`: device, draws, knobs and planted fault of the run that saw the bug. `description`: the
  // worker's `describe` answer.
  RunnerTester(ProgramRunner& runner, Target target, RunOptions run, nlohmann::json description);

  std::vector<reduce::Answer> Test(const std::vector<program::Program>& candidates) override;
  std::vector<reduce::Answer> Confirm(const program::Program& program, int times) override;
  int BatchSize(const program::Program& program) const override;
  void BeStrict() override { strict_ = true; }
  std::optional<std::vector<reduce::ValueInfo>> Shapes(const program::Program& program) override;
  bool Interrupted() const override { return runner_.Interrupted(); }

  bool strict() const { return strict_; }
  // The options of the search as it is now: for neighbours and ablation, which ask many programs,
  // too.
  RunOptions SearchOptions() const;
  RunOptions ConfirmOptions() const;  // in fresh processes
  // The results of the last Confirm.
  const std::vector<CaseResult>& confirmations() const { return confirmations_; }

 private:
  std::vector<reduce::Answer> Answers(const std::vector<CaseResult>& results);

  ProgramRunner& runner_;
  Target target_;
  RunOptions run_;
  nlohmann::json description_;
  std::set<std::string> kinds_;  // that the program to reduce has wrong; empty until it ran
  bool strict_ = false;
  std::vector<CaseResult> confirmations_;
};

// What a result says of the question whether `target` shows. `kinds`: WrongKinds of the program
// that is reduced; empty = any.
reduce::Answer AnswerFor(const Target& target, const std::set<std::string>& kinds,
                         const CaseResult& result);

// Parses the answer to {"type": "shapes"}; nothing when it is malformed.
std::optional<std::vector<reduce::ValueInfo>> ValueInfosFrom(const nlohmann::json& answer);

}  // namespace gradfuzz::isolate
