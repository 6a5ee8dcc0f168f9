// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/triage.h"

#include <utility>

#include "gradfuzz/isolate/knobs.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/support/clock.h"

namespace gradfuzz::triage {
namespace {

using nlohmann::json;

class Triager {
 public:
  Triager(ProgramRunner& runner, const TriageOptions& options)
      : runner_(runner), options_(options) {}

  Result<Report> Run(const ScriptSource& source) {
    const double start = MonotonicSeconds();
    out_.source = source;
    auto evidence = Gather(runner_, options_.gather);
    if (!evidence) return evidence.error();
    out_.evidence = std::move(*evidence);
    out_.decision = Decide(out_.evidence);
    if (out_.decision.ruling == Ruling::kBug && !options_.verdict_only) {
      if (out_.decision.reason == Reason::kWrongCall) {
        Investigate();
      } else {
        Repeat();
      }
    }
    if (options_.bisect && out_.decision.ruling == Ruling::kBug) Bisect();
    out_.seconds = MonotonicSeconds() - start;
    return std::move(out_);
  }

 private:
  void Say(const std::string& what) const {
    if (options_.gather.on_progress) options_.gather.on_progress(what);
  }

  void Unclear(const std::string& sentence) {
    out_.decision.ruling = Ruling::kUnclear;
    out_.decision.reason = Reason::kNondeterministic;
    out_.decision.sentence = sentence;
  }

  void Investigate() {
    const CallEvidence& e = out_.evidence.calls[*out_.decision.call];
    isolate::InvestigateOptions options = options_.investigate;
    if (!options.on_progress) options.on_progress = options_.gather.on_progress;
    out_.investigation = isolate::Investigate(runner_, e.result, e.run, options);
    const isolate::Investigation& found = *out_.investigation;
    if (found.finding.reduction.status == "lost" || found.finding.reduction.status == "flaky") {
      Unclear("a wrong result was seen, but not again: " + out_.decision.sentence);
      return;
    }
    // The full ladder on the confirmed program has the last word on the layer.
    if (!found.finding.first_wrong_rung.empty() && found.finding.reduction.queries == 0) {
      out_.decision.first_wrong_rung = found.finding.first_wrong_rung;
    }
  }

  // The reduced program's own script where there is one; else the script as it is, for what it is
  // worth: only one that checks itself can be bisected.
  void Bisect() {
    const bool own =
        !out_.investigation ||
        out_.evidence.capture.calls[out_.evidence.calls[*out_.decision.call].call].opaque;
    Say("bisecting");
    auto answer = runner_.Ask(
        {{"type", "bisect"},
         {"text", own ? out_.source.text : report::EmitRepro(out_.investigation->finding)}});
    if (!answer) {
      out_.bisect = {{"error", answer.error().message}};
    } else {
      out_.bisect = std::move(*answer);
      out_.bisect.erase("type");
    }
    if (out_.investigation) out_.investigation->finding.bisect = out_.bisect;
  }

  Result<ScriptRung> Again(const std::string& rung,
                           const std::vector<std::pair<std::string, json>>& knobs) {
    json settings = json::array();
    settings.push_back(json::array({"inductor.fallback_random", true}));
    for (const auto& [name, value] : knobs) settings.push_back(json::array({name, value}));
    auto answer = runner_.Ask({{"type", "script_rung"},
                               {"path", options_.gather.path},
                               {"device", options_.gather.device},
                               {"rung", rung},
                               {"knobs", settings}});
    if (!answer) return answer.error();
    return ScriptRungFromJson(*answer);
  }

  // Whether the blamed rung does it again, and which settings remove it.
  void Repeat() {
    const std::string& rung = out_.decision.first_wrong_rung;
    Say("the script under " + rung + " again");
    auto again = Again(rung, {});
    const bool lost = !again && IsLoss(again.error());
    const bool crash = out_.decision.verdict == Verdict::kCrash;
    if (crash != lost || (again.ok() && !Departs(*again))) {
      Unclear("seen once under " + rung + ", but not the second time: " + out_.decision.sentence);
      return;
    }
    if (!options_.investigate.ablate || crash) return;
    const Deadline deadline = Deadline::After(options_.ablation_seconds);
    for (const isolate::Knob* knob : isolate::KnobsFor(rung, options_.gather.device)) {
      if (deadline.Passed() || runner_.Interrupted()) return;
      KnobResult result;
      result.knob = knob->name;
      result.value = isolate::ValueOf(*knob);
      result.meaning = knob->meaning;
      const auto& known = out_.evidence.environment;
      result.exists = !known.contains("knobs") || known.at("knobs").value(knob->name, false);
      if (result.exists) {
        Say("changing " + result.knob);
        auto changed = Again(rung, {{result.knob, result.value}});
        result.removes = changed.ok() && !Departs(*changed);
        result.verdict = result.removes ? Verdict::kAgree : out_.decision.verdict;
      }
      out_.script_knobs.push_back(std::move(result));
    }
  }

  ProgramRunner& runner_;
  const TriageOptions& options_;
  Report out_;
};

}  // namespace

Result<Report> Triage(ProgramRunner& runner, const ScriptSource& source,
                      const TriageOptions& options) {
  return Triager(runner, options).Run(source);
}

Version TryVersion(ProgramRunner& runner, const std::string& python, const GatherOptions& options) {
  Version version;
  version.python = python;
  auto evidence = Gather(runner, options);
  if (!evidence) {
    version.error = evidence.error().message;
    return version;
  }
  version.environment = evidence->environment;
  version.decision = Decide(*evidence);
  return version;
}

int ExitCode(const Decision& decision) {
  switch (decision.ruling) {
    case Ruling::kNotABug:
      return 0;
    case Ruling::kBug:
      return 1;
    case Ruling::kUnclear:
      break;
  }
  return 4;
}

}  // namespace gradfuzz::triage
