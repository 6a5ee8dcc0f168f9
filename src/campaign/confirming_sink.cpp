// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/confirming_sink.h"

#include <algorithm>
#include <vector>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/support/hash.h"

namespace gradfuzz::campaign {
namespace {

// Enough for a folder's name: two of a thousand findings collide once in 10^9 campaigns.
constexpr size_t kIdLength = 12;

std::string SignatureOf(const CaseResult& seen, const std::string& device) {
  return std::string(Name(seen.outcome.verdict)) + " | " + seen.outcome.first_wrong_rung + " | " +
         device + " | " + program::OpChain(*seen.program);
}

}  // namespace

RunOptions StrictRun(RunOptions run) {
  run.fresh_caches = true;
  run.fast = false;
  run.pack = 1;
  return run;
}

void ConfirmingSink::Remember(const Finding& finding) { ids_.insert(finding.id); }

Judgement ConfirmingSink::Judge(const CaseResult& mismatch, const GenerateOptions& generate,
                                const RunOptions& run, ProgramRunner& runner) {
  Judgement judgement;
  const std::string signature = SignatureOf(mismatch, run.device);
  const std::string id = Hex64(Fnv1a(signature)).substr(0, kIdLength);
  if (ids_.count(id) > 0) {
    judgement.fate = Judgement::Fate::kRepeat;
    judgement.id = id;
    return judgement;
  }
  const RunOptions strict = StrictRun(run);
  const std::vector<WorkItem> items(static_cast<size_t>(confirmations_),
                                    WorkItem{mismatch.seed, mismatch.program});
  const std::vector<CaseResult> results = runner.Run(items, generate, strict);
  if (runner.Interrupted()) return judgement;
  const auto confirmed = std::count_if(results.begin(), results.end(), [&](const CaseResult& r) {
    return r.outcome.verdict == mismatch.outcome.verdict &&
           r.outcome.first_wrong_rung == mismatch.outcome.first_wrong_rung;
  });
  if (confirmed < confirmations_) {
    judgement.fate = Judgement::Fate::kUnconfirmed;
    return judgement;
  }
  Finding finding;
  finding.id = id;
  finding.signature = signature;
  finding.verdict = mismatch.outcome.verdict;
  finding.first_wrong_rung = mismatch.outcome.first_wrong_rung;
  finding.device = run.device;
  finding.first_seed = mismatch.seed;
  finding.original = *mismatch.program;
  finding.reduced = *mismatch.program;
  finding.outcome = results.front().outcome;
  finding.run = strict;
  finding.reduction.status = "not reduced";
  finding.reduction.statements_before = static_cast<int>(mismatch.program->statements.size());
  finding.reduction.statements_after = finding.reduction.statements_before;
  finding.confirmed = static_cast<int>(confirmed);
  finding.confirmations = confirmations_;
  if (auto description = runner.Ask({{"type", "describe"}})) {
    finding.environment = std::move(*description);
  }
  finding.title = report::Title(finding);
  ids_.insert(id);
  judgement.fate = Judgement::Fate::kFinding;
  judgement.id = id;
  judgement.finding = std::move(finding);
  return judgement;
}

}  // namespace gradfuzz::campaign
