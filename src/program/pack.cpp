// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/pack.h"

#include <algorithm>

#include "gradfuzz/support/check.h"

namespace gradfuzz::program {

namespace {

bool IsForwardOnly(const Program& program) {
  return program.call.backward == CallPlan::Backward::kNone;
}

// The plan without what is each program's own.
CallPlan CommonPlan(CallPlan call) {
  if (call.backward == CallPlan::Backward::kNone) call.backward = CallPlan::Backward::kGrad;
  call.second_storages.clear();
  call.second_leaves.clear();
  return call;
}

// Appends storages and the leaves that are views of them.
void Append(const std::vector<Storage>& storages, const std::vector<Leaf>& leaves, bool gradients,
            std::vector<Storage>* all_storages, std::vector<Leaf>* all_leaves) {
  const int first = static_cast<int>(all_storages->size());
  all_storages->insert(all_storages->end(), storages.begin(), storages.end());
  for (Leaf leaf : leaves) {
    leaf.storage += first;
    leaf.requires_grad = leaf.requires_grad && gradients;
    all_leaves->push_back(std::move(leaf));
  }
}

}  // namespace

bool IsPackable(const Program& program) {
  return program.call.backward != CallPlan::Backward::kDouble;
}

bool PackTogether(const Program& a, const Program& b) {
  const bool twice = a.call.second_leaves.empty() == b.call.second_leaves.empty();
  return twice && CommonPlan(a.call) == CommonPlan(b.call);
}

Program Pack(const std::vector<Program>& programs) {
  if (programs.size() == 1) return programs.front();
  Program packed;
  packed.call = CommonPlan(programs.front().call);
  if (std::ranges::all_of(programs, IsForwardOnly)) {
    packed.call.backward = CallPlan::Backward::kNone;
  }
  int leaf_total = 0;
  for (const Program& program : programs) leaf_total += static_cast<int>(program.leaves.size());
  int first_leaf = 0;
  int first_result = leaf_total;
  for (const Program& program : programs) {
    GF_CHECK(IsPackable(program) && PackTogether(program, programs.front()),
             "only packable programs of one plan can be packed");
    const int leaves = static_cast<int>(program.leaves.size());
    const auto moved = [&](ValueId id) {
      return id < leaves ? first_leaf + id : first_result + (id - leaves);
    };
    const bool gradients = !IsForwardOnly(program);
    Append(program.storages, program.leaves, gradients, &packed.storages, &packed.leaves);
    Append(program.call.second_storages, program.call.second_leaves, gradients,
           &packed.call.second_storages, &packed.call.second_leaves);
    const int first_statement = static_cast<int>(packed.statements.size());
    for (Region region : program.regions) {
      region.first += first_statement;
      region.last += first_statement;
      packed.regions.push_back(region);
    }
    for (Statement statement : program.statements) {
      ForEachUse(statement, [&](ValueRef& ref) { ref.id = moved(ref.id); });
      packed.statements.push_back(std::move(statement));
    }
    for (Output output : program.outputs) {
      output.value = moved(output.value);
      packed.outputs.push_back(std::move(output));
    }
    first_leaf += leaves;
    first_result += ValueCount(program) - leaves;
  }
  return packed;
}

}  // namespace gradfuzz::program
