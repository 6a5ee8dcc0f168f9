// SPDX-License-Identifier: BSD-3-Clause
// Leaves statements out; an operand takes the place of the result.
//
//   v2 = mul(v1, x0); v3 = sum(v2) -> v2 = sum(v1)
#include <algorithm>
#include <optional>

#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::Program;
using program::Selection;
using program::ValueId;

std::optional<Program> Without(const Program& program, size_t first, size_t count) {
  Selection selection = Selection::All(program);
  for (size_t i = first; i < first + count; ++i) {
    selection.statements[i] = false;
    const auto uses = program::Uses(program.statements[i]);
    if (uses.empty()) continue;
    const ValueId result = program::FirstResult(program, i);
    for (int r = 0; r < program.statements[i].results; ++r) {
      selection.stand_ins[result + r] = uses.front();
    }
  }
  auto out = program::Select(program, selection);
  if (out) out = program::DropDead(*out);
  return out;
}

}  // namespace

std::vector<Candidate> Statements(const Program& program, const Facts& facts) {
  std::vector<Candidate> out;
  const size_t n = program.statements.size();
  // Long programs: halves, quarters, ... first.
  for (size_t count = n / 2; count >= 2; count /= 2) {
    for (size_t first = 0; first + count <= n; first += count) {
      if (auto smaller = Without(program, first, count)) {
        out.push_back({std::move(*smaller),
                       "without " + std::to_string(first) + "+" + std::to_string(count)});
      }
    }
  }
  for (size_t i = n; i-- > 0;) {
    const program::Statement& statement = program.statements[i];
    const ValueId result = program::FirstResult(program, i);
    std::vector<ValueId> operands = program::Uses(statement);
    // An operand of the result's own shape is the natural one.
    const auto same_shape = [&](ValueId id) {
      const auto a = static_cast<size_t>(id), b = static_cast<size_t>(result);
      return statement.results > 0 && b < facts.values.size() && a < facts.values.size() &&
             facts.values[a].sizes == facts.values[b].sizes &&
             facts.values[a].dtype == facts.values[b].dtype;
    };
    std::stable_partition(operands.begin(), operands.end(), same_shape);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(k),
                    operands[k]) != operands.begin() + static_cast<std::ptrdiff_t>(k)) {
        continue;
      }
      Selection selection = Selection::All(program);
      selection.statements[i] = false;
      for (int r = 0; r < statement.results; ++r) selection.stand_ins[result + r] = operands[k];
      if (auto smaller = program::Select(program, selection)) {
        out.push_back({program::DropDead(*smaller), statement.op + " " + std::to_string(i) +
                                                        " -> operand " + std::to_string(k)});
      }
    }
    if (operands.empty()) {
      if (auto smaller = Without(program, i, 1)) {
        out.push_back({std::move(*smaller), "without " + std::to_string(i)});
      }
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
