// SPDX-License-Identifier: BSD-3-Clause
// The plain sink: confirms, and tells bugs apart by verdict, rung, device and operators. It does
// not reduce.
#pragma once

#include <set>
#include <string>

#include "gradfuzz/message/sink.h"

namespace gradfuzz::campaign {

// `run` as a finding is confirmed: fresh process, empty caches, unpacked, default flags.
RunOptions StrictRun(RunOptions run);

class ConfirmingSink : public FindingSink {
 public:
  explicit ConfirmingSink(int confirmations = 3) : confirmations_(confirmations) {}

  void Remember(const Finding& finding) override;
  // kFinding only when each of the runs shows the same verdict at the same rung.
  Judgement Judge(const CaseResult& mismatch, const GenerateOptions& generate,
                  const RunOptions& run, ProgramRunner& runner) override;

 private:
  int confirmations_;
  std::set<std::string> ids_;
};

}  // namespace gradfuzz::campaign
