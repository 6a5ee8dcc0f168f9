// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradfuzz/report/text.h"
#include "unit/report/golden.h"
#include "unit/report/sample.h"

namespace gradfuzz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CaseResult CaseOf(const Finding& f) {
  CaseResult result;
  result.seed = f.first_seed;
  result.program = f.reduced;
  result.outcome = f.outcome;
  result.seconds = 4.2;
  return result;
}

// Keeps what agrees: the case as it looks when torch is right.
CaseResult Clean() {
  Finding f = sample::DiagonalScatter();
  f.outcome.rungs.pop_back();
  f.outcome.verdict = Verdict::kAgree;
  f.outcome.first_wrong_rung.clear();
  return CaseOf(f);
}

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  for (const std::string& line : Lines(text, 100000)) longest = std::max(longest, Width(line));
  return longest;
}

TEST(Terminal, WrongGradientReadsLikeABugReport) {
  const Finding f = sample::Atan2Amin();
  ExpectGolden("case_atan2_amin.txt", RenderCase(CaseOf(f), f.run, {}));
}

TEST(Terminal, CleanCase) { ExpectGolden("case_clean.txt", RenderCase(Clean(), {.draws = 3}, {})); }

TEST(Terminal, CompileErrorAndItsText) {
  const Finding f = sample::CompileError();
  ExpectGolden("case_compile_error.txt", RenderCase(CaseOf(f), f.run, {}, "corpus/open/x.py"));
}

TEST(Terminal, ACaseFitsOnOneScreen) {
  for (const Finding& f : {sample::DiagonalScatter(), sample::Atan2Amin()}) {
    const std::string text = RenderCase(CaseOf(f), f.run, {});
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 45) << text;
    EXPECT_LE(LongestLine(text), 100U) << text;
  }
}

TEST(Terminal, FindingAndTotals) {
  ExpectGolden("finding.txt",
               RenderFinding(sample::DiagonalScatter(), {}, "out/findings/3f1c9a5d2b7e8041"));
  ExpectGolden("totals.txt", RenderTotals(sample::Run(), {}));
}

TEST(Terminal, ColourIsAnExtra) {
  const Finding f = sample::DiagonalScatter();
  const std::string plain = RenderCase(CaseOf(f), f.run, {.color = false});
  std::string colored = RenderCase(CaseOf(f), f.run, {.color = true});
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(colored, HasSubstr("\x1b[1;31m"));
  for (size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) + 1 - at);
  }
  EXPECT_EQ(colored, plain);
}

TEST(Terminal, NothingForeignSteersTheTerminal) {
  const Finding f = sample::Hostile();
  for (const std::string& text : {RenderCase(CaseOf(f), f.run, {}, sample::kHostile),
                                  RenderFinding(f, {}, sample::kHostile)}) {
    for (char c : text) {
      EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F)) << int{c};
    }
    EXPECT_THAT(text, HasSubstr("\\x1b[2J"));
  }
}

TEST(Terminal, ManyColumnsStackInsteadOfOverflowing) {
  CaseResult result = Clean();
  for (RungOutcome& r : result.outcome.rungs) {
    for (int i = 2; i < 20; ++i)
      r.comparisons.push_back(sample::Right("grad x" + std::to_string(i), {2}));
  }
  const std::string text = RenderCase(result, RunOptions{}, {.color = false, .width = 80});
  EXPECT_LE(LongestLine(text), 80U) << text;
  EXPECT_THAT(text, HasSubstr("grad x19"));
}

TEST(Terminal, RightInputsShareAColumnWrongOnesDoNot) {
  CaseResult result = Clean();
  for (RungOutcome& r : result.outcome.rungs) {
    for (const char* what : {"input x0", "input x1"})
      r.comparisons.push_back(sample::Right(what, {3}));
  }
  EXPECT_THAT(RenderCase(result, RunOptions{}, {}), HasSubstr("grad x1  inputs after\n"));
  Comparison& written = result.outcome.rungs.back().comparisons.back();
  written.verdict = result.outcome.verdict = result.outcome.rungs.back().verdict =
      Verdict::kInputMutationMismatch;
  const std::string text = RenderCase(result, RunOptions{}, {});
  EXPECT_THAT(text, HasSubstr("grad x1  input x0  input x1\n"));
  EXPECT_THAT(text, HasSubstr("x1 after the call"));
}

TEST(Terminal, LostWorkerWithoutAProgram) {
  CaseResult result;
  result.seed = 9;
  result.phase = "inductor";
  result.outcome.verdict = Verdict::kCrash;
  result.outcome.note = "signal 11 (SIGSEGV)";
  const std::string text = RenderCase(result, RunOptions{}, {});
  EXPECT_THAT(text, HasSubstr("WRONG: crashes the process"));
  EXPECT_THAT(text, HasSubstr("phase inductor"));
  EXPECT_THAT(text, HasSubstr("SIGSEGV"));
}

TEST(Terminal, NoFindingSaysWhy) {
  CaseResult result = Clean();
  result.outcome.verdict = Verdict::kInvalid;
  result.outcome.rungs.resize(1);
  result.outcome.rungs[0].verdict = Verdict::kInvalid;
  result.outcome.rungs[0].error = "RuntimeError: shapes differ";
  const std::string text = RenderCase(result, RunOptions{}, {});
  EXPECT_THAT(text, HasSubstr("NO FINDING: eager rejects the program"));
  EXPECT_THAT(text, HasSubstr("shapes differ"));
}

}  // namespace
}  // namespace gradfuzz::report
