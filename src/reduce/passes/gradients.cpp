// SPDX-License-Identifier: BSD-3-Clause
// Asks for fewer gradients.
//
//   x0.requires_grad_(), x1.requires_grad_() -> x0.requires_grad_()
#include <algorithm>
#include <numeric>

#include "all.h"

namespace gradfuzz::reduce {
namespace {

void SetGradient(program::Program* program, size_t leaf, bool value) {
  program->leaves[leaf].requires_grad = value;
  if (!program->call.second_leaves.empty()) {
    program->call.second_leaves[leaf].requires_grad = value;
  }
}

}  // namespace

std::vector<Candidate> Gradients(const program::Program& program, const Facts& facts) {
  std::vector<Candidate> out;
  std::vector<size_t> with;
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (program.leaves[i].requires_grad) with.push_back(i);
  }
  if (with.empty()) return out;
  program::Program none = program;
  for (size_t i : with) SetGradient(&none, i, false);
  out.push_back({none, "no gradient"});
  if (with.size() == 1) return out;
  std::vector<size_t> order = with;
  std::stable_partition(order.begin(), order.end(), [&](size_t i) {
    return std::find(facts.wrong_leaves.begin(), facts.wrong_leaves.end(), i) !=
           facts.wrong_leaves.end();
  });
  for (size_t i : order) {
    program::Program only = none;
    SetGradient(&only, i, true);
    out.push_back({std::move(only), "only the gradient of x" + std::to_string(i)});
  }
  for (size_t i : with) {
    program::Program fewer = program;
    SetGradient(&fewer, i, false);
    out.push_back({std::move(fewer), "no gradient of x" + std::to_string(i)});
  }
  return out;
}

}  // namespace gradfuzz::reduce
