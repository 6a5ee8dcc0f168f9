// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/edit.h"

#include <algorithm>
#include <set>

#include "gradfuzz/support/check.h"

namespace gradfuzz::program {
namespace {

// Keeps the first `numel` elements of a literal; other recipes are made anew at any length.
void CutLiteral(Storage* storage, int64_t numel) {
  if (storage->values.kind == ValueRecipe::Kind::kLiteral) {
    const int64_t parts = Info(storage->dtype).is_complex ? 2 : 1;
    storage->values.values.resize(static_cast<size_t>(numel * parts));
  }
  storage->numel = numel;
}

// Drops the storages that are not marked and renumbers what the leaves name.
void KeepStorages(std::vector<Storage>* storages, std::vector<Leaf>* leaves,
                  const std::vector<bool>& keep) {
  std::vector<int> number(storages->size(), -1);
  std::vector<Storage> kept;
  for (size_t s = 0; s < storages->size(); ++s) {
    if (!keep[s]) continue;
    number[s] = static_cast<int>(kept.size());
    kept.push_back(std::move((*storages)[s]));
  }
  *storages = std::move(kept);
  for (Leaf& leaf : *leaves) leaf.storage = number[static_cast<size_t>(leaf.storage)];
}

void DropUnviewedStorages(Program* program) {
  std::vector<bool> viewed(program->storages.size(), false);
  for (const Leaf& leaf : program->leaves) viewed[static_cast<size_t>(leaf.storage)] = true;
  for (const Leaf& leaf : program->call.second_leaves) {
    viewed[static_cast<size_t>(leaf.storage)] = true;
  }
  const std::vector<bool> keep = viewed;
  KeepStorages(&program->storages, &program->leaves, keep);
  if (!program->call.second_leaves.empty()) {
    KeepStorages(&program->call.second_storages, &program->call.second_leaves, keep);
  } else {
    program->call.second_storages.clear();
  }
}

void CutStorages(std::vector<Storage>* storages, const std::vector<Leaf>& leaves) {
  std::vector<int64_t> needed(storages->size(), 0);
  for (const Leaf& leaf : leaves) {
    int64_t& n = needed[static_cast<size_t>(leaf.storage)];
    n = std::max(n, Extent(leaf));
  }
  for (size_t s = 0; s < storages->size(); ++s) {
    if (needed[s] < (*storages)[s].numel) CutLiteral(&(*storages)[s], needed[s]);
  }
}

void ShiftUses(Program* program, ValueId from, int by) {
  const auto shift = [&](ValueRef& ref) {
    if (ref.id >= from) ref.id += by;
  };
  for (Statement& statement : program->statements) ForEachUse(statement, shift);
  for (Output& output : program->outputs) {
    if (output.value >= from) output.value += by;
  }
}

}  // namespace

bool IsInPlace(const Statement& statement) {
  if (statement.op == "Tensor.__setitem__") return true;
  return statement.op.ends_with('_') && !statement.op.ends_with("__");
}

void DropSecondCall(Program* program) {
  program->call.second_storages.clear();
  program->call.second_leaves.clear();
  for (Statement& statement : program->statements) {
    ForEachArg(statement, [](Arg& arg) { arg.second.reset(); });
  }
}

Selection Selection::All(const Program& program) {
  return {std::vector<bool>(program.leaves.size(), true),
          std::vector<bool>(program.statements.size(), true),
          {}};
}

std::optional<Program> Select(const Program& program, const Selection& selection) {
  GF_CHECK(selection.leaves.size() == program.leaves.size() &&
               selection.statements.size() == program.statements.size(),
           "a selection of another program");
  // New numbers; -1 = gone.
  std::vector<ValueId> number(static_cast<size_t>(ValueCount(program)), -1);
  ValueId next = 0;
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (selection.leaves[i]) number[i] = next++;
  }
  ValueId old = static_cast<ValueId>(program.leaves.size());
  for (size_t i = 0; i < program.statements.size(); ++i) {
    for (int r = 0; r < program.statements[i].results; ++r, ++old) {
      if (selection.statements[i]) number[static_cast<size_t>(old)] = next++;
    }
  }
  const auto resolve = [&](ValueId id) {
    // A chain is no longer than the number of stand-ins; a longer one is a cycle.
    for (size_t hops = 0; hops <= selection.stand_ins.size(); ++hops) {
      const auto it = selection.stand_ins.find(id);
      if (it == selection.stand_ins.end()) return number[static_cast<size_t>(id)];
      id = it->second;
    }
    return -1;
  };

  Program out;
  out.storages = program.storages;
  out.call = program.call;
  out.call.second_leaves.clear();
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    if (!selection.leaves[i]) continue;
    out.leaves.push_back(program.leaves[i]);
    if (!program.call.second_leaves.empty()) {
      out.call.second_leaves.push_back(program.call.second_leaves[i]);
    }
  }
  int defined = static_cast<int>(out.leaves.size());
  std::vector<int> place(program.statements.size() + 1,
                         0);  // new index of the first kept at or after
  bool complete = true;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    place[i] = static_cast<int>(out.statements.size());
    if (!selection.statements[i]) continue;
    Statement statement = program.statements[i];
    ForEachUse(statement, [&](ValueRef& ref) {
      ref.id = resolve(ref.id);
      // A stand-in may be defined only later.
      if (ref.id < 0 || ref.id >= defined) complete = false;
    });
    defined += statement.results;
    out.statements.push_back(std::move(statement));
  }
  if (!complete) return std::nullopt;
  place[program.statements.size()] = static_cast<int>(out.statements.size());
  for (const Region& region : program.regions) {
    const int first = place[static_cast<size_t>(region.first)];
    const int last = place[static_cast<size_t>(region.last) + 1] - 1;
    if (first <= last) out.regions.push_back({region.kind, first, last});
  }
  for (const Output& output : program.outputs) {
    const ValueId id = resolve(output.value);
    if (id >= 0) out.outputs.push_back({id, output.cotangent});
  }
  if (out.outputs.empty()) return std::nullopt;
  DropUnviewedStorages(&out);
  return out;
}

Program DropDead(const Program& program) {
  std::vector<bool> live(static_cast<size_t>(ValueCount(program)), false);
  for (const Output& output : program.outputs) live[static_cast<size_t>(output.value)] = true;
  Selection selection = Selection::All(program);
  ValueId first = ValueCount(program);
  for (size_t i = program.statements.size(); i-- > 0;) {
    const Statement& statement = program.statements[i];
    first -= statement.results;
    bool needed = IsInPlace(statement);
    for (int r = 0; r < statement.results; ++r) {
      needed = needed || live[static_cast<size_t>(first + r)];
    }
    selection.statements[i] = needed;
    if (!needed) continue;
    for (ValueId id : Uses(statement)) live[static_cast<size_t>(id)] = true;
  }
  for (size_t i = 0; i < program.leaves.size(); ++i) selection.leaves[i] = live[i];
  std::optional<Program> out = Select(program, selection);
  GF_CHECK(out.has_value(), "what is live is complete");
  return std::move(*out);
}

Program KeepOutputs(const Program& program, const std::vector<size_t>& outputs) {
  GF_CHECK(!outputs.empty(), "a program returns something");
  Program out = program;
  out.outputs.clear();
  for (size_t i : outputs) out.outputs.push_back(program.outputs[i]);
  return DropDead(out);
}

Program WithOutput(const Program& program, const Output& output) {
  Program out = program;
  out.outputs = {output};
  return DropDead(out);
}

std::optional<Program> Extract(const Program& program, const std::vector<bool>& keep,
                               const MakeLeaf& fresh) {
  GF_CHECK(keep.size() == program.statements.size(), "one mark per statement");
  const ValueId leaf_count = static_cast<ValueId>(program.leaves.size());
  Selection selection = Selection::All(program);
  selection.statements = keep;
  std::vector<bool> kept(static_cast<size_t>(ValueCount(program)), false);
  std::vector<bool> used(kept.size(), false);
  std::vector<bool> returned(kept.size(), false);
  for (const Output& output : program.outputs) returned[static_cast<size_t>(output.value)] = true;
  std::set<ValueId> outside;
  ValueId first = leaf_count;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    for (int r = 0; r < program.statements[i].results; ++r) {
      kept[static_cast<size_t>(first + r)] = keep[i];
    }
    first += program.statements[i].results;
    if (!keep[i]) continue;
    for (ValueId id : Uses(program.statements[i])) {
      used[static_cast<size_t>(id)] = true;
      if (id >= leaf_count && !kept[static_cast<size_t>(id)]) outside.insert(id);
    }
  }
  Program with_leaves = program;
  std::vector<FreshLeaf> made;
  for (ValueId id : outside) {
    std::optional<FreshLeaf> leaf = fresh(id);
    if (!leaf) return std::nullopt;
    made.push_back(std::move(*leaf));
  }
  with_leaves.outputs.clear();
  for (size_t id = static_cast<size_t>(leaf_count); id < kept.size(); ++id) {
    if (!kept[id] || (used[id] && !returned[id])) continue;
    Output output{static_cast<ValueId>(id), {}};
    for (const Output& old : program.outputs) {
      if (old.value == output.value) output.cotangent = old.cotangent;
    }
    if (!returned[id]) output.cotangent.values.low = 1;  // no zeros: they would hide a gradient
    with_leaves.outputs.push_back(output);
  }
  if (with_leaves.outputs.empty()) return std::nullopt;
  // Each appended leaf moves every result by one place.
  int added = 0;
  for (ValueId id : outside) {
    const ValueId leaf = AppendLeaf(&with_leaves, made[static_cast<size_t>(added)]);
    ++added;
    selection.leaves.push_back(true);
    for (Statement& statement : with_leaves.statements) {
      ForEachUse(statement, [&](ValueRef& ref) {
        if (ref.id == id + added) ref.id = leaf;
      });
    }
  }
  std::optional<Program> out = Select(with_leaves, selection);
  if (!out) return std::nullopt;
  return DropDead(*out);
}

std::optional<Program> CutAt(const Program& program, ValueId id, const FreshLeaf& fresh) {
  const std::optional<size_t> producer = Producer(program, id);
  if (!producer) return std::nullopt;
  Program out = program;
  const ValueId leaf = AppendLeaf(&out, fresh);
  ReplaceUses(&out, id + 1, leaf, *producer + 1);
  return DropDead(out);
}

ValueId AppendLeaf(Program* program, const FreshLeaf& fresh) {
  const ValueId id = static_cast<ValueId>(program->leaves.size());
  ShiftUses(program, id, 1);
  Leaf leaf = fresh.leaf;
  leaf.storage = static_cast<int>(program->storages.size());
  program->storages.push_back(fresh.storage);
  program->leaves.push_back(leaf);
  if (!program->call.second_leaves.empty()) {
    leaf.storage = static_cast<int>(program->call.second_storages.size());
    program->call.second_storages.push_back(fresh.storage);
    program->call.second_leaves.push_back(leaf);
  }
  return id;
}

ValueId InsertStatement(Program* program, size_t index, Statement statement) {
  const ValueId id = FirstResult(*program, index);
  ShiftUses(program, id, statement.results);
  program->statements.insert(program->statements.begin() + static_cast<std::ptrdiff_t>(index),
                             std::move(statement));
  const int at = static_cast<int>(index);
  for (Region& region : program->regions) {
    if (region.first >= at && region.last >= at) {
      // Before a region: it moves. At its very start: it grows, so that the new one is inside.
      if (region.first > at) ++region.first;
    }
    if (region.last >= at) ++region.last;
  }
  return id;
}

bool ReplaceStatement(Program* program, size_t index, Statement statement) {
  const ValueId first = FirstResult(*program, index);
  const int before = program->statements[index].results;
  const int after = statement.results;
  bool ok = true;
  const auto check = [&](ValueId id) {
    if (id >= first + after && id < first + before) ok = false;
  };
  for (const Statement& s : program->statements) {
    for (ValueId id : Uses(s)) check(id);
  }
  for (const Output& output : program->outputs) check(output.value);
  if (!ok) return false;
  ShiftUses(program, first + before, after - before);
  program->statements[index] = std::move(statement);
  return true;
}

void ReplaceUses(Program* program, ValueId from, ValueId to, size_t first_statement) {
  for (size_t i = first_statement; i < program->statements.size(); ++i) {
    ForEachUse(program->statements[i], [&](ValueRef& ref) {
      if (ref.id == from) ref.id = to;
    });
  }
  for (Output& output : program->outputs) {
    if (output.value == from) output.value = to;
  }
}

void CompactStorages(Program* program) {
  DropUnviewedStorages(program);
  CutStorages(&program->storages, program->leaves);
  CutStorages(&program->call.second_storages, program->call.second_leaves);
}

int64_t Numel(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

int64_t Extent(const Leaf& leaf) {
  int64_t last = leaf.offset;
  for (size_t d = 0; d < leaf.sizes.size(); ++d) {
    if (leaf.sizes[d] == 0) return leaf.offset;
    last += (leaf.sizes[d] - 1) * leaf.strides[d];
  }
  return last + 1;
}

bool IsContiguous(const Leaf& leaf) { return leaf.strides == ContiguousStrides(leaf.sizes); }

bool IsAliased(const Program& program, size_t leaf) {
  return std::count_if(program.leaves.begin(), program.leaves.end(), [&](const Leaf& other) {
           return other.storage == program.leaves[leaf].storage;
         }) > 1;
}

std::optional<size_t> Producer(const Program& program, ValueId id) {
  ValueId next = static_cast<ValueId>(program.leaves.size());
  if (id < next) return std::nullopt;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    next += program.statements[i].results;
    if (id < next) return i;
  }
  return std::nullopt;
}

}  // namespace gradfuzz::program
