// SPDX-License-Identifier: BSD-3-Clause
// One bug, one finding: which mismatches of a campaign are bugs that it already has.
//
//  1. An error of a known text is recognised at no cost.
//  2. A wrong value is recognised by the class of bug, the rung and the operators that meet in the
//     reduced program of a finding. That can be wrong: a program may hold the operators of one bug
//     and show another. So a sample of such hits is checked by removing the known bug from the
//     program (a setting, or an operator between the two that must meet): what is still wrong then
//     is investigated. The sample thins out: the first kAlwaysChecked hits of a finding, then the
//     8th, 16th, 32nd, ...
//  3. Bugs of corpus/known_bugs.json are recognised in the same way, and never reduced.
//  4. A finding that two investigations arrive at is one, with the smaller program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/isolate/investigate.h"
#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"

namespace gradfuzz::isolate {

class Deduplicator {
 public:
  static constexpr int kAlwaysChecked = 3;

  struct Known {
    Finding finding;
    Target target;
    std::string core;
    nlohmann::json cure;            // Investigation::cure, or the entry's
    const KnownBug* bug = nullptr;  // the entry of KnownBugs that it was recognised by, unreduced
    int checked = 0;                // hits that were checked and explained
  };

  // `known` may be null; it must outlive this.
  Deduplicator(const KnownBugs* known, std::string torch_version);

  // The finding that a mismatch looks like one more hit of; a pure look, nothing is counted.
  std::optional<size_t> Recognise(const CaseResult& seen) const;
  // Of a bug that is known from before the campaign: a finding without a hit. RETURNS: nothing when
  // no entry matches.
  std::optional<size_t> AddKnown(const CaseResult& seen);

  // Whether this hit should be checked by Explains before it is counted.
  bool WantsCheck(size_t known) const;
  // Runs the program without the known bug. True: nothing else is wrong with it.
  bool Explains(size_t known, const CaseResult& seen, const RunOptions& run,
                ProgramRunner& runner) const;
  // One more hit; keeps the lowest seed, and the smaller program of a finding that is not reduced.
  void CountHit(size_t known, const CaseResult& seen, bool was_checked);

  bool SeenCore(const std::string& core) const;
  // RETURNS: the index of the finding, and whether it is new. One that is not is a hit of the old
  // one, which takes over the smaller program.
  struct Added {
    size_t index = 0;
    bool is_new = false;
    bool smaller = false;  // the old finding's program was replaced
  };
  Added Add(Investigation investigation);

  const std::vector<Known>& findings() const { return findings_; }

  // All of the above in order. RETURNS: what became of the mismatch.
  struct Handled {
    enum class What : uint8_t { kMuted, kNew, kAgain, kLost };
    What what = What::kLost;
    std::optional<size_t> index;  // nothing for kLost
    bool smaller = false;
    double seconds = 0;
  };
  Handled Handle(ProgramRunner& runner, const CaseResult& seen, const RunOptions& run,
                 const InvestigateOptions& options);

 private:
  const KnownBug* Entry(const Target& target, const CaseResult& seen) const;

  const KnownBugs* known_;
  std::string torch_version_;
  std::vector<Known> findings_;
};

}  // namespace gradfuzz::isolate
