// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/dedup.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/isolate/neighbours.h"
#include "gradfuzz/program/cost.h"
#include "gradfuzz/reduce/op_class.h"

namespace gradfuzz::isolate {
namespace {

bool IsPowerOfTwo(int n) { return n > 0 && (n & (n - 1)) == 0; }

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// True when every operator of `reduced` is called in `program`.
bool CallsAll(const program::Program& program, const program::Program& reduced) {
  std::set<std::string> called;
  for (const program::Statement& s : program.statements) called.insert(reduce::BareName(s.op));
  return std::ranges::all_of(reduced.statements, [&](const program::Statement& s) {
    return called.count(reduce::BareName(s.op)) > 0;
  });
}

}  // namespace

Deduplicator::Deduplicator(const KnownBugs* known, std::string torch_version)
    : known_(known), torch_version_(std::move(torch_version)) {}

std::optional<size_t> Deduplicator::Recognise(const CaseResult& seen) const {
  const Target target = TargetOf(seen.outcome);
  if (target.bug == BugClass::kNone) return std::nullopt;
  const std::string pre = PreSignature(target);
  const KnownBug* bug = Entry(target, seen);
  for (size_t i = 0; i < findings_.size(); ++i) {
    const Known& known = findings_[i];
    if (known.bug != nullptr) {
      if (known.bug == bug) return i;
      continue;
    }
    if (!pre.empty()) {
      if (known.core == pre) return i;
      continue;
    }
    // The screening rungs may blame a higher one than the full ladder did.
    if (known.target.bug != target.bug || known.target.device != target.device) continue;
    if (known.target.rung != target.rung && target.rung != "inductor") continue;
    if (!seen.program) continue;
    if (!Contains(*seen.program, SkeletonOf(known.finding.reduced))) continue;
    // Without a cure to ask, a skeleton such as "pointwise" would take in whatever comes.
    if (known.cure.is_null() && !CallsAll(*seen.program, known.finding.reduced)) continue;
    return i;
  }
  return std::nullopt;
}

const KnownBug* Deduplicator::Entry(const Target& target, const CaseResult& seen) const {
  if (known_ == nullptr || !seen.program) return nullptr;
  return known_->Match(target, *seen.program, std::nullopt, torch_version_);
}

std::optional<size_t> Deduplicator::AddKnown(const CaseResult& seen) {
  const Target target = TargetOf(seen.outcome);
  const KnownBug* bug = target.bug == BugClass::kNone ? nullptr : Entry(target, seen);
  if (bug == nullptr) return std::nullopt;
  Known known;
  known.target = target;
  known.bug = bug;
  known.cure = bug->cure;
  Finding& f = known.finding;
  f.hits = 0;
  f.first_seed = seen.seed;
  f.original = f.reduced = *seen.program;
  f.outcome = seen.outcome;
  f.verdict = seen.outcome.verdict;
  f.first_wrong_rung = target.rung;
  f.device = target.device;
  f.title = bug->title;
  f.known_issue = bug->issue.empty() ? bug->title : bug->issue;
  f.reduction.status = "not reduced";
  f.reduction.statements_before = f.reduction.statements_after =
      static_cast<int>(f.original.statements.size());
  f.signature = std::string("known | ") + Name(target.bug) + " | " + target.rung + " | " +
                target.device + " | " + bug->title;
  f.id = FindingId(f.signature);
  findings_.push_back(std::move(known));
  return findings_.size() - 1;
}

bool Deduplicator::WantsCheck(size_t known) const {
  const Known& k = findings_[known];
  if (IsError(k.target.bug) || k.cure.is_null()) return false;
  const int next = k.finding.hits + 1;
  return k.checked < kAlwaysChecked || (next >= 8 && IsPowerOfTwo(next));
}

bool Deduplicator::Explains(size_t known, const CaseResult& seen, const RunOptions& run,
                            ProgramRunner& runner) const {
  const Known& k = findings_[known];
  RunOptions with = run;
  with.pack = 1;
  with.self_checks = k.target.bug == BugClass::kSelfCheck;
  program::Program program = *seen.program;
  if (k.cure.contains("knob")) {
    with.knobs.emplace_back(k.cure["knob"][0].get<std::string>(), k.cure["knob"][1]);
  } else if (k.cure.contains("separator")) {
    program = WithSeparators(program, k.cure["separator"].get<std::string>());
  } else {
    return true;
  }
  const auto results = runner.Run({{std::nullopt, program}}, {}, with);
  return !results.empty() && !IsFinding(results.front().outcome.verdict);
}

void Deduplicator::CountHit(size_t known, const CaseResult& seen, bool was_checked) {
  Known& k = findings_[known];
  ++k.finding.hits;
  if (was_checked) ++k.checked;
  if (seen.seed && (!k.finding.first_seed || *seen.seed < *k.finding.first_seed)) {
    k.finding.first_seed = seen.seed;
  }
  if (k.bug != nullptr && seen.program &&
      program::CostOf(*seen.program) < program::CostOf(k.finding.reduced)) {
    k.finding.original = k.finding.reduced = *seen.program;
    k.finding.outcome = seen.outcome;
  }
}

bool Deduplicator::SeenCore(const std::string& core) const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [&](const Known& known) { return known.core == core; });
}

Deduplicator::Added Deduplicator::Add(Investigation investigation) {
  Finding& finding = investigation.finding;
  for (size_t i = 0; i < findings_.size(); ++i) {
    Known& known = findings_[i];
    if (known.bug != nullptr) continue;
    // What was cut short has no cause of its own: the core decides.
    const bool same = investigation.cut_short ? known.core == investigation.core
                                              : known.finding.signature == finding.signature;
    if (!same) continue;
    known.finding.hits += finding.hits;
    if (finding.first_seed &&
        (!known.finding.first_seed || *finding.first_seed < *known.finding.first_seed)) {
      known.finding.first_seed = finding.first_seed;
    }
    Added added{i, false, false};
    // Ablation and neighbours are of the old program: they go with the new one only if it has its
    // own.
    if (!investigation.cut_short &&
        program::CostOf(finding.reduced) < program::CostOf(known.finding.reduced)) {
      finding.hits = known.finding.hits;
      finding.first_seed = known.finding.first_seed;
      known.finding = std::move(finding);
      known.cure = std::move(investigation.cure);
      added.smaller = true;
    }
    return added;
  }
  findings_.push_back({std::move(finding), std::move(investigation.target),
                       std::move(investigation.core), std::move(investigation.cure), nullptr, 0});
  return {findings_.size() - 1, true, false};
}

Deduplicator::Handled Deduplicator::Handle(ProgramRunner& runner, const CaseResult& seen,
                                           const RunOptions& run,
                                           const InvestigateOptions& options) {
  const double start = Now();
  Handled handled;
  const auto done = [&](Handled::What what, std::optional<size_t> index) {
    handled.what = what;
    handled.index = index;
    handled.seconds = Now() - start;
    return handled;
  };
  bool unexplained = false;
  auto known = Recognise(seen);
  if (!known) known = AddKnown(seen);
  if (known) {
    const bool check = WantsCheck(*known);
    if (!check || Explains(*known, seen, run, runner)) {
      CountHit(*known, seen, check);
      return done(Handled::What::kMuted, known);
    }
    unexplained = true;
  }
  InvestigateOptions own = options;
  own.known = known_;
  // What a known bug does not explain may have the same core and another cause: ablation tells.
  if (!unexplained) {
    own.seen_before = [this](const std::string& core) { return SeenCore(core); };
  }
  Investigation investigation = Investigate(runner, seen, run, own);
  const std::string& status = investigation.finding.reduction.status;
  if (status == "lost") return done(Handled::What::kLost, std::nullopt);
  const Added added = Add(std::move(investigation));
  handled.smaller = added.smaller;
  return done(added.is_new ? Handled::What::kNew : Handled::What::kAgain, added.index);
}

}  // namespace gradfuzz::isolate
