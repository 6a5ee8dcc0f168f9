// SPDX-License-Identifier: BSD-3-Clause
// Makes a leaf of an intermediate value: what made it goes.
//
//   v1 = sin(x0); v2 = amax(v1) -> v1 = amax(x0)
#include "all.h"
#include "fresh.h"

namespace gradfuzz::reduce {

std::vector<Candidate> Cuts(const program::Program& program, const Facts& facts) {
  std::vector<Candidate> out;
  const auto leaves = static_cast<program::ValueId>(program.leaves.size());
  for (program::ValueId id = program::ValueCount(program) - 1; id >= leaves; --id) {
    const auto fresh = FreshFor(program, facts, id);
    if (!fresh) continue;
    if (auto smaller = program::CutAt(program, id, *fresh)) {
      out.push_back({std::move(*smaller), "cut v" + std::to_string(id)});
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
