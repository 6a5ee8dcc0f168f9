// SPDX-License-Identifier: BSD-3-Clause
// The full sink: recognises, reduces, isolates and names (isolate/dedup.h).
#pragma once

#include <set>
#include <string>

#include "gradfuzz/isolate/dedup.h"
#include "gradfuzz/message/sink.h"

namespace gradfuzz::campaign {

class DedupSink : public FindingSink {
 public:
  // `known` may be null and must outlive this. `torch_version` as the worker describes it.
  DedupSink(const isolate::KnownBugs* known, const std::string& torch_version,
            isolate::InvestigateOptions options);

  void Remember(const Finding& finding) override;
  bool Recognises(const CaseResult& mismatch) const override;
  Judgement Judge(const CaseResult& mismatch, const GenerateOptions& generate,
                  const RunOptions& run, ProgramRunner& runner) override;

 private:
  isolate::Deduplicator deduplicator_;
  isolate::InvestigateOptions options_;
  std::set<std::string> ids_;  // of the findings that were handed out or remembered
};

}  // namespace gradfuzz::campaign
