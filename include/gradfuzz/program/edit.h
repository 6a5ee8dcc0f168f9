// SPDX-License-Identifier: BSD-3-Clause
// Program transformations: what reduction and the neighbour table are built from.
//
//  1. A transformation takes a valid program and gives a new one; it never changes its argument
//     unless it takes a pointer.
//  2. NEVER knows torch: the new program is well formed (Validate), but whether eager accepts it is
//     for its user to find out by running it.
//  3. Numbers of values change when leaves or statements come or go; every use is renumbered.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// True when the statement writes one of its operands, by torch's naming: "Tensor.add_",
// "_foreach_add_", "Tensor.__setitem__".
bool IsInPlace(const Statement& statement);

// Calls the program once, with its floats as literals.
void DropSecondCall(Program* program);

// Which leaves and statements stay, and which value stands for one that does not.
struct Selection {
  std::vector<bool> leaves;
  std::vector<bool> statements;
  std::map<ValueId, ValueId> stand_ins;  // in the old numbering; chains are followed

  static Selection All(const Program& program);
};

// The selected part of `program`. Outputs whose value is gone are dropped, storages that no leaf
// views are dropped, regions shrink to what is left of them.
// RETURNS: nothing when a statement that stays uses a value that is gone, or no output is left.
std::optional<Program> Select(const Program& program, const Selection& selection);

// Without statements whose results nobody uses (in-place ones stay: they write elsewhere) and
// without leaves that nobody uses.
Program DropDead(const Program& program);

// Only these outputs (indices into `outputs`, in this order), then DropDead.
// REQUIRES: !outputs.empty().
Program KeepOutputs(const Program& program, const std::vector<size_t>& outputs);

// Returns `output` alone, then DropDead.
Program WithOutput(const Program& program, const Output& output);

// The statements with `keep[i]`; what they use from the others becomes a fresh leaf, made by
// `fresh(value)` (nothing = cannot be one). The outputs are the values that nobody in the rest uses
// and the old outputs that are still there. Leaves that are no longer used are dropped.
struct FreshLeaf {
  Storage storage;
  Leaf leaf;  // `storage` is filled in
};
using MakeLeaf = std::function<std::optional<FreshLeaf>(ValueId)>;
std::optional<Program> Extract(const Program& program, const std::vector<bool>& keep,
                               const MakeLeaf& fresh);

// Replaces value `id`, a result, by a fresh leaf wherever it is used, then DropDead.
std::optional<Program> CutAt(const Program& program, ValueId id, const FreshLeaf& fresh);

// Appends a leaf with a storage of its own; RETURNS its value id.
ValueId AppendLeaf(Program* program, const FreshLeaf& fresh);

// Inserts a statement before statement `index`; RETURNS the id of its first result.
// REQUIRES: the statement uses only values defined before `index`.
ValueId InsertStatement(Program* program, size_t index, Statement statement);

// Replaces the statement at `index` by one with another number of results. Uses of results that no
// longer exist make it fail; the first results keep their uses.
bool ReplaceStatement(Program* program, size_t index, Statement statement);

// Uses of `from` in the statements from `first_statement` on, and in the outputs, read `to`.
void ReplaceUses(Program* program, ValueId from, ValueId to, size_t first_statement);

// Drops storages that no leaf views and cuts the others to what their leaves reach. Literals are
// cut with them.
void CompactStorages(Program* program);

// Layout arithmetic.
int64_t Numel(const std::vector<int64_t>& sizes);
std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& sizes);
// One past the last element that the leaf reaches in its storage; `offset` when it is empty.
int64_t Extent(const Leaf& leaf);
bool IsContiguous(const Leaf& leaf);  // dense, row-major; the offset does not matter
bool IsAliased(const Program& program, size_t leaf);  // another leaf views the same storage

// The index of the statement that makes `id`; nothing for a leaf.
std::optional<size_t> Producer(const Program& program, ValueId id);

}  // namespace gradfuzz::program
