// SPDX-License-Identifier: BSD-3-Clause
// Makes dimensions smaller: all of one size together, whichever leaves they are of, then single
// ones.
//
//   x0: (5, 7), x1: (5,); narrow(x0, 1, 2, 4) -> x0: (1, 2), x1: (1,); narrow(x0, 1, 0, 2)
#include <algorithm>
#include <map>
#include <set>

#include "all.h"
#include "gradfuzz/program/resize.h"

namespace gradfuzz::reduce {
namespace {

using program::Arg;
using program::Program;
using Sizes = std::vector<int64_t>;

// What happens to whole numbers in arguments when dimensions change.
enum class Numbers : uint8_t {
  kStay,
  kFollow,  // one that equals a changed size follows it
  kFit,     // ... and others that now lie beyond every dimension are brought back into range
};

void Rewrite(Arg* arg, const std::map<int64_t, int64_t>& sizes, Numbers how) {
  if (arg->Is<program::ArgList>()) {
    for (Arg& item : arg->As<program::ArgList>()) Rewrite(&item, sizes, how);
  } else if (arg->Is<program::Tuple>()) {
    for (Arg& item : arg->As<program::Tuple>().items) Rewrite(&item, sizes, how);
  } else if (arg->Is<program::Slice>()) {
    for (Arg& item : arg->As<program::Slice>().bounds) Rewrite(&item, sizes, how);
  } else if (arg->Is<int64_t>()) {
    int64_t& value = arg->As<int64_t>();
    if (const auto it = sizes.find(value); it != sizes.end()) {
      value = it->second;
      return;
    }
    if (how != Numbers::kFit) return;
    int64_t bound = 1;
    for (const auto& [before, after] : sizes) bound = std::max(bound, after);
    if (value >= bound) value = bound - 1;
    if (value < -bound) value = -bound;
  }
}

void Rewrite(Program* program, const std::map<int64_t, int64_t>& sizes, Numbers how) {
  if (how == Numbers::kStay) return;
  for (program::Statement& statement : program->statements) {
    for (Arg& arg : statement.args) Rewrite(&arg, sizes, how);
    for (auto& [name, arg] : statement.kwargs) Rewrite(&arg, sizes, how);
  }
}

bool TakesShape(const std::string& op) {
  return op.ends_with("reshape") || op.ends_with(".view") || op.ends_with("unflatten");
}

// The first list of a reshape gets -1 at `position`: it follows whatever the sizes become.
std::optional<Program> WithFreeShape(const Program& program, size_t position) {
  Program out = program;
  bool changed = false;
  for (program::Statement& statement : out.statements) {
    if (!TakesShape(statement.op)) continue;
    for (Arg& arg : statement.args) {
      if (!arg.Is<program::ArgList>() || arg.As<program::ArgList>().size() <= position) continue;
      arg.As<program::ArgList>()[position] = Arg(int64_t{-1});
      changed = true;
      break;
    }
  }
  if (!changed) return std::nullopt;
  return out;
}

class Proposer {
 public:
  explicit Proposer(const Program& program) : program_(program) {
    for (const program::Leaf& leaf : program.leaves) current_.push_back(leaf.sizes);
  }

  // `map`: what becomes of the sizes; `sizes`: of each leaf.
  void Propose(const std::vector<Sizes>& sizes, const std::map<int64_t, int64_t>& map,
               const std::string& change) {
    if (sizes == current_) return;
    const auto resized = program::WithSizes(program_, sizes);
    if (!resized) return;
    int64_t smallest = INT64_MAX;
    for (const auto& [before, after] : map) smallest = std::min(smallest, after);
    size_t variant = 0;
    std::vector<Program> seen;
    const auto add = [&](Program candidate) {
      if (std::find(seen.begin(), seen.end(), candidate) != seen.end()) return;
      seen.push_back(candidate);
      out_.push_back({std::move(candidate), change + " #" + std::to_string(variant++)});
    };
    for (Numbers how : {Numbers::kFollow, Numbers::kFit, Numbers::kStay}) {
      Program candidate = *resized;
      Rewrite(&candidate, map, how);
      const Program ranked =
          program::WithIntegersBelow(program::WithRankedIntegers(candidate), smallest);
      add(candidate);
      add(ranked);
      for (size_t position = 0; position < 3; ++position) {
        if (auto free = WithFreeShape(ranked, position)) add(std::move(*free));
      }
    }
  }

  // Every dimension of size `before` becomes `map[before]`.
  void ProposeClasses(const std::map<int64_t, int64_t>& map, const std::string& change) {
    std::vector<Sizes> sizes = current_;
    for (Sizes& leaf : sizes) {
      for (int64_t& size : leaf) {
        if (const auto it = map.find(size); it != map.end()) size = it->second;
      }
    }
    Propose(sizes, map, change);
  }

  void ProposeDimension(size_t leaf, size_t dim, int64_t size) {
    std::vector<Sizes> sizes = current_;
    const int64_t before = sizes[leaf][dim];
    sizes[leaf][dim] = size;
    Propose(sizes, {{before, size}},
            "x" + std::to_string(leaf) + "." + std::to_string(dim) + " = " + std::to_string(size));
  }

  std::vector<Candidate> Take() { return std::move(out_); }
  const std::vector<Sizes>& current() const { return current_; }

 private:
  const Program& program_;
  std::vector<Sizes> current_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> Sizes(const Program& program, const Facts&) {
  Proposer proposer(program);
  std::set<int64_t, std::greater<>> classes;
  for (const auto& leaf : proposer.current()) {
    for (int64_t size : leaf) {
      if (size > 0) classes.insert(size);
    }
  }
  for (int64_t target : {1, 2, 3}) {
    std::map<int64_t, int64_t> map;
    for (int64_t size : classes) {
      if (size > target) map[size] = target;
    }
    if (!map.empty()) proposer.ProposeClasses(map, "all = " + std::to_string(target));
  }
  for (int64_t size : classes) {
    std::set<int64_t> targets = {1, 2, 3, size / 2, size - 1};
    for (int64_t target : targets) {
      if (target >= 1 && target < size) {
        proposer.ProposeClasses({{size, target}},
                                std::to_string(size) + " -> " + std::to_string(target));
      }
    }
  }
  for (size_t leaf = 0; leaf < program.leaves.size(); ++leaf) {
    for (size_t dim = 0; dim < program.leaves[leaf].sizes.size(); ++dim) {
      const int64_t size = program.leaves[leaf].sizes[dim];
      for (int64_t target : {int64_t{1}, size - 1}) {
        if (target >= 1 && target < size) proposer.ProposeDimension(leaf, dim, target);
      }
    }
  }
  return proposer.Take();
}

}  // namespace gradfuzz::reduce
