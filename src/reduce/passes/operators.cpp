// SPDX-License-Identifier: BSD-3-Clause
// Calls a simpler operator of the same class, the function in place of the method.
//
//   asinh(x0) -> sin(x0)        (never across classes: that would be another bug)
#include "all.h"
#include "gradfuzz/program/cost.h"
#include "gradfuzz/reduce/op_class.h"

namespace gradfuzz::reduce {
namespace {

constexpr size_t kMaxTries = 3;  // of each statement, the simplest first

}  // namespace

std::vector<Candidate> Operators(const program::Program& program, const Facts&) {
  std::vector<Candidate> out;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    size_t tries = 0;
    for (program::Statement& other : Interchangeable(program.statements[i], true)) {
      if (++tries > kMaxTries) break;
      const std::string change = std::to_string(i) + " -> " + other.op;
      program::Program simpler = program;
      simpler.statements[i] = std::move(other);
      out.push_back({std::move(simpler), change});
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
