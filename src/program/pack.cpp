// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/pack.h"

#include <algorithm>

#include "gradfuzz/support/check.h"

namespace gradfuzz::program {

namespace {

bool IsForwardOnly(const Program& program) {
  return program.call.backward == CallPlan::Backward::kNone;
}

}  // namespace

bool IsPackable(const Program& program) {
  CallPlan call = program.call;
  if (IsForwardOnly(program)) call.backward = CallPlan{}.backward;
  call.config.clear();
  return call == CallPlan{} && program.regions.empty();
}

bool PackTogether(const Program& a, const Program& b) { return a.call.config == b.call.config; }

Program Pack(const std::vector<Program>& programs) {
  if (programs.size() == 1) return programs.front();
  Program packed;
  if (std::ranges::all_of(programs, IsForwardOnly)) packed.call = programs.front().call;
  packed.call.config = programs.front().call.config;
  int leaf_total = 0;
  for (const Program& program : programs) leaf_total += static_cast<int>(program.leaves.size());
  int first_leaf = 0;
  int first_result = leaf_total;
  for (const Program& program : programs) {
    GF_CHECK(IsPackable(program) && PackTogether(program, programs.front()),
             "only packable programs of one config can be packed");
    const int leaves = static_cast<int>(program.leaves.size());
    const auto moved = [&](ValueId id) {
      return id < leaves ? first_leaf + id : first_result + (id - leaves);
    };
    const int first_storage = static_cast<int>(packed.storages.size());
    packed.storages.insert(packed.storages.end(), program.storages.begin(), program.storages.end());
    for (Leaf leaf : program.leaves) {
      leaf.storage += first_storage;
      if (IsForwardOnly(program)) leaf.requires_grad = false;
      packed.leaves.push_back(std::move(leaf));
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
