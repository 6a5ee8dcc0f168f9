// SPDX-License-Identifier: BSD-3-Clause
// Reduction: from a program that shows a bug to one that no single simplification makes simpler.
//
// Delta debugging (Zeller and Hildebrandt, 2002) on the program's own structure, in rounds. A round
// takes the next untried candidates of all passes, as many as cost the price of one, and tests
// them together. Of those that show the bug the cheapest is the new program; what the others
// changed is made again in it, all at once, and tried first in the next round. The search ends when
// no pass has an untried candidate. Then the result is confirmed under strict conditions; when that
// fails, the search goes back along its path to the last program that holds, and on from there with
// strict tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gradfuzz/program/program.h"
#include "gradfuzz/reduce/pass.h"
#include "gradfuzz/reduce/passes.h"
#include "gradfuzz/reduce/tester.h"

namespace gradfuzz::reduce {

enum class Status : uint8_t {
  kMinimal,      // no pass has a simpler program that shows the bug
  kQueryBudget,  // the best so far, confirmed
  kTimeBudget,
  kInterrupted,
  kFlaky,  // shows the bug at times only; the program is the smallest that was confirmed, or the
           // original
  kLost,   // the original does not show the bug when run again
};
const char* Name(Status status);  // "minimal", "query budget", ...

struct ReduceOptions {
  int max_queries = 1200;
  double max_seconds = 120;
  int min_queries = 0;              // the clock does not count before: a busy machine is no excuse
  int confirmations = 3;            // strict runs of the result, all of which must show the bug
  std::function<double()> seconds;  // a clock; empty = the steady clock
  std::span<const Pass> passes = AllPasses();
  std::vector<size_t> wrong_outputs, wrong_leaves;  // Facts of the original
};

struct Step {
  std::string pass, change;
  int queries = 0;  // so far
};

struct ReduceResult {
  program::Program program;
  Status status = Status::kLost;
  int queries = 0;     // programs tested, confirmations included
  int unresolved = 0;  // of them, those that could not be told
  int slipped = 0;     // of them, those that showed another bug and were refused
  int confirmed = 0;   // strict runs of the result that showed the bug
  double seconds = 0;
  std::vector<Step> path;  // what was accepted, in order
};

// REQUIRES: Validate(program) is empty.
// RETURNS: a valid program that costs no more than the original and has at least one statement.
ReduceResult Reduce(const program::Program& program, Tester& tester, const ReduceOptions& options);

}  // namespace gradfuzz::reduce
