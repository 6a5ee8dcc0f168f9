// SPDX-License-Identifier: BSD-3-Clause
// Neighbours of the reduced program: each differs from it in one respect. Tried, they say what
// triggers the bug and what does not; a report shows them as one table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradfuzz/isolate/signature.h"
#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/reduce/tester.h"

namespace gradfuzz::isolate {

struct Neighbour {
  std::string axis;    // "aggregation", "op", "in between", "argument", "dtype", ...
  std::string change;  // "sum -> mean"
  program::Program program;
  std::string device;      // empty: the finding's own
  std::string workaround;  // how a user makes this change where it is harmless; mostly empty
};

// At most `limit`, every axis first in turn, so that none is starved. `values`: what is known of
// the program's values (may be empty); `devices`: those that the worker has.
std::vector<Neighbour> NeighboursOf(const program::Program& program,
                                    const std::vector<reduce::ValueInfo>& values,
                                    const std::string& device,
                                    const std::vector<std::string>& devices, size_t limit);

struct Triggers {
  std::vector<TriggerRow> rows;
  std::vector<program::Program> wrong;  // a few that show the bug, as different as they come
  std::string workaround;  // of the first neighbour that has one and is right; may be empty
  // That neighbour's change, for Explains (dedup.h): which operator, put where, hides the bug.
  std::string separator;
};
// Runs them, packed, some at a time; after `max_seconds` no more are begun, and their rows say so:
// some programs take minutes to compile, and so do their neighbours. `run`: the options of the
// search.
Triggers TryNeighbours(ProgramRunner& runner, const std::vector<Neighbour>& neighbours,
                       const Target& target, const RunOptions& run, double max_seconds);

// Puts `separator` ("clone", "mul by 2", ...; a row of the table of what goes in between) on every
// edge between two statements. For asking whether a bug that it hides is all that a larger program
// shows.
program::Program WithSeparators(const program::Program& program, const std::string& separator);

}  // namespace gradfuzz::isolate
