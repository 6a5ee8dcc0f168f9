// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/decide.h"

#include <gtest/gtest.h>

#include <utility>

namespace gradfuzz::triage {
namespace {

RungOutcome Rung(const std::string& name, Verdict verdict = Verdict::kAgree) {
  RungOutcome rung;
  rung.rung = name;
  rung.device = "cpu";
  rung.verdict = verdict;
  Comparison c;
  c.what = "grad x0";
  c.verdict = verdict;
  c.assert_close = !IsFinding(verdict);
  rung.comparisons.push_back(c);
  return rung;
}

// One compiled call; `wrong_from`: the first rung with `verdict`, empty = none.
Evidence OneCall(Verdict verdict = Verdict::kAgree, const std::string& wrong_from = "") {
  Evidence e;
  e.capture.form = "script";
  CapturedCall call;
  call.function = "f";
  call.numbers = {0};
  e.capture.calls.push_back(call);
  e.capture.functions = 1;
  CallEvidence seen;
  seen.run.device = "cpu";
  bool wrong = false;
  for (const char* name : {"eager", "dynamo", "aot_eager", "inductor"}) {
    wrong = wrong || name == wrong_from;
    seen.result.outcome.rungs.push_back(Rung(name, wrong ? verdict : Verdict::kAgree));
    ScriptRung rung;
    rung.rung = name;
    rung.device = "cpu";
    rung.calls = rung.graphs = 1;
    e.rungs.push_back(rung);
  }
  seen.result.outcome.verdict = verdict;
  if (IsFinding(verdict)) seen.result.outcome.first_wrong_rung = wrong_from;
  e.calls.push_back(std::move(seen));
  return e;
}

ScriptRung& RungOf(Evidence& e, const std::string& name) {
  for (ScriptRung& rung : e.rungs) {
    if (rung.rung == name) return rung;
  }
  std::abort();
}

Difference Off(int64_t wrong = 3) {
  Difference d;
  d.call = 0;
  d.what = "out0";
  d.kind = "tensor";
  d.numel = 4;
  d.wrong = wrong;
  d.max_error = 1;
  d.scale = 1;
  return d;
}

TEST(Decide, AllAgree) {
  const Decision d = Decide(OneCall());
  EXPECT_EQ(d.ruling, Ruling::kNotABug);
  EXPECT_EQ(d.reason, Reason::kAgrees);
  EXPECT_EQ(d.first_different_rung, "");
}

TEST(Decide, WrongCallIsABugSinceItsFirstWrongRung) {
  const Decision d = Decide(OneCall(Verdict::kGradientMismatch, "aot_eager"));
  EXPECT_EQ(d.ruling, Ruling::kBug);
  EXPECT_EQ(d.reason, Reason::kWrongCall);
  EXPECT_EQ(d.verdict, Verdict::kGradientMismatch);
  EXPECT_EQ(d.first_wrong_rung, "aot_eager");
  EXPECT_EQ(d.first_different_rung, "aot_eager");
  EXPECT_EQ(d.call, 0U);
}

TEST(Decide, SpeaksOfArgumentsByTheirNamesInTheScript) {
  Evidence e = OneCall(Verdict::kGradientMismatch, "inductor");
  EXPECT_NE(Decide(e).sentence.find("of x0"), std::string::npos) << Decide(e).sentence;
  e.capture.calls[0].names = {"weight"};
  EXPECT_NE(Decide(e).sentence.find("of weight"), std::string::npos) << Decide(e).sentence;
}

TEST(Decide, TheGravestOfSeveralWrongCalls) {
  Evidence e = OneCall(Verdict::kMetadataMismatch, "dynamo");
  Evidence other = OneCall(Verdict::kGradientMismatch, "inductor");
  other.calls[0].call = 1;
  e.capture.calls.push_back(other.capture.calls[0]);
  e.calls.push_back(other.calls[0]);
  const Decision d = Decide(e);
  EXPECT_EQ(d.call, 1U);
  EXPECT_EQ(d.first_wrong_rung, "inductor");
  EXPECT_EQ(d.first_different_rung, "dynamo");
}

TEST(Decide, VerdictsOfTheOracleThatAreNoBug) {
  const std::pair<Verdict, Reason> rows[] = {
      {Verdict::kConvention, Reason::kConvention},
      {Verdict::kUnsupported, Reason::kRefusal},
      {Verdict::kIllConditioned, Reason::kIllConditioned},
      {Verdict::kTradeOff, Reason::kTradeOff},
  };
  for (const auto& [verdict, reason] : rows) {
    const Decision d = Decide(OneCall(verdict, "inductor"));
    EXPECT_EQ(d.ruling, Ruling::kNotABug) << Name(verdict);
    EXPECT_EQ(d.reason, reason) << Name(verdict);
  }
}

TEST(Decide, EagerThatDiffersFromItselfIsNoBugOfTheCompiler) {
  EXPECT_EQ(Decide(OneCall(Verdict::kNondeterministic, "eager")).reason, Reason::kNondeterministic);
  EXPECT_EQ(Decide(OneCall(Verdict::kNondeterministic, "inductor")).ruling, Ruling::kBug);
}

TEST(Decide, NearerToFloat64) {
  Evidence e = OneCall();
  Comparison& c = e.calls[0].result.outcome.rungs[3].comparisons[0];
  c.assert_close = false;
  c.eager_error = 0.2;
  c.max_error = 0.1;
  RungOf(e, "inductor").differences.push_back(Off());
  const Decision nearer = Decide(e);
  EXPECT_EQ(nearer.ruling, Ruling::kNotABug);
  EXPECT_EQ(nearer.reason, Reason::kNearerToReference);
  EXPECT_EQ(nearer.first_different_rung, "inductor");
  c.max_error = 0.3;
  EXPECT_EQ(Decide(e).reason, Reason::kRounding);
}

TEST(Decide, UndefinedProgramsAreNoBug) {
  Evidence duplicates = OneCall(Verdict::kForwardMismatch, "inductor");
  duplicates.capture.calls[0].hazards = {kDuplicatesHazard};
  EXPECT_EQ(Decide(duplicates).reason, Reason::kDuplicateIndices);

  Evidence empty = OneCall(Verdict::kForwardMismatch, "inductor");
  empty.capture.calls[0].hazards = {kUninitialisedHazard};
  empty.calls[0].initialised = Outcome{};
  EXPECT_EQ(Decide(empty).reason, Reason::kUninitialised);
  // With zeros in place of what was not initialised it is still wrong.
  empty.calls[0].initialised->verdict = Verdict::kForwardMismatch;
  EXPECT_EQ(Decide(empty).ruling, Ruling::kBug);
}

TEST(Decide, ScriptErrorIsNoVerdict) {
  Evidence e;
  e.capture.form = "script";
  e.capture.error =
      ScriptError{"NameError", "name 'los' is not defined", 11, "los.backward()", "", true};
  const Decision d = Decide(e);
  EXPECT_EQ(d.ruling, Ruling::kUnclear);
  EXPECT_EQ(d.reason, Reason::kScriptError);
  EXPECT_NE(d.sentence.find("line 11"), std::string::npos);
}

TEST(Decide, WaysInWhichAScriptFails) {
  Evidence e;
  e.capture.error =
      ScriptError{"SyntaxError", "'(' was never closed", 2, "def f(x:", "", true, true};
  EXPECT_EQ(Decide(e).sentence,
            "the script is no valid Python at line 2 (def f(x:): '(' was never closed");
  e.capture.error = ScriptError{"SystemExit", "exit code 3", 3, "sys.exit(3)", "", true};
  EXPECT_EQ(Decide(e).sentence, "the script leaves at line 3 (sys.exit(3)): exit code 3");
  e.capture.error = ScriptError{"AssertionError", "", 4, "assert ok", "", true};
  EXPECT_EQ(Decide(e).sentence, "the script fails in eager at line 4 (assert ok): AssertionError");
}

TEST(Decide, WrongCallBeforeTheScriptFailsIsABug) {
  Evidence e = OneCall(Verdict::kForwardMismatch, "inductor");
  e.capture.error = ScriptError{"NameError", "name 'los' is not defined", 11, "", "", true};
  EXPECT_EQ(Decide(e).ruling, Ruling::kBug);
}

TEST(Decide, NothingCompiled) {
  Evidence e;
  e.capture.form = "script";
  EXPECT_EQ(Decide(e).reason, Reason::kNothingCompiled);
}

TEST(Decide, OwnCheck) {
  Evidence e = OneCall();
  e.capture.form = "check";
  for (ScriptRung& rung : e.rungs) rung.check = rung.rung == "aot_eager" || rung.rung == "inductor";
  const Decision d = Decide(e);
  EXPECT_EQ(d.reason, Reason::kOwnCheck);
  EXPECT_EQ(d.first_wrong_rung, "aot_eager");
  // A check that fails with nothing compiled says nothing of a compiler.
  RungOf(e, "eager").check = true;
  EXPECT_NE(Decide(e).ruling, Ruling::kBug);
}

TEST(Decide, OwnAssertionAloneIsNoBug) {
  Evidence e = OneCall();
  RungOf(e, "inductor").error = ScriptError{"AssertionError", "not equal", 17, "", "runtime", true};
  const Decision d = Decide(e);
  EXPECT_EQ(d.ruling, Ruling::kNotABug);
  EXPECT_EQ(d.first_different_rung, "inductor");
  EXPECT_NE(d.sentence.find("line 17"), std::string::npos);
}

TEST(Decide, ErrorsOfARungThatAreNotTheScriptsOwn) {
  const std::pair<const char*, Verdict> rows[] = {{"compile", Verdict::kCompileError},
                                                  {"runtime", Verdict::kRuntimeError}};
  for (const auto& [kind, verdict] : rows) {
    Evidence e = OneCall();
    e.calls.clear();
    RungOf(e, "inductor").error = ScriptError{"InductorError", "text", 0, "", kind, false};
    const Decision d = Decide(e);
    EXPECT_EQ(d.ruling, Ruling::kBug);
    EXPECT_EQ(d.verdict, verdict);
    EXPECT_EQ(d.first_wrong_rung, "inductor");
  }
  Evidence refused = OneCall();
  refused.calls.clear();
  RungOf(refused, "dynamo").error = ScriptError{"Unsupported", "text", 0, "", "unsupported", false};
  EXPECT_EQ(Decide(refused).reason, Reason::kRefusal);
}

TEST(Decide, DifferenceThatOnlyTheWholeScriptShows) {
  Evidence e = OneCall();
  RungOf(e, "inductor").differences.push_back(Off());
  const Decision d = Decide(e);
  EXPECT_EQ(d.ruling, Ruling::kBug);
  EXPECT_EQ(d.reason, Reason::kScriptOnly);
  EXPECT_EQ(d.first_wrong_rung, "inductor");
}

TEST(Decide, DifferenceThatEagerShowsAgainstItselfIsNoBug) {
  Evidence e = OneCall();
  RungOf(e, "inductor").differences.push_back(Off());
  RungOf(e, "eager").differences.push_back(Off());
  EXPECT_NE(Decide(e).ruling, Ruling::kBug);
}

TEST(Decide, DifferenceThatACallExplainsIsNoBug) {
  Evidence e = OneCall(Verdict::kIllConditioned, "inductor");
  RungOf(e, "inductor").differences.push_back(Off());
  EXPECT_EQ(Decide(e).reason, Reason::kIllConditioned);
  // The explanation is of call 0; call 1 has none.
  RungOf(e, "inductor").differences[0].call = 1;
  EXPECT_EQ(Decide(e).ruling, Ruling::kBug);
}

TEST(Decide, SmallDifferenceIsNoBugByItself) {
  Evidence e = OneCall();
  e.calls.clear();
  RungOf(e, "inductor").differences.push_back(Off(0));
  EXPECT_EQ(Decide(e).ruling, Ruling::kNotABug);
}

TEST(Decide, CrashUnderOneRung) {
  Evidence e = OneCall();
  e.calls.clear();
  RungOf(e, "inductor").lost = "was killed by SIGSEGV";
  EXPECT_EQ(Decide(e).verdict, Verdict::kCrash);
  RungOf(e, "eager").lost = "was killed by SIGSEGV";
  const Decision d = Decide(e);
  EXPECT_EQ(d.ruling, Ruling::kUnclear);
  EXPECT_EQ(d.reason, Reason::kLost);
}

TEST(Decide, SlowRungIsNotACrash) {
  Evidence e = OneCall();
  e.calls.clear();
  RungOf(e, "inductor").lost = "did not end within 120 s";
  const Decision d = Decide(e);
  EXPECT_EQ(d.ruling, Ruling::kUnclear);
  EXPECT_EQ(d.sentence,
            "under inductor the script's process did not end within 120 s (--deadline gives it "
            "more)");
}

}  // namespace
}  // namespace gradfuzz::triage
