// SPDX-License-Identifier: BSD-3-Clause
// The sink of a real campaign: recognises what is known, reduces, isolates and names the rest.
#pragma once

#include <functional>
#include <string>

#include "gradfuzz/isolate/dedup.h"
#include "gradfuzz/message/sink.h"

namespace gradfuzz::campaign {

class IsolatingSink : public FindingSink {
 public:
  // `known` may be null; it must outlive this.
  IsolatingSink(const isolate::KnownBugs* known, std::string torch_version,
                isolate::InvestigateOptions options);

  void Remember(const Finding& finding) override;
  Judgement Judge(const CaseResult& mismatch, const GenerateOptions& generate,
                  const RunOptions& run, ProgramRunner& runner) override;

 private:
  isolate::Deduplicator dedup_;
  isolate::InvestigateOptions options_;
};

}  // namespace gradfuzz::campaign
