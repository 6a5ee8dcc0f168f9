// SPDX-License-Identifier: BSD-3-Clause
// A program in the making, with its values in hand on every draw.
//
//  1. While it grows, values are numbered in the order they are made, leaves and results mixed, so
//     that giving up a proposal only cuts off the end. Take() renumbers as program.h has it.
//  2. Every statement is run in eager as it is added, with autograd on.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::generate {

// As many as a campaign compares by default: what holds on these holds on what is run.
inline constexpr int kDraws = 3;

// True when two elements may lie at one address.
bool MayOverlap(const at::Tensor& tensor);

// What is known of the elements of an integer leaf, so that it can be used as an index again.
struct IndexFacts {
  int64_t below = 0;    // elements are in [0, below); 0 = not an index
  bool unique = false;  // no value twice along `unique_dim`
  int64_t unique_dim = 0;
};

struct Value {
  std::array<at::Tensor, kDraws> tensors;
  int leaf = -1;       // index of the leaf, or -1
  int statement = -1;  // index of the statement that made it, or -1
  IndexFacts index;
  // Integers that no summation order or fusion can change, and |element| <= bound on every draw.
  bool exact = false;
  double bound = 0;
  // Bit for bit the same whatever computes it: input data, moved, selected or exact. Only such
  // values may stand near a jump.
  bool settled = false;
  int uses = 0;
  std::vector<std::string> tags;  // of a leaf: "layout.expanded", "values.ties", ...

  const at::Tensor& first() const { return tensors[0]; }
};

// A statement and what the exact lane must know of it.
struct Step {
  program::Statement statement;  // operands by workspace numbers
  const ops::OpRecord* record = nullptr;
  std::vector<int> operands, results;  // tensors only
  double factor = 1;                   // product of max(1, |scalar argument|)
  bool integral = true;                // all scalar arguments are integers
};

enum class Verdict : uint8_t {
  kAdded,
  kRefused,     // eager raised an error
  kUnsuitable,  // eager ran; the result would not do
};

struct Limits {
  int64_t numel = 4096;
  double magnitude = 1e4;
  bool empty = false;       // sizes of 0 will do
  bool non_finite = false;  // NaN and infinities will do
  bool integers = false;    // results are integers and bools, which are exact
};

class Workspace {
 public:
  explicit Workspace(Limits limits) : limits_(limits) {}

  // A leaf with a storage of its own. `leaf.storage` is ignored.
  int AddLeaf(program::Storage storage, program::Leaf leaf, std::vector<std::string> tags,
              IndexFacts index = {});
  // A leaf that views the storage of leaf number `other`, an index of values().
  int AddAlias(int other, program::Leaf leaf, std::vector<std::string> tags);

  // Runs `statement` (operands by workspace numbers) on every draw and keeps it if all is well.
  // After a failure nothing has changed.
  Verdict Add(const program::Statement& statement, const ops::OpRecord& record);

  // RETURNS: what the statement would yield on the first draw, or nothing; keeps nothing.
  std::vector<at::Tensor> Try(const program::Statement& statement) const;

  struct Mark {
    size_t values, leaves, storages;
  };
  Mark Save() const { return {values_.size(), leaves_.size(), storages_.size()}; }
  // REQUIRES: only leaves were added since `mark`.
  void Rollback(const Mark& mark);

  const Limits& limits() const { return limits_; }
  const std::vector<Value>& values() const { return values_; }
  const Value& value(int id) const { return values_[static_cast<size_t>(id)]; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<program::Leaf>& leaves() const { return leaves_; }
  const std::vector<program::Storage>& storages() const { return storages_; }
  bool mutates() const { return mutates_; }

  // Ids of values that share memory with `id`, itself included.
  std::vector<int> Aliases(int id) const;

  // The finished program: leaves first, then results, without statements and leaves that no output
  // depends on (all are kept where something is written in place). `outputs` by workspace numbers.
  program::Program Take(const std::vector<program::Output>& outputs) const;
  // Workspace numbers of the values in Take(outputs), in its order.
  std::vector<int> Kept(const std::vector<program::Output>& outputs) const;
  // What the statements of Take(outputs) call, in its order.
  std::vector<const ops::OpRecord*> KeptRecords(const std::vector<program::Output>& outputs) const;

 private:
  bool ReadsUnsetMemory(const program::Statement& statement,
                        const std::vector<at::Tensor>& results) const;
  bool OverlapOfItsOwn(const Step& step, const std::vector<at::Tensor>& results) const;
  bool Suits(const std::array<std::vector<at::Tensor>, kDraws>& results,
             const ops::OpRecord& record) const;
  bool NearJump(const program::Statement& statement, const Step& step) const;
  void Rebuild();
  std::vector<at::Tensor> Tensors(int draw) const;
  std::vector<bool> LiveSteps(const std::vector<program::Output>& outputs) const;

  Limits limits_;
  std::vector<program::Storage> storages_;
  std::vector<program::Leaf> leaves_;
  std::array<std::vector<at::Tensor>, kDraws> buffers_;  // of storages_
  std::vector<Value> values_;
  std::vector<Step> steps_;
  bool mutates_ = false;
};

}  // namespace gradfuzz::generate
