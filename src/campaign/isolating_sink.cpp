// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/isolating_sink.h"

#include <utility>

#include "gradfuzz/isolate/signature.h"

namespace gradfuzz::campaign {

IsolatingSink::IsolatingSink(const isolate::KnownBugs* known, std::string torch_version,
                             isolate::InvestigateOptions options)
    : dedup_(known, std::move(torch_version)), options_(std::move(options)) {
  options_.known = known;
}

void IsolatingSink::Remember(const Finding& finding) {
  isolate::Investigation earlier;
  earlier.finding = finding;
  earlier.target = isolate::TargetOf(finding.outcome);
  earlier.core = isolate::CoreSignature(earlier.target, finding.reduced);
  dedup_.Add(std::move(earlier));
}

Judgement IsolatingSink::Judge(const CaseResult& mismatch, const GenerateOptions& /*generate*/,
                               const RunOptions& run, ProgramRunner& runner) {
  const auto handled = dedup_.Handle(runner, mismatch, run, options_);
  Judgement judgement;
  if (!handled.index) {
    judgement.fate =
        runner.Interrupted() ? Judgement::Fate::kUndecided : Judgement::Fate::kUnconfirmed;
    return judgement;
  }
  const Finding& finding = dedup_.findings()[*handled.index].finding;
  judgement.id = finding.id;
  using What = isolate::Deduplicator::Handled::What;
  // A known bug is recognised before anything is investigated: its first hit is new to the store.
  const bool is_first = handled.what == What::kNew || finding.hits <= 1;
  judgement.fate = is_first ? Judgement::Fate::kFinding : Judgement::Fate::kRepeat;
  if (is_first || handled.smaller) judgement.finding = finding;
  return judgement;
}

}  // namespace gradfuzz::campaign
