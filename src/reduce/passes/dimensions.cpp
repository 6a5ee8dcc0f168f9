// SPDX-License-Identifier: BSD-3-Clause
// Takes a dimension away, from all leaves that have it or from one; arguments that number
// dimensions, or list one entry per dimension, follow.
//
//   x0: (2, 3, 4); amax(x0, dim=2) -> x0: (3, 4); amax(x0, dim=1)
#include <algorithm>

#include "all.h"
#include "gradfuzz/program/resize.h"
#include "gradfuzz/reduce/op_class.h"

namespace gradfuzz::reduce {
namespace {

using program::Arg;
using program::ArgList;
using program::Leaf;
using program::Program;

enum class Numbers : uint8_t {
  kStay,
  kFollow,          // those that number dimensions are renumbered
  kFollowAndLists,  // ... and lists of one entry per dimension lose one
};

// The number of a dimension after `gone` of `dims` is taken away; `gone` itself maps to what takes
// its place.
int64_t Renumbered(int64_t number, int64_t gone, int64_t dims) {
  const bool negative = number < 0;
  int64_t at = negative ? number + dims : number;
  if (at > gone || (at == gone && at == dims - 1 && at > 0)) --at;
  return negative ? at - (dims - 1) : at;
}

void Rewrite(Arg* arg, bool numbers_dimensions, int64_t gone, int64_t dims, Numbers how) {
  if (numbers_dimensions) {
    if (arg->Is<int64_t>()) arg->As<int64_t>() = Renumbered(arg->As<int64_t>(), gone, dims);
    if (arg->Is<ArgList>()) {
      ArgList kept;
      for (const Arg& item : arg->As<ArgList>()) {
        if (!item.Is<int64_t>()) return;
        const int64_t number = item.As<int64_t>();
        if ((number < 0 ? number + dims : number) == gone) continue;
        kept.push_back(Arg(Renumbered(number, gone, dims)));
      }
      if (!kept.empty()) arg->As<ArgList>() = std::move(kept);
    }
  } else if (how == Numbers::kFollowAndLists && arg->Is<ArgList>()) {
    ArgList& list = arg->As<ArgList>();
    if (static_cast<int64_t>(list.size()) == dims && list.size() > 1 &&
        std::all_of(list.begin(), list.end(), [](const Arg& a) { return a.Is<int64_t>(); })) {
      list.erase(list.begin() + gone);
    }
  }
}

void Rewrite(Program* program, int64_t gone, int64_t dims, Numbers how) {
  if (how == Numbers::kStay) return;
  for (program::Statement& statement : program->statements) {
    const program::Statement before = statement;
    for (size_t a = 0; a < statement.args.size(); ++a) {
      const auto kind = ArgumentKind(before, a);
      Rewrite(&statement.args[a], kind && NumbersDimensions(*kind), gone, dims, how);
    }
    for (auto& [name, arg] : statement.kwargs) {
      const auto kind = ArgumentKind(before, name);
      Rewrite(&arg, kind && NumbersDimensions(*kind), gone, dims, how);
    }
  }
}

void DropDimension(Leaf* leaf, size_t dim) {
  leaf->sizes.erase(leaf->sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  leaf->strides.erase(leaf->strides.begin() + static_cast<std::ptrdiff_t>(dim));
}

}  // namespace

std::vector<Candidate> Dimensions(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  size_t most = 0;
  for (const Leaf& leaf : program.leaves) most = std::max(most, leaf.sizes.size());

  // Takes dimension `dim` of a leaf of `most` dimensions away, counted from the front or from the
  // back in leaves that have fewer.
  const auto propose = [&](const std::vector<size_t>& leaves, size_t dim, size_t dims,
                           bool from_back, const std::string& change) {
    std::vector<std::vector<int64_t>> sizes;
    for (const Leaf& leaf : program.leaves) sizes.push_back(leaf.sizes);
    std::vector<std::pair<size_t, size_t>> drops;
    for (size_t leaf : leaves) {
      const size_t own = program.leaves[leaf].sizes.size();
      if (from_back ? own + dim < dims : own <= dim) continue;
      const size_t d = from_back ? own + dim - dims : dim;
      if (sizes[leaf][d] == 0) return;
      sizes[leaf][d] = 1;
      drops.emplace_back(leaf, d);
    }
    if (drops.empty()) return;
    auto resized = program::WithSizes(program, sizes);
    if (!resized) return;
    for (const auto& [leaf, d] : drops) {
      DropDimension(&resized->leaves[leaf], d);
      if (!resized->call.second_leaves.empty()) {
        // The second call may differ in this dimension: its leaf loses the same one, at index 0.
        DropDimension(&resized->call.second_leaves[leaf], d);
      }
    }
    program::CompactStorages(&*resized);
    size_t variant = 0;
    std::vector<Program> seen;
    for (Numbers how : {Numbers::kFollow, Numbers::kFollowAndLists, Numbers::kStay}) {
      Program candidate = program::WithRankedIntegers(*resized);
      Rewrite(&candidate, static_cast<int64_t>(dim), static_cast<int64_t>(dims), how);
      if (std::find(seen.begin(), seen.end(), candidate) != seen.end()) continue;
      seen.push_back(candidate);
      out.push_back({std::move(candidate), change + " #" + std::to_string(variant++)});
    }
  };

  std::vector<size_t> all;
  for (size_t i = 0; i < program.leaves.size(); ++i) all.push_back(i);
  for (size_t dim = 0; dim < most; ++dim) {
    propose(all, dim, most, false, "all without dim " + std::to_string(dim));
    propose(all, dim, most, true, "all without dim -" + std::to_string(most - dim));
    std::vector<size_t> largest;
    for (size_t i : all) {
      if (program.leaves[i].sizes.size() == most) largest.push_back(i);
    }
    propose(largest, dim, most, false, "largest without dim " + std::to_string(dim));
  }
  for (size_t i : all) {
    const size_t dims = program.leaves[i].sizes.size();
    for (size_t dim = 0; dim < dims; ++dim) {
      propose({i}, dim, dims, false,
              "x" + std::to_string(i) + " without dim " + std::to_string(dim));
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
