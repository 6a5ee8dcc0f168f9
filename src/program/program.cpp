// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/program.h"

#include <bit>
#include <cmath>
#include <set>
#include <span>

#include "gradfuzz/support/check.h"

namespace gradfuzz::program {
namespace {

bool SameBits(double a, double b) {
  if (a != a && b != b) return true;
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(a[i], b[i])) return false;
  }
  return true;
}

std::string ValidateLeaf(const Leaf& leaf, const std::vector<Storage>& storages,
                         const std::string& name) {
  if (leaf.storage < 0 || leaf.storage >= static_cast<int>(storages.size())) {
    return name + " names a storage that does not exist";
  }
  const Storage& storage = storages[static_cast<size_t>(leaf.storage)];
  if (leaf.sizes.size() != leaf.strides.size()) return name + " has as many strides as sizes: no";
  int64_t last = leaf.offset;
  bool empty = false;
  for (size_t d = 0; d < leaf.sizes.size(); ++d) {
    if (leaf.sizes[d] < 0 || leaf.strides[d] < 0) return name + " has a negative size or stride";
    if (leaf.sizes[d] == 0) {
      empty = true;
    } else {
      last += (leaf.sizes[d] - 1) * leaf.strides[d];
    }
  }
  if (leaf.offset < 0) return name + " has a negative offset";
  if (!empty && last >= storage.numel) return name + " reaches beyond its storage";
  if (leaf.requires_grad && !IsDifferentiable(storage.dtype)) {
    return name + " requires a gradient but is not floating point";
  }
  return "";
}

std::string ValidateStorages(const std::vector<Storage>& storages) {
  for (size_t i = 0; i < storages.size(); ++i) {
    const Storage& storage = storages[i];
    const std::string name = "storage s" + std::to_string(i);
    if (storage.numel < 0) return name + " has a negative number of elements";
    const ValueRecipe& recipe = storage.values;
    if (recipe.kind == ValueRecipe::Kind::kLiteral) {
      const int64_t parts = Info(storage.dtype).is_complex ? 2 : 1;
      if (static_cast<int64_t>(recipe.values.size()) != storage.numel * parts) {
        return name + " has a literal of the wrong length";
      }
    }
    if (recipe.kind == ValueRecipe::Kind::kChoice && recipe.values.empty()) {
      return name + " chooses among no values";
    }
    if (!(recipe.low <= recipe.high)) return name + " has an empty range";
  }
  return "";
}

// What has a spelling of its own in Python takes just these arguments.
std::string ValidateSpelling(const Statement& statement) {
  const auto takes = [&](size_t count, const char* what) -> std::string {
    if (statement.args.size() == count && statement.kwargs.empty()) return "";
    return statement.op + " takes " + what;
  };
  if (statement.op == "Tensor.__getitem__") return takes(2, "self and index");
  if (statement.op == "Tensor.__setitem__") return takes(3, "self, index and value");
  const bool method = statement.op.starts_with("Tensor.");
  return method && statement.args.empty() ? statement.op + " is a method and has no self" : "";
}

// Calls `visit(arg)` for each float that is a parameter, in the first `count` statements.
template <typename Visit>
void ForEachFloat(const Program& program, size_t count, const Visit& visit) {
  for (const Statement& statement : std::span(program.statements).first(count)) {
    // ForEachArg takes a mutable statement so that passes can rewrite; this visitor only reads.
    ForEachArg(const_cast<Statement&>(statement), [&](const Arg& arg) {
      if (arg.second) visit(arg);
    });
  }
}

}  // namespace

bool ValueRecipe::operator==(const ValueRecipe& other) const {
  return kind == other.kind && seed == other.seed && SameBits(low, other.low) &&
         SameBits(high, other.high) && SameBits(scale, other.scale) &&
         SameBits(shift, other.shift) && SameBits(values, other.values);
}

bool Tuple::operator==(const Tuple& other) const { return items == other.items; }
bool Slice::operator==(const Slice& other) const { return bounds == other.bounds; }

bool Arg::operator==(const Arg& other) const {
  if (second.has_value() != other.second.has_value()) return false;
  if (second && !SameBits(*second, *other.second)) return false;
  if (Is<double>() && other.Is<double>()) return SameBits(As<double>(), other.As<double>());
  return data == other.data;
}

Arg Arg::Ints(const std::vector<int64_t>& values) {
  ArgList list;
  for (int64_t v : values) list.emplace_back(v);
  return Arg(std::move(list));
}

ValueId FirstResult(const Program& program, size_t index) {
  GF_CHECK(index <= program.statements.size(), "no such statement");
  int id = static_cast<int>(program.leaves.size());
  for (size_t i = 0; i < index; ++i) id += program.statements[i].results;
  return id;
}

int ValueCount(const Program& program) { return FirstResult(program, program.statements.size()); }

std::string ValueName(const Program& program, ValueId id) {
  return (id < static_cast<int>(program.leaves.size()) ? "x" : "v") + std::to_string(id);
}

std::vector<ValueId> Uses(const Statement& statement) {
  std::vector<ValueId> ids;
  // ForEachUse takes a mutable statement so that passes can rewrite; this visitor only reads.
  ForEachUse(const_cast<Statement&>(statement),
             [&](const ValueRef& ref) { ids.push_back(ref.id); });
  return ids;
}

RegionEnds EndsOf(const Program& program, const Region& region) {
  const ValueId first = FirstResult(program, static_cast<size_t>(region.first));
  const ValueId end = FirstResult(program, static_cast<size_t>(region.last) + 1);
  std::set<ValueId> takes, gives;
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const int at = static_cast<int>(i);
    for (const ValueId id : Uses(program.statements[i])) {
      if (region.first <= at && at <= region.last && id < first) takes.insert(id);
      if (at > region.last && first <= id && id < end) gives.insert(id);
    }
  }
  for (const Output& output : program.outputs) {
    if (first <= output.value && output.value < end) gives.insert(output.value);
  }
  return {{takes.begin(), takes.end()}, {gives.begin(), gives.end()}};
}

bool IsTransform(Region::Kind kind) {
  return kind == Region::Kind::kFunction || kind == Region::Kind::kJvp ||
         kind == Region::Kind::kVjp;
}

const Region* TransformOf(const Program& program) {
  for (const Region& region : program.regions) {
    if (IsTransform(region.kind)) return &region;
  }
  return nullptr;
}

Program SecondCall(const Program& program) {
  GF_CHECK(!program.call.second_leaves.empty(), "the program has no second call");
  Program out = program;
  out.storages = std::move(out.call.second_storages);
  out.leaves = std::move(out.call.second_leaves);
  out.call.second_storages.clear();
  out.call.second_leaves.clear();
  for (Statement& statement : out.statements) {
    ForEachArg(statement, [](Arg& arg) {
      if (arg.second) arg.data = *arg.second;
    });
  }
  return out;
}

std::vector<double> Floats(const Program& program) {
  std::vector<double> floats;
  ForEachFloat(program, program.statements.size(),
               [&](const Arg& arg) { floats.push_back(arg.As<double>()); });
  return floats;
}

std::vector<double> SecondFloats(const Program& program) {
  std::vector<double> floats;
  ForEachFloat(program, program.statements.size(),
               [&](const Arg& arg) { floats.push_back(*arg.second); });
  return floats;
}

size_t FirstFloat(const Program& program, size_t index) {
  size_t before = 0;
  ForEachFloat(program, index, [&](const Arg&) { ++before; });
  return before;
}

std::string Validate(const Program& program) {
  if (std::string fault = ValidateStorages(program.storages); !fault.empty()) return fault;
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    std::string fault =
        ValidateLeaf(program.leaves[i], program.storages, "leaf x" + std::to_string(i));
    if (!fault.empty()) return fault;
  }
  int next = static_cast<int>(program.leaves.size());
  for (const Statement& statement : program.statements) {
    for (ValueId id : Uses(statement)) {
      if (id < 0 || id >= next) {
        return statement.op + " uses value " + std::to_string(id) + " before it is defined";
      }
    }
    if (std::string fault = ValidateSpelling(statement); !fault.empty()) return fault;
    if (statement.results < 0) return statement.op + " has a negative number of results";
    next += statement.results;
  }
  if (program.outputs.empty()) return "the program returns nothing";
  for (const Output& output : program.outputs) {
    if (output.value < 0 || output.value >= next) return "an output names no value";
  }
  std::vector<int> open;
  int previous = 0;
  for (const Region& region : program.regions) {
    if (region.first < previous || region.last < region.first ||
        region.last >= static_cast<int>(program.statements.size())) {
      return "a region is out of order or out of range";
    }
    previous = region.first;
    while (!open.empty() && open.back() < region.first) open.pop_back();
    if (!open.empty() && region.last > open.back()) return "regions overlap without nesting";
    open.push_back(region.last);
    if (!IsTransform(region.kind)) continue;
    const RegionEnds ends = EndsOf(program, region);
    if (program.regions.size() > 1 || ends.takes.empty() || ends.gives.empty()) {
      return "a transformed part takes and gives values, and is a program's only region";
    }
  }
  const CallPlan& call = program.call;
  for (const auto& [name, value] : call.config) {
    const bool scalar = value.Is<None>() || value.Is<bool>() || value.Is<int64_t>() ||
                        value.Is<double>() || value.Is<std::string>();
    if (name.find('.') == std::string::npos || !scalar) {
      return "config: '" + name +
             "' is no name such as inductor.cpp.simdlen, or has no plain value";
    }
  }
  std::string fault;
  ForEachFloat(program, program.statements.size(), [&](const Arg& arg) {
    if (!arg.Is<double>() || !std::isfinite(arg.As<double>()) || !std::isfinite(*arg.second)) {
      fault = "only a finite float can be a parameter";
    }
  });
  if (!fault.empty()) return fault;
  if (!call.second_leaves.empty()) {
    if (call.second_leaves.size() != program.leaves.size() ||
        call.second_storages.size() != program.storages.size()) {
      return "the second call has other leaves than the first";
    }
    fault = ValidateStorages(call.second_storages);
    for (size_t i = 0; i < call.second_leaves.size() && fault.empty(); ++i) {
      fault = ValidateLeaf(call.second_leaves[i], call.second_storages,
                           "second-call leaf x" + std::to_string(i));
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

}  // namespace gradfuzz::program
