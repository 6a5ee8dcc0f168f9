// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/dedup_sink.h"

#include <utility>

namespace gradfuzz::campaign {

DedupSink::DedupSink(const isolate::KnownBugs* known, const std::string& torch_version,
                     isolate::InvestigateOptions options)
    : deduplicator_(known, torch_version), options_(std::move(options)) {
  options_.known = known;
}

void DedupSink::Remember(const Finding& finding) {
  isolate::Investigation investigation;
  investigation.finding = finding;
  investigation.target = isolate::TargetOf(finding.outcome);
  if (investigation.target.device.empty()) investigation.target.device = finding.device;
  investigation.core = isolate::CoreSignature(investigation.target, finding.reduced);
  for (const KnobResult& knob : finding.ablation) {
    if (!knob.removes) continue;
    investigation.cure = {{"knob", {knob.knob, knob.value}}};
    break;
  }
  deduplicator_.Add(std::move(investigation));
  ids_.insert(finding.id);
}

bool DedupSink::Recognises(const CaseResult& mismatch) const {
  return deduplicator_.Recognise(mismatch).has_value();
}

Judgement DedupSink::Judge(const CaseResult& mismatch, const GenerateOptions&,
                           const RunOptions& run, ProgramRunner& runner) {
  using What = isolate::Deduplicator::Handled::What;
  const auto handled = deduplicator_.Handle(runner, mismatch, run, options_);
  Judgement judgement;
  // What an interrupt cut short says nothing.
  if (runner.Interrupted()) return judgement;
  if (handled.what == What::kLost || !handled.index) {
    judgement.fate = Judgement::Fate::kUnconfirmed;
    return judgement;
  }
  const Finding& finding = deduplicator_.findings()[*handled.index].finding;
  judgement.id = finding.id;
  if (finding.confirmed < finding.confirmations) {
    judgement.fate = Judgement::Fate::kUnconfirmed;
  } else if (ids_.insert(finding.id).second) {
    judgement.fate = Judgement::Fate::kFinding;
    judgement.finding = finding;
  } else {
    judgement.fate = Judgement::Fate::kRepeat;
    if (handled.smaller) judgement.finding = finding;
  }
  return judgement;
}

}  // namespace gradfuzz::campaign
