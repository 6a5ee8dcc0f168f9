// SPDX-License-Identifier: BSD-3-Clause
// Returns fewer values, or an earlier one.
//
//   return v3, v5 -> return v5        return v5 -> return v4
#include <algorithm>
#include <numeric>

#include "all.h"

namespace gradfuzz::reduce {

std::vector<Candidate> Outputs(const program::Program& program, const Facts& facts) {
  std::vector<Candidate> out;
  const size_t n = program.outputs.size();
  if (n > 1) {
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    // An output that was seen to be wrong is likely to be enough.
    std::stable_partition(order.begin(), order.end(), [&](size_t i) {
      return std::find(facts.wrong_outputs.begin(), facts.wrong_outputs.end(), i) !=
             facts.wrong_outputs.end();
    });
    for (size_t i : order) {
      out.push_back({program::KeepOutputs(program, {i}), "only output " + std::to_string(i)});
    }
    for (size_t i = n; n > 2 && i-- > 0;) {
      std::vector<size_t> rest(n);
      std::iota(rest.begin(), rest.end(), size_t{0});
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      out.push_back({program::KeepOutputs(program, rest), "drop output " + std::to_string(i)});
    }
  }
  // An earlier value alone: the statements after it go. The last ones first.
  const auto leaves = static_cast<program::ValueId>(program.leaves.size());
  for (program::ValueId id = program::ValueCount(program) - 1; id >= leaves; --id) {
    const auto info = static_cast<size_t>(id);
    if (info < facts.values.size() && !facts.values[info].is_tensor) continue;
    program::Output output{id, {}};
    output.cotangent.values.low = 1;  // no zeros: they would hide a gradient
    for (const program::Output& old : program.outputs) {
      if (old.value == id) output.cotangent = old.cotangent;
    }
    out.push_back({program::WithOutput(program, output), "return v" + std::to_string(id)});
  }
  return out;
}

}  // namespace gradfuzz::reduce
