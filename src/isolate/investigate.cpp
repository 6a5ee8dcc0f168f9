// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/investigate.h"

#include <algorithm>

#include "gradfuzz/isolate/ablation.h"
#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/isolate/neighbours.h"
#include "gradfuzz/isolate/runner_tester.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/support/check.h"

namespace gradfuzz::isolate {
namespace {

using nlohmann::json;
using program::Program;

// The rungs of the side branches, put where the ladder has them. They are never blamed.
void AddSideRungs(ProgramRunner& runner, const Program& program, RunOptions run,
                  const json& description, Outcome* outcome) {
  run.rungs = SideRungs(description);
  if (run.rungs.size() < 2) return;
  const auto results = runner.Run({{std::nullopt, program}}, {}, run);
  if (results.empty()) return;
  for (const RungOutcome& rung : results.front().outcome.rungs) {
    if (rung.rung != "eager") outcome->rungs.push_back(rung);
  }
  const auto place = [](const RungOutcome& rung) {
    const auto ladder = Ladder();
    return std::find_if(ladder.begin(), ladder.end(),
                        [&](const Rung& row) { return rung.rung == row.name; }) -
           ladder.begin();
  };
  std::stable_sort(outcome->rungs.begin(), outcome->rungs.end(),
                   [&](const RungOutcome& a, const RungOutcome& b) { return place(a) < place(b); });
}

class Investigator {
 public:
  Investigator(ProgramRunner& runner, const CaseResult& seen, const RunOptions& run,
               const InvestigateOptions& options)
      : runner_(runner), seen_(seen), run_(run), options_(options) {}

  Investigation Run() {
    GF_CHECK(seen_.program.has_value(), "only a program can be investigated");
    description_ = DescribeWithKnobs(runner_);
    Finding& f = out_.finding;
    f.first_seed = seen_.seed;
    f.original = *seen_.program;
    f.reduced = f.original;
    f.environment = description_;
    f.outcome = seen_.outcome;
    f.confirmations = options_.confirmations;
    out_.target = TargetOf(seen_.outcome);

    if (!SeeAgain()) {
      GiveUp("lost");
      return std::move(out_);
    }
    if (!Reduce()) return std::move(out_);
    Climb();
    Ask();
    Conclude();
    return std::move(out_);
  }

 private:
  void Say(const std::string& what) const {
    if (options_.on_progress) options_.on_progress(what);
  }

  // A finding of the original, which did not last.
  void GiveUp(const std::string& status) {
    Finding& f = out_.finding;
    f.reduction.status = status;
    f.reduction.statements_before = f.reduction.statements_after =
        static_cast<int>(f.original.statements.size());
    f.verdict = seen_.outcome.verdict;
    f.first_wrong_rung = out_.target.rung;
    f.device = out_.target.device.empty() ? run_.device : out_.target.device;
    out_.core = CoreSignature(out_.target, f.reduced);
    f.signature = Signature(out_.target, f.reduced, "") + " | " + status;
    f.id = FindingId(f.signature);
    f.title = report::Title(f);
  }

  // The original on the main rungs under default flags: the rung that is wrong first may lie
  // between the screening ones.
  bool SeeAgain() {
    Say("looking again");
    RunOptions run = run_;
    run.fast = false;
    run.fresh_caches = false;
    run.pack = 1;
    run.rungs = MainRungs(description_);
    const auto results = runner_.Run({{std::nullopt, *seen_.program}}, {}, run);
    if (results.empty()) return false;
    Target target = TargetOf(results.front().outcome);
    // A process that died may have died in a phase that is no rung.
    if (target.rung.empty() && IsError(target.bug)) target.rung = out_.target.rung;
    if (target.bug == BugClass::kNone) return false;
    out_.target = target;
    if (out_.target.device.empty()) out_.target.device = run_.device;
    out_.finding.outcome = results.front().outcome;
    out_.finding.run = run;
    return true;
  }

  // RETURNS: false when the bug did not last.
  bool Reduce() {
    Finding& f = out_.finding;
    tester_.emplace(runner_, out_.target, run_, description_);
    reduce::ReduceOptions reduction = options_.reduction;
    reduction.confirmations = options_.confirmations;
    reduction.wrong_outputs = WrongOutputs(f.outcome);
    reduction.wrong_leaves = WrongLeaves(f.outcome);
    if (!options_.reduce) reduction.max_queries = 0;
    if (out_.target.bug == BugClass::kTimeout) {
      // Each query would take as long as the deadline.
      f.reduction.status = "not reduced";
      f.reduction.statements_before = f.reduction.statements_after =
          static_cast<int>(f.original.statements.size());
      f.confirmed = 1;
      f.confirmations = 1;
      return true;
    }
    Say("reducing");
    out_.reduction = reduce::Reduce(f.original, *tester_, reduction);
    const reduce::ReduceResult& r = out_.reduction;
    f.reduced = r.program;
    f.confirmed = r.confirmed;
    f.reduction = {options_.reduce ? reduce::Name(r.status) : "not reduced",
                   r.queries,
                   r.unresolved,
                   r.slipped,
                   r.seconds,
                   static_cast<int>(f.original.statements.size()),
                   static_cast<int>(f.reduced.statements.size())};
    if (r.status == reduce::Status::kLost ||
        (r.status == reduce::Status::kFlaky && r.confirmed < options_.confirmations)) {
      GiveUp(reduce::Name(r.status));
      out_.finding.reduction.queries = r.queries;
      out_.finding.reduction.seconds = r.seconds;
      return false;
    }
    return true;
  }

  // The full ladder for the reduced program.
  void Climb() {
    if (out_.target.bug == BugClass::kTimeout) {
      out_.core = CoreSignature(out_.target, out_.finding.reduced);
      return;
    }
    Say("climbing the ladder");
    Finding& f = out_.finding;
    RunOptions run = tester_->ConfirmOptions();
    run.fresh_caches = false;
    run.rungs = MainRungs(description_);
    const auto results = runner_.Run({{std::nullopt, f.reduced}}, {}, run);
    if (results.empty() || TargetOf(results.front().outcome).bug == BugClass::kNone) {
      if (!tester_->confirmations().empty()) f.outcome = tester_->confirmations().front().outcome;
    } else {
      f.outcome = results.front().outcome;
    }
    f.run = run;
    const Target shown = TargetOf(f.outcome);
    if (shown.bug != BugClass::kNone && !shown.rung.empty()) out_.target = shown;
    AddSideRungs(runner_, f.reduced, run, description_, &f.outcome);
    f.run.rungs = MainRungs(description_);
    out_.core = CoreSignature(out_.target, f.reduced);
  }

  void Ask() {
    Finding& f = out_.finding;
    if (options_.seen_before && options_.seen_before(out_.core)) {
      out_.cut_short = true;
      return;
    }
    if (out_.target.bug == BugClass::kTimeout) return;
    const RunOptions search = tester_->SearchOptions();
    Triggers triggers;
    if (options_.neighbours > 0 && !runner_.Interrupted()) {
      Say("trying neighbours");
      const auto devices = description_.value("devices", std::vector<std::string>{run_.device});
      const auto values = tester_->Shapes(f.reduced);
      const auto neighbours =
          NeighboursOf(f.reduced, values ? *values : std::vector<reduce::ValueInfo>(),
                       out_.target.device, devices, options_.neighbours);
      triggers =
          TryNeighbours(runner_, neighbours, out_.target, search, options_.neighbour_seconds);
      f.triggers = std::move(triggers.rows);
    }
    if (options_.ablate && !runner_.Interrupted()) {
      Say("changing settings");
      Ablation ablation =
          Ablate(runner_, f.reduced, triggers.wrong, out_.target, search, description_);
      f.ablation = std::move(ablation.results);
      f.workaround = std::move(ablation.workaround);
      out_.cause = std::move(ablation.cause);
      if (ablation.cure) out_.cure = {{"knob", {ablation.cure->first, ablation.cure->second}}};
    }
    // No setting helps: perhaps an operator in between does.
    if (f.workaround.empty()) f.workaround = triggers.workaround;
    if (out_.cure.is_null() && !triggers.separator.empty()) {
      out_.cure = {{"separator", triggers.separator}};
    }
  }

  void Conclude() {
    Finding& f = out_.finding;
    f.verdict = f.outcome.verdict;
    f.first_wrong_rung = out_.target.rung;
    f.device = out_.target.device;
    f.signature = Signature(out_.target, f.reduced, out_.cause);
    f.id = FindingId(f.signature);
    f.title = report::Title(f);
    if (options_.known == nullptr) return;
    const std::optional<std::string> cause =
        out_.cut_short || !options_.ablate ? std::nullopt : std::optional(out_.cause);
    if (const KnownBug* bug =
            options_.known->Match(out_.target, f.reduced, cause, description_.value("torch", ""))) {
      f.known_issue = bug->issue.empty() ? bug->title : bug->issue;
    }
  }

  ProgramRunner& runner_;
  const CaseResult& seen_;
  RunOptions run_;
  const InvestigateOptions& options_;
  json description_;
  std::optional<RunnerTester> tester_;
  Investigation out_;
};

}  // namespace

Investigation Investigate(ProgramRunner& runner, const CaseResult& seen, const RunOptions& run,
                          const InvestigateOptions& options) {
  return Investigator(runner, seen, run, options).Run();
}

json DescribeWithKnobs(ProgramRunner& runner) {
  auto answer = runner.Ask({{"type", "describe"}, {"knobs", KnobNames()}});
  if (!answer || !answer->is_object()) return json::object();
  json description = std::move(*answer);
  description.erase("type");
  return description;
}

}  // namespace gradfuzz::isolate
