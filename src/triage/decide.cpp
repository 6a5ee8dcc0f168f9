// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/decide.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>
#include <vector>

#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/text.h"

namespace gradfuzz::triage {
namespace {

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The place of a rung in the ladder; those that it lacks come last.
size_t Place(const std::string& rung) {
  const auto ladder = isolate::Ladder();
  const auto found = std::find_if(ladder.begin(), ladder.end(),
                                  [&](const isolate::Rung& row) { return rung == row.name; });
  return static_cast<size_t>(found - ladder.begin());
}

void KeepLower(const std::string& rung, std::string* lowest) {
  if (lowest->empty() || Place(rung) < Place(*lowest)) *lowest = rung;
}

// --- One call --------------------------------------------------------------------------------

struct CallRuling {
  Ruling ruling = Ruling::kNotABug;
  Reason reason = Reason::kAgrees;
};

// An accepted call in which something lies outside the default tolerances.
Reason ReasonForAgreement(const Outcome& outcome) {
  Reason reason = Reason::kAgrees;
  for (const RungOutcome& rung : outcome.rungs) {
    if (rung.rung == "eager") continue;
    for (const Comparison& c : rung.comparisons) {
      if (c.assert_close) continue;
      if (c.max_error <= c.eager_error) return Reason::kNearerToReference;
      reason = Reason::kRounding;
    }
  }
  return reason;
}

CallRuling Rule(const CapturedCall& call, const CallEvidence& evidence) {
  const Outcome& outcome = evidence.result.outcome;
  switch (outcome.verdict) {
    case Verdict::kAgree:
      return {Ruling::kNotABug, ReasonForAgreement(outcome)};
    case Verdict::kConvention:
      return {Ruling::kNotABug, Reason::kConvention};
    case Verdict::kUnsupported:
      return {Ruling::kNotABug, Reason::kRefusal};
    case Verdict::kIllConditioned:
      return {Ruling::kNotABug, ReasonForAgreement(outcome) == Reason::kNearerToReference
                                    ? Reason::kNearerToReference
                                    : Reason::kIllConditioned};
    case Verdict::kTradeOff:
      return {Ruling::kNotABug, ReasonForAgreement(outcome) == Reason::kNearerToReference
                                    ? Reason::kNearerToReference
                                    : Reason::kTradeOff};
    case Verdict::kInvalid:
      return {Ruling::kUnclear, Reason::kInvalid};
    case Verdict::kTimeout:
      return {Ruling::kUnclear, Reason::kLost};
    case Verdict::kCrash:
      // A function that kills eager is nothing to compare with.
      if (evidence.result.phase == "eager") return {Ruling::kUnclear, Reason::kLost};
      return {Ruling::kBug, Reason::kWrongCall};
    default:
      break;
  }
  if (outcome.verdict == Verdict::kNondeterministic && outcome.first_wrong_rung == "eager") {
    return {Ruling::kNotABug, Reason::kNondeterministic};
  }
  if (Has(call.hazards, kDuplicatesHazard)) return {Ruling::kNotABug, Reason::kDuplicateIndices};
  if (Has(call.hazards, kUninitialisedHazard) && evidence.initialised &&
      !IsFinding(evidence.initialised->verdict)) {
    return {Ruling::kNotABug, Reason::kUninitialised};
  }
  return {Ruling::kBug, Reason::kWrongCall};
}

// A sentence of the report about x0, x1, ... with the names that the script has for them.
std::string WithNames(const std::string& text, const std::vector<std::string>& names) {
  static const std::regex kLeaf(R"(\bx(\d+)\b)");
  std::string out;
  auto rest = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), kLeaf), end; it != end; ++it) {
    const size_t leaf = std::strtoul((*it)[1].str().c_str(), nullptr, 10);
    out.append(rest, (*it)[0].first);
    out += leaf < names.size() && !names[leaf].empty() ? names[leaf] : (*it)[0].str();
    rest = (*it)[0].second;
  }
  return out.append(rest, text.end());
}

// --- The script as a whole -------------------------------------------------------------------

// Off by far more than any tolerance that people use: what no call explains is then a bug.
bool IsGross(const Difference& d) {
  if (d.kind == "tensor") return d.wrong > 0 || d.nan;
  if (d.kind == "number") {
    const double eager = std::strtod(d.eager.c_str(), nullptr);
    const double got = std::strtod(d.got.c_str(), nullptr);
    return !(std::abs(eager - got) <= 1e-5 + 1e-3 * std::abs(eager));
  }
  return true;
}

class Scales {
 public:
  explicit Scales(const Evidence& evidence) : evidence_(evidence) {
    for (const CallEvidence& e : evidence.calls) {
      rulings_.push_back(Rule(evidence.capture.calls[e.call], e));
    }
    for (const ScriptRung& rung : evidence.rungs) {
      if (rung.rung != "eager") continue;
      for (const Difference& d : rung.differences) unsteady_.insert(Key(d));
    }
  }

  Decision Weigh() {
    FindFirstDifferent();
    if (!WrongCall() && !OwnCheck() && !ErrorOfARung() && !OnlyTheWhole() && !NothingToCompare()) {
      NotABug();
    }
    return std::move(out_);
  }

 private:
  static std::string Key(const Difference& d) {
    return (d.call ? std::to_string(*d.call) : "-") + " " + d.what;
  }

  void Set(Ruling ruling, Reason reason, std::string sentence) {
    out_.ruling = ruling;
    out_.reason = reason;
    out_.sentence = std::move(sentence);
  }

  void FindFirstDifferent() {
    for (const CallEvidence& e : evidence_.calls) {
      for (const RungOutcome& rung : e.result.outcome.rungs) {
        if (rung.rung != "eager" && Departs(rung)) KeepLower(rung.rung, &out_.first_different_rung);
      }
      if (!e.result.outcome.first_wrong_rung.empty()) {
        KeepLower(e.result.outcome.first_wrong_rung, &out_.first_different_rung);
      }
    }
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.rung != "eager" && Departs(rung)) KeepLower(rung.rung, &out_.first_different_rung);
    }
  }

  bool WrongCall() {
    for (size_t i = 0; i < rulings_.size(); ++i) {
      if (rulings_[i].ruling != Ruling::kBug) continue;
      const Outcome& outcome = evidence_.calls[i].result.outcome;
      if (out_.call && Graver(out_.verdict, outcome.verdict) == out_.verdict) continue;
      out_.call = i;
      out_.verdict = outcome.verdict;
      out_.first_wrong_rung = outcome.first_wrong_rung.empty() ? evidence_.calls[i].result.phase
                                                               : outcome.first_wrong_rung;
    }
    if (!out_.call) return false;
    const CallEvidence& e = evidence_.calls[*out_.call];
    out_.device = e.run.device;
    const std::string accusation =
        WithNames(report::Accusation(e.result.outcome), evidence_.capture.calls[e.call].names);
    Set(Ruling::kBug, Reason::kWrongCall,
        accusation.empty() ? std::string(InWords(out_.verdict)) + " (" + e.result.outcome.note + ")"
                           : accusation);
    return true;
  }

  bool OwnCheck() {
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.rung == "eager" || !rung.check.value_or(false)) continue;
      // Wrong with nothing compiled: the check says so of any backend.
      const ScriptRung* eager = Eager();
      if (eager != nullptr && eager->check.value_or(false)) return false;
      out_.verdict = VerdictOfScript(rung);
      Blame(rung);
      Set(Ruling::kBug, Reason::kOwnCheck,
          "the script's own check() fails" +
              (rung.check_detail.empty() ? "" : ": " + report::OneLine(rung.check_detail)));
      return true;
    }
    return false;
  }

  // What is wrong, as far as the differences between the runs tell.
  static Verdict VerdictOfScript(const ScriptRung& rung) {
    Verdict verdict = Verdict::kAgree;
    for (const Difference& d : rung.differences) {
      if (d.assert_close) continue;
      Verdict own = Verdict::kForwardMismatch;
      if (!d.call) own = Verdict::kGradientMismatch;
      if (d.kind == "metadata" || d.kind == "requires_grad") own = Verdict::kMetadataMismatch;
      if (d.what.starts_with("input")) own = Verdict::kInputMutationMismatch;
      if (d.nan) own = Verdict::kNanMismatch;
      verdict = Graver(verdict, own);
    }
    return verdict == Verdict::kAgree ? Verdict::kForwardMismatch : verdict;
  }

  const ScriptRung* Eager() const {
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.rung == "eager") return &rung;
    }
    return nullptr;
  }

  void Blame(const ScriptRung& rung) {
    out_.first_wrong_rung = rung.rung;
    out_.device = rung.device;
  }

  // Compile errors, errors of compiled code, crashes: not the script's own objections.
  bool ErrorOfARung() {
    const ScriptRung* eager = Eager();
    if (eager == nullptr || !eager->lost.empty() || eager->error) return false;
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.rung == "eager") continue;
      if (!rung.lost.empty()) {
        if (rung.lost.starts_with(kTooSlow)) continue;
        out_.verdict = Verdict::kCrash;
        Blame(rung);
        Set(Ruling::kBug, Reason::kScriptOnly,
            "the script's process " + rung.lost + "; in eager it ends as it should");
        return true;
      }
      if (!rung.error || rung.eager_error || rung.error->own) continue;
      const std::string text =
          report::Shorten(report::OneLine(rung.error->type + ": " + rung.error->message), 300);
      Blame(rung);
      if (rung.error->kind == "unsupported") {
        out_.first_wrong_rung.clear();
        Set(Ruling::kNotABug, Reason::kRefusal,
            rung.rung + " says that it does not do this: " + text);
        return true;
      }
      out_.verdict =
          rung.error->kind == "compile" ? Verdict::kCompileError : Verdict::kRuntimeError;
      Set(Ruling::kBug, Reason::kScriptOnly, text);
      return true;
    }
    return false;
  }

  // Whether what is known of the calls accounts for a difference in the script's run.
  bool Explained(const Difference& d) const {
    for (size_t i = 0; i < rulings_.size(); ++i) {
      const CapturedCall& call = evidence_.capture.calls[evidence_.calls[i].call];
      if (d.call &&
          std::find(call.numbers.begin(), call.numbers.end(), *d.call) == call.numbers.end()) {
        continue;
      }
      if (rulings_[i].ruling == Ruling::kNotABug && rulings_[i].reason != Reason::kAgrees) {
        return true;
      }
    }
    return false;
  }

  bool OnlyTheWhole() {
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.rung == "eager" || !rung.lost.empty()) continue;
      for (const Difference& d : rung.differences) {
        if (d.assert_close || !IsGross(d) || unsteady_.count(Key(d)) > 0 || Explained(d)) continue;
        out_.verdict = VerdictOfScript(rung);
        Blame(rung);
        Set(Ruling::kBug, Reason::kScriptOnly,
            "the script as a whole differs from eager in " + Describe(d) +
                "; no compiled call by itself does");
        return true;
      }
    }
    return false;
  }

  static std::string Describe(const Difference& d) {
    std::string text = d.call ? "call " + std::to_string(*d.call) + ", " + d.what : d.what;
    if (d.kind == "tensor") {
      text += ": " + report::Thousands(d.wrong) + " of " + report::Thousands(d.numel) +
              " elements wrong" + (d.all_zero ? ", all zero" : "");
    } else {
      text += " (" + d.kind + "): eager " + report::OneLine(d.eager) + ", here " +
              report::OneLine(d.got);
    }
    return text;
  }

  // "the script fails in eager at line 9 (los.backward()): NameError: ..."
  static std::string Failure(const ScriptError& e) {
    std::string where = e.line > 0 ? " at line " + std::to_string(e.line) : "";
    if (!e.source.empty()) where += " (" + report::OneLine(e.source) + ")";
    const std::string message = report::Shorten(report::OneLine(e.message), 300);
    if (e.syntax) return "the script is no valid Python" + where + ": " + message;
    if (e.type == "SystemExit") return "the script leaves" + where + ": " + message;
    return "the script fails in eager" + where + ": " + e.type +
           (message.empty() ? "" : ": " + message);
  }

  // What a person can do about a process that was lost.
  static std::string Remedy(const std::string& lost) {
    if (lost.starts_with(kTooSlow)) return " (--deadline gives it more)";
    if (lost.find("of memory and was killed") != std::string::npos) {
      return " (--memory gives it more)";
    }
    return "";
  }

  bool NothingToCompare() {
    const Capture& capture = evidence_.capture;
    if (!evidence_.lost.empty()) {
      Set(Ruling::kUnclear, Reason::kLost,
          "the script's process " + evidence_.lost + " in eager, before anything was compiled" +
              Remedy(evidence_.lost));
      return true;
    }
    if (capture.error) {
      Set(Ruling::kUnclear, Reason::kScriptError, Failure(*capture.error));
      return true;
    }
    if (capture.calls.empty() && capture.form != "check") {
      Set(Ruling::kUnclear, Reason::kNothingCompiled,
          capture.functions > 0 ? "the script compiles a function but never calls it"
                                : "the script never calls torch.compile");
      return true;
    }
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.lost.empty()) continue;
      Set(Ruling::kUnclear, Reason::kLost,
          "under " + rung.rung + " the script's process " + rung.lost + Remedy(rung.lost));
      return true;
    }
    return false;
  }

  void NotABug() {
    // The most telling reason that a call has; unclear ones only where nothing is known better.
    constexpr Reason kOrder[] = {Reason::kDuplicateIndices, Reason::kUninitialised,
                                 Reason::kNondeterministic, Reason::kRefusal,
                                 Reason::kConvention,       Reason::kNearerToReference,
                                 Reason::kIllConditioned,   Reason::kTradeOff,
                                 Reason::kRounding,         Reason::kLost,
                                 Reason::kInvalid,          Reason::kAgrees};
    for (const Reason reason : kOrder) {
      for (size_t i = 0; i < rulings_.size(); ++i) {
        if (rulings_[i].reason != reason) continue;
        out_.call = i;
        out_.device = evidence_.calls[i].run.device;
        Set(rulings_[i].ruling, reason, Why(reason, evidence_.calls[i]));
        return;
      }
    }
    if (!unsteady_.empty()) {
      Set(Ruling::kNotABug, Reason::kNondeterministic,
          "the script differs from itself when it is run twice in eager");
      return;
    }
    Set(Ruling::kNotABug, Reason::kAgrees, "every rung does what eager does");
  }

  std::string Why(Reason reason, const CallEvidence& e) const {
    const Outcome& outcome = e.result.outcome;
    switch (reason) {
      case Reason::kDuplicateIndices:
        return "the call writes different values to one place (duplicate indices without "
               "accumulate): torch leaves the result undefined";
      case Reason::kUninitialised:
        return "the result holds uninitialised memory (torch.empty); with zeros in its place every "
               "rung agrees";
      case Reason::kNondeterministic:
        return "eager differs from itself when it is run again";
      case Reason::kRefusal:
        return Refusal(outcome);
      case Reason::kConvention:
        return "a tie or a kink is resolved otherwise than in eager; both are legal" +
               Note(outcome);
      case Reason::kNearerToReference:
        return "the compiled result is nearer to float64 than eager's" + Errors(outcome);
      case Reason::kIllConditioned:
        return "the computation cannot tell right from wrong: rounding alone moves its result by "
               "that much" +
               Errors(outcome);
      case Reason::kTradeOff:
        return "a documented trade-off of precision" + Note(outcome);
      case Reason::kRounding:
        return "outside the default tolerances, but no more than rounding alone can do here" +
               Errors(outcome);
      case Reason::kLost:
      case Reason::kInvalid:
        return outcome.note.empty() ? "the call could not be run" : outcome.note;
      default:
        break;
    }
    for (const ScriptRung& rung : evidence_.rungs) {
      if (rung.error && rung.error->own && !rung.eager_error) {
        return "every rung agrees with eager to within a few units in the last place; the script's "
               "own check at line " +
               std::to_string(rung.error->line) + " asks for more than compilers promise";
      }
    }
    return "every rung agrees with eager";
  }

  static std::string Note(const Outcome& outcome) {
    return outcome.note.empty() ? "" : ": " + outcome.note;
  }

  static std::string Refusal(const Outcome& outcome) {
    for (const RungOutcome& rung : outcome.rungs) {
      if (rung.verdict == Verdict::kUnsupported) {
        return rung.rung + " says that it does not do this: " +
               report::Shorten(report::OneLine(rung.error), 300);
      }
    }
    return "an explicit refusal";
  }

  // "; output 0: eager is off by 2e-2, inductor by 1e-3"
  static std::string Errors(const Outcome& outcome) {
    const Comparison* worst = nullptr;
    std::string name;
    for (const RungOutcome& rung : outcome.rungs) {
      for (const Comparison& c : rung.comparisons) {
        if (rung.rung == "eager" || c.assert_close) continue;
        if (worst != nullptr && worst->max_error >= c.max_error) continue;
        worst = &c;
        name = rung.rung;
      }
    }
    if (worst == nullptr) return "";
    return ": in " + report::QuantityInWords(worst->what) + " eager is off by " +
           report::Rough(worst->eager_error) + ", " + name + " by " +
           report::Rough(worst->max_error);
  }

  const Evidence& evidence_;
  std::vector<CallRuling> rulings_;  // of evidence_.calls
  std::set<std::string> unsteady_;   // quantities that differ between two runs in eager
  Decision out_;
};

}  // namespace

const char* Name(Ruling ruling) {
  switch (ruling) {
    case Ruling::kBug:
      return "bug";
    case Ruling::kNotABug:
      return "not a bug";
    case Ruling::kUnclear:
      break;
  }
  return "could not tell";
}

const char* Name(Reason reason) {
  static constexpr const char* kNames[] = {
      "wrong_call", "own_check",        "script_only",          "agrees",
      "rounding",   "nearer",           "ill_conditioned",      "convention",
      "trade_off",  "nondeterministic", "uninitialised_memory", "duplicate_indices",
      "refusal",    "script_error",     "nothing_compiled",     "lost",
      "invalid"};
  return kNames[static_cast<size_t>(reason)];
}

bool Departs(const ScriptRung& rung) {
  if (!rung.lost.empty() || rung.check.value_or(false)) return true;
  if (rung.error && !rung.eager_error) return true;
  return std::any_of(rung.differences.begin(), rung.differences.end(),
                     [](const Difference& d) { return !d.assert_close; });
}

bool Departs(const RungOutcome& rung) {
  if (!rung.error.empty() || IsFinding(rung.verdict)) return true;
  return std::any_of(rung.comparisons.begin(), rung.comparisons.end(),
                     [](const Comparison& c) { return !c.assert_close; });
}

Decision Decide(const Evidence& evidence) { return Scales(evidence).Weigh(); }

}  // namespace gradfuzz::triage
