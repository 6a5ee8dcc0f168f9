// SPDX-License-Identifier: BSD-3-Clause
// Keeps a few connected statements; what they used from the others becomes leaves.
//
//   v2 = sin(x0); v3 = diagonal_scatter(v2, x1, 0); v4 = sum(v3); v5 = exp(v4)
//   -> v3 = diagonal_scatter(x2, x1, 0); v4 = sum(v3)
//
// Most bugs need one or two statements, so this pass usually gets there in one step.
#include <algorithm>
#include <set>

#include "all.h"
#include "fresh.h"

namespace gradfuzz::reduce {
namespace {

using program::Program;
using program::ValueId;

constexpr size_t kMaxSets = 96;  // per size, in programs of many statements

// Statements i < j are connected when j uses a result of i, or both use one value that one of them
// writes in place.
std::vector<std::vector<bool>> Connections(const Program& program) {
  const size_t n = program.statements.size();
  std::vector<std::vector<bool>> connected(n, std::vector<bool>(n, false));
  std::vector<std::vector<ValueId>> uses;
  for (const program::Statement& s : program.statements) uses.push_back(program::Uses(s));
  for (size_t j = 0; j < n; ++j) {
    for (ValueId id : uses[j]) {
      if (const auto i = program::Producer(program, id)) connected[*i][j] = connected[j][*i] = true;
    }
    for (size_t i = 0; i < j; ++i) {
      if (!program::IsInPlace(program.statements[i]) &&
          !program::IsInPlace(program.statements[j])) {
        continue;
      }
      for (ValueId id : uses[j]) {
        if (std::find(uses[i].begin(), uses[i].end(), id) != uses[i].end()) {
          connected[i][j] = connected[j][i] = true;
        }
      }
    }
  }
  return connected;
}

std::set<std::vector<size_t>> Grow(const std::set<std::vector<size_t>>& sets,
                                   const std::vector<std::vector<bool>>& connected) {
  std::set<std::vector<size_t>> grown;
  for (const std::vector<size_t>& set : sets) {
    for (size_t j = 0; j < connected.size() && grown.size() < kMaxSets; ++j) {
      if (std::find(set.begin(), set.end(), j) != set.end()) continue;
      if (std::none_of(set.begin(), set.end(), [&](size_t i) { return connected[i][j]; })) continue;
      std::vector<size_t> next = set;
      next.push_back(j);
      std::sort(next.begin(), next.end());
      grown.insert(std::move(next));
    }
  }
  return grown;
}

}  // namespace

std::vector<Candidate> Core(const Program& program, const Facts& facts) {
  const size_t n = program.statements.size();
  std::vector<Candidate> out;
  if (n < 2) return out;
  const auto connected = Connections(program);
  std::set<std::vector<size_t>> sets;
  for (size_t i = 0; i < n; ++i) sets.insert({i});
  const program::MakeLeaf fresh = [&](ValueId id) { return FreshFor(program, facts, id); };
  for (size_t size = 1; size <= 3 && size < n; ++size) {
    for (const std::vector<size_t>& set : sets) {
      std::vector<bool> keep(n, false);
      std::string change = "keep";
      for (size_t i : set) {
        keep[i] = true;
        change += ' ' + std::to_string(i);
      }
      if (auto smaller = program::Extract(program, keep, fresh)) {
        out.push_back({std::move(*smaller), std::move(change)});
      }
    }
    sets = Grow(sets, connected);
  }
  return out;
}

}  // namespace gradfuzz::reduce
