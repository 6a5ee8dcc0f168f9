// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "builder.h"
#include "gradfuzz/program/resize.h"

namespace gradfuzz::generate {
namespace {

using program::Program;
using program::ValueRecipe;

using Sizes = std::vector<int64_t>;

constexpr size_t kTries = 4;

// A harvested call may be right for the sizes alone that it was harvested with.
bool IsHarvested(const ops::OpRecord* record) { return record->family == ops::Family::kHarvested; }

// Random indices stay below a limit that a smaller size might undercut, on draws not run here.
bool HasRandomIntegers(const Program& program) {
  return std::ranges::any_of(program.storages, [](const program::Storage& storage) {
    return !program::IsDifferentiable(storage.dtype) &&
           storage.values.kind != ValueRecipe::Kind::kLiteral;
  });
}

// Whether the program, run anew as it was while it grew, is as well behaved.
bool Runs(const Context& context, const Program& program,
          const std::vector<const ops::OpRecord*>& records, bool exact) {
  Workspace workspace(context.workspace.limits());
  std::vector<int> owner(program.storages.size(), -1);  // the first leaf of each storage
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    const program::Leaf& leaf = program.leaves[i];
    const auto storage = static_cast<size_t>(leaf.storage);
    if (owner[storage] < 0) {
      owner[storage] = workspace.AddLeaf(program.storages[storage], leaf, {});
    } else {
      workspace.AddAlias(owner[storage], leaf, {});
    }
  }
  for (size_t s = 0; s < program.statements.size(); ++s) {
    if (workspace.Add(program.statements[s], *records[s]) != Verdict::kAdded) return false;
  }
  const Context second{context.weights, context.profile, workspace, context.harvest};
  if (exact && !IsExact(second, program.outputs)) return false;
  return context.profile.forward_only || BackwardSuits(second, program.outputs);
}

// Other values for a float. A power of two keeps a whole number times it exact.
double OtherFloat(Rng& rng, double value) {
  const double others[] = {2 * value, value / 2, -value, value + 1, 0.0, 1.0};
  return others[rng.Below(std::size(others))];
}

}  // namespace

std::optional<Program> WithSecondCall(Rng& rng, const Context& context,
                                      const std::vector<program::Output>& outputs,
                                      const Program& program, bool exact) {
  const auto records = context.workspace.KeptRecords(outputs);
  if (std::ranges::any_of(records, IsHarvested)) return std::nullopt;
  struct Change {
    int64_t from, to;
  };
  std::set<int64_t> sizes;
  for (const program::Leaf& leaf : program.leaves)
    sizes.insert(leaf.sizes.begin(), leaf.sizes.end());
  // Sizes of 0 and 1 are compiled on their own: no program for other sizes comes from them.
  std::vector<Change> changes;
  for (const int64_t size : sizes) {
    if (size < 2) continue;
    changes.push_back({size, size + 1});
    if (size > 2 && !HasRandomIntegers(program)) changes.push_back({size, size - 1});
  }
  rng.Shuffle(&changes);
  for (size_t i = 0; i < std::min(changes.size(), kTries); ++i) {
    std::vector<Sizes> resized;
    for (const program::Leaf& leaf : program.leaves) {
      resized.push_back(leaf.sizes);
      std::ranges::replace(resized.back(), changes[i].from, changes[i].to);
    }
    const std::optional<Program> other = program::WithSizes(program, resized);
    if (!other || !program::Validate(*other).empty()) continue;
    if (!Runs(context, *other, records, exact)) continue;
    Program out = program;
    out.call.second_storages = other->storages;
    out.call.second_leaves = other->leaves;
    return out;
  }
  return std::nullopt;
}

std::optional<Program> WithSecondFloats(Rng& rng, const Context& context,
                                        const std::vector<program::Output>& outputs,
                                        const Program& program, bool exact) {
  const auto records = context.workspace.KeptRecords(outputs);
  if (std::ranges::any_of(records, IsHarvested)) return std::nullopt;
  const auto takes_float = [](const program::Arg& arg) {
    return arg.Is<double>() && std::isfinite(arg.As<double>());
  };
  for (size_t attempt = 0; attempt < kTries; ++attempt) {
    Program out = program;
    bool changed = false;
    for (program::Statement& statement : out.statements) {
      program::ForEachArg(statement, [&](program::Arg& arg) {
        if (!takes_float(arg) || !rng.Chance(0.7)) return;
        const double other = OtherFloat(rng, arg.As<double>());
        if (other == arg.As<double>()) return;
        arg.second = other;
        changed = true;
      });
    }
    if (!changed) continue;
    if (out.call.second_leaves.empty()) {
      out.call.second_storages = out.storages;
      out.call.second_leaves = out.leaves;
    }
    if (Runs(context, program::SecondCall(out), records, exact)) return out;
  }
  return std::nullopt;
}

}  // namespace gradfuzz::generate
