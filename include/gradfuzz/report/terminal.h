// SPDX-License-Identifier: BSD-3-Clause
// What gradfuzz prints about programs, findings and runs, for people.
//
//  1. Text only; colour is an extra, never the only carrier of a meaning.
//  2. Nothing that came from a program, torch or a file can steer the terminal.
//  3. The verdict comes last: that is where the eye is when a command has ended.
#pragma once

#include <string>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/report/summary.h"

namespace gradfuzz::report {

struct TerminalStyle {
  bool color = false;  // the caller looks at NO_COLOR and isatty
  int width = 100;
};

// One program: the Python, its inputs, the table rung x quantity, what is wrong, the verdict.
// Ends in a newline. `name` stands in the first line in place of the seed (a replayed file).
std::string RenderCase(const CaseResult& result, const RunOptions& run, const TerminalStyle& style,
                       const std::string& name = "");

// One finding at the end of a run. `folder` is where its files are, empty = nowhere.
// `with_program`: false for a caller that has shown the reduced program in a form of its own.
std::string RenderFinding(const Finding& finding, const TerminalStyle& style,
                          const std::string& folder = "", bool with_program = true);

// The last lines of a run: what was done, what was found, what it cost.
std::string RenderTotals(const RunSummary& summary, const TerminalStyle& style);

}  // namespace gradfuzz::report
