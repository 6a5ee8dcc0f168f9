// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/neighbours.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "gradfuzz/isolate/runner_tester.h"
#include "gradfuzz/program/edit.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/resize.h"
#include "gradfuzz/reduce/op_class.h"
#include "gradfuzz/report/describe.h"

namespace gradfuzz::isolate {
namespace {

using program::Arg;
using program::ArgList;
using program::Cotangent;
using program::DType;
using program::Leaf;
using program::Program;
using program::Statement;
using program::Storage;
using program::ValueId;
using program::ValueRecipe;

// --- The tables: what is put in the place of what ------------------------------------------------

struct CallRow {
  const char* shown;  // "sum(dim=-1)"
  const char* op;
  int results;
  std::vector<Arg> args;  // after the first operand
  std::vector<std::pair<std::string, Arg>> kwargs;
};

// Aggregations in place of an aggregation.
const std::vector<CallRow>& Aggregations() {
  static const std::vector<CallRow> kRows = {
      {"sum()", "sum", 1, {}, {}},
      {"sum(dim=0)", "sum", 1, {}, {{"dim", Arg(0)}}},
      {"sum(dim=-1)", "sum", 1, {}, {{"dim", Arg(-1)}}},
      {"sum(dim=-1, keepdim=True)", "sum", 1, {}, {{"dim", Arg(-1)}, {"keepdim", Arg(true)}}},
      {"mean()", "mean", 1, {}, {}},
      {"mean(dim=-1)", "mean", 1, {}, {{"dim", Arg(-1)}}},
      {"amax()", "amax", 1, {}, {}},
      {"amax(dim=-1)", "amax", 1, {}, {{"dim", Arg(-1)}}},
      {"amin()", "amin", 1, {}, {}},
      {"amin(dim=-1)", "amin", 1, {}, {{"dim", Arg(-1)}}},
      {"max(dim=-1)[0]", "max", 2, {}, {{"dim", Arg(-1)}}},
      {"min(dim=-1)[0]", "min", 2, {}, {{"dim", Arg(-1)}}},
      {"max()", "max", 1, {}, {}},
      {"prod()", "prod", 1, {}, {}},
      {"logsumexp(dim=-1)", "logsumexp", 1, {}, {{"dim", Arg(-1)}}},
      {"var()", "var", 1, {}, {}},
      {"cumsum(dim=-1)", "cumsum", 1, {}, {{"dim", Arg(-1)}}},
  };
  return kRows;
}

// Writes in place of a write. `args` after the first operand, with leaves spelled as strings:
//   "slice" the first row as a slice, "select" as an element, "diagonal" of the first two
//   dimensions, "same" the operand's shape, "first" one index 0, "mask" bools of the operand's
//   shape, "indices" zeros of the shape of a slice along dimension 0.
const std::vector<CallRow>& Writes() {
  static const std::vector<CallRow> kRows = {
      {"select_scatter", "select_scatter", 1, {Arg("select"), Arg(0), Arg(0)}, {}},
      {"slice_scatter", "slice_scatter", 1, {Arg("slice"), Arg(0), Arg(0), Arg(1)}, {}},
      {"diagonal_scatter", "diagonal_scatter", 1, {Arg("diagonal")}, {}},
      {"index_copy", "index_copy", 1, {Arg(0), Arg("first"), Arg("slice")}, {}},
      {"index_add", "index_add", 1, {Arg(0), Arg("first"), Arg("slice")}, {}},
      {"index_fill", "index_fill", 1, {Arg(0), Arg("first"), Arg(0.5)}, {}},
      {"index_put", "index_put", 1, {Arg(ArgList{Arg("first")}), Arg("slice")}, {}},
      {"scatter", "scatter", 1, {Arg(0), Arg("indices"), Arg("slice")}, {}},
      {"scatter_add", "scatter_add", 1, {Arg(0), Arg("indices"), Arg("slice")}, {}},
      {"masked_fill", "masked_fill", 1, {Arg("mask"), Arg(0.5)}, {}},
      {"masked_scatter", "masked_scatter", 1, {Arg("mask"), Arg("same")}, {}},
      {"where", "where", 1, {Arg("mask"), Arg("self"), Arg("same")}, {}},
  };
  return kRows;
}

// Two-operand operators in place of one, and one-operand ones.
constexpr const char* kBinary[] = {"add",     "sub", "mul",   "div",      "atan2",
                                   "maximum", "pow", "hypot", "copysign", "logaddexp"};
constexpr const char* kUnary[] = {"neg", "abs", "relu",    "square", "sqrt", "exp",  "log",
                                  "sin", "erf", "sigmoid", "tanh",   "atan", "asinh"};

// What is put between two statements. `workaround`: text for the user, %1 before and %2 after.
struct BetweenRow {
  const char* shown;
  const char* op;
  std::vector<Arg> args;
  const char* workaround;
};
const std::vector<BetweenRow>& Between() {
  static const std::vector<BetweenRow> kRows = {
      {"clone", "clone", {}, "insert .clone() between %1 and %2"},
      {"mul by 2", "mul", {Arg(2.0)}, ""},
      {"add 1", "add", {Arg(1.0)}, ""},
      {"relu", "relu", {}, ""},
      {"sin", "sin", {}, ""},
  };
  return kRows;
}

struct CotangentRow {
  const char* shown;
  ValueRecipe::Kind kind;
  double low, high;
  Cotangent::Layout layout;
};
constexpr CotangentRow kCotangents[] = {
    {"ones", ValueRecipe::Kind::kInts, 1, 1, Cotangent::Layout::kContiguous},
    {"dense random", ValueRecipe::Kind::kNormal, -4, 4, Cotangent::Layout::kContiguous},
    {"expanded (stride 0)", ValueRecipe::Kind::kInts, 1, 1, Cotangent::Layout::kExpanded},
    {"column-major", ValueRecipe::Kind::kNormal, -4, 4, Cotangent::Layout::kColumnMajor},
    {"sliced", ValueRecipe::Kind::kNormal, -4, 4, Cotangent::Layout::kSliced},
};

constexpr DType kDTypes[] = {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat16,
                             DType::kComplex64};

// Sizes that take different paths through kernels: one element, fewer than a vector, a vector of 16
// floats and its neighbours, more than two.
constexpr int64_t kSizes[] = {1, 2, 3, 8, 16, 17, 33};

// A pack of programs with which ablation tells a cause from a coincidence.
constexpr size_t kWrongKept = 8;
constexpr size_t kTriedTogether = 16;  // two packs; the clock is looked at in between

// --- Building
// -------------------------------------------------------------------------------------

ValueRecipe Recipe(ValueRecipe::Kind kind, double low, double high) {
  ValueRecipe recipe;
  recipe.kind = kind;
  if (kind == ValueRecipe::Kind::kInts || kind == ValueRecipe::Kind::kUniform) {
    recipe.low = low;
    recipe.high = high;
  }
  return recipe;
}

// Short name of an operator in the text of a change.
std::string Shown(const Statement& statement) { return reduce::BareName(statement.op); }

std::string FillIn(std::string text, const std::string& first, const std::string& second) {
  for (const auto& [mark, value] : {std::pair{"%1", first}, std::pair{"%2", second}}) {
    const size_t at = text.find(mark);
    if (at != std::string::npos) text.replace(at, 2, value);
  }
  return text;
}

// Inserts `row` after statement `before` for the use in statement `after` only.
Program InsertBetween(const Program& program, size_t before, size_t after, ValueId value,
                      const BetweenRow& row) {
  Program out = program;
  Statement statement{row.op, {Arg::Value(value)}, {}, 1};
  for (const Arg& arg : row.args) statement.args.push_back(arg);
  const ValueId between = program::InsertStatement(&out, before + 1, std::move(statement));
  program::ForEachUse(out.statements[after + 1], [&](program::ValueRef& ref) {
    if (ref.id == value) ref.id = between;
  });
  return out;
}

class Builder {
 public:
  Builder(const Program& program, const std::vector<reduce::ValueInfo>& values)
      : program_(program), values_(values) {}

  std::vector<Neighbour> Take() { return std::move(out_); }

  void Devices(const std::string& device, const std::vector<std::string>& devices) {
    for (const char* other : {"cpu", "cuda"}) {
      if (device == other) continue;
      const bool here = std::find(devices.begin(), devices.end(), other) != devices.end();
      Neighbour n{"device", device + " -> " + other, here ? program_ : Program(), other, ""};
      out_.push_back(std::move(n));
    }
  }

  void InBetween() {
    for (size_t after = 0; after < program_.statements.size(); ++after) {
      std::set<ValueId> done;
      for (ValueId value : program::Uses(program_.statements[after])) {
        const auto before = program::Producer(program_, value);
        if (!before || !done.insert(value).second) continue;
        const std::string first = Shown(program_.statements[*before]);
        const std::string second = Shown(program_.statements[after]);
        for (const BetweenRow& row : Between()) {
          Add("in between", std::string(row.shown) + " between " + first + " and " + second,
              InsertBetween(program_, *before, after, value, row),
              FillIn(row.workaround, first, second));
        }
      }
    }
    // Before the first statement: is a leaf needed there?
    for (size_t leaf = 0; leaf < program_.leaves.size(); ++leaf) {
      if (!program_.leaves[leaf].requires_grad) continue;
      Program out = program_;
      const auto id = static_cast<ValueId>(leaf);
      const ValueId doubled =
          program::InsertStatement(&out, 0, {"mul", {Arg::Value(id), Arg(2.0)}, {}, 1});
      for (size_t s = 1; s < out.statements.size(); ++s) {
        program::ForEachUse(out.statements[s], [&](program::ValueRef& ref) {
          if (ref.id == id) ref.id = doubled;
        });
      }
      Add("in between", "x" + std::to_string(leaf) + " * 2 first", std::move(out));
    }
  }

  void Operators() {
    for (size_t i = 0; i < program_.statements.size(); ++i) {
      const Statement& statement = program_.statements[i];
      const ops::OpRecord* record = reduce::RecordOf(statement.op);
      const std::string kind = reduce::OpClass(statement);
      if (record != nullptr && record->family == ops::Family::kAggregation) {
        Replace("aggregation", i, Aggregations());
      } else if (kind == "write") {
        Replace("op", i, Writes());
      } else if (record != nullptr && record->family == ops::Family::kPointwise) {
        const bool binary = program::Uses(statement).size() == 2;
        for (const char* op : binary ? std::span<const char* const>(kBinary)
                                     : std::span<const char* const>(kUnary)) {
          Statement other{op, {}, {}, 1};
          for (ValueId id : program::Uses(statement)) other.args.push_back(Arg::Value(id));
          ReplaceAt("op", i, op, std::move(other), program_);
        }
      } else {
        size_t count = 0;
        for (const Statement& other : reduce::Interchangeable(statement, false)) {
          if (++count > 8) break;
          ReplaceAt("op", i, Shown(other), other, program_);
        }
      }
    }
  }

  void Arguments() {
    for (size_t i = 0; i < program_.statements.size(); ++i) {
      const Statement& statement = program_.statements[i];
      const std::string op = Shown(statement) + " ";
      // Numbers that are there.
      for (size_t a = 0; a < statement.args.size(); ++a) {
        for (const Arg& other : OtherValues(statement.args[a])) {
          Program out = program_;
          out.statements[i].args[a] = other;
          Add("argument",
              op + reduce::ArgumentName(statement, a) + " " +
                  program::EmitArg(program_, statement.args[a]) + " -> " +
                  program::EmitArg(program_, other),
              std::move(out));
        }
      }
      for (size_t k = 0; k < statement.kwargs.size(); ++k) {
        const auto& [name, value] = statement.kwargs[k];
        for (const Arg& other : OtherValues(value)) {
          Program out = program_;
          out.statements[i].kwargs[k].second = other;
          Add("argument",
              op + name + "=" + program::EmitArg(program_, value) + " -> " +
                  program::EmitArg(program_, other),
              std::move(out));
        }
      }
      // Optional ones that are not.
      const ops::OpRecord* record = reduce::RecordOf(statement.op);
      if (record == nullptr || record->name != statement.op) continue;
      for (const ops::Param& param : record->params) {
        const std::string name(param.keyword);
        if (name.empty() || param.presence >= 1) continue;
        if (std::any_of(statement.kwargs.begin(), statement.kwargs.end(),
                        [&](const auto& kwarg) { return kwarg.first == name; })) {
          continue;
        }
        for (const Arg& value : ValuesFor(param.sampler)) {
          Program out = program_;
          out.statements[i].kwargs.emplace_back(name, value);
          Add("argument", op + "with " + name + "=" + program::EmitArg(program_, value),
              std::move(out));
        }
      }
    }
  }

  void Types() {
    for (DType dtype : kDTypes) {
      Program out = program_;
      std::string from;
      for (Storage& storage : out.storages) Retype(&storage, dtype, &from);
      for (Storage& storage : out.call.second_storages) Retype(&storage, dtype, &from);
      if (out == program_) continue;
      Add("dtype", from + " -> " + std::string(program::Info(dtype).name), std::move(out));
    }
  }

  void Shapes() {
    size_t dims = 0;
    for (const Leaf& leaf : program_.leaves) dims = std::max(dims, leaf.sizes.size());
    if (dims == 0) return;
    for (int64_t size : kSizes) {
      std::vector<std::vector<int64_t>> sizes;
      for (const Leaf& leaf : program_.leaves) sizes.emplace_back(leaf.sizes.size(), size);
      Resize("every size " + std::to_string(size), sizes);
    }
    // Not square: the last dimension of the largest leaves longer, then the first.
    for (bool last : {true, false}) {
      std::vector<std::vector<int64_t>> sizes;
      for (const Leaf& leaf : program_.leaves) {
        sizes.emplace_back(leaf.sizes.size(), 3);
        if (leaf.sizes.size() == dims && dims > 1)
          (last ? sizes.back().back() : sizes.back()[0]) = 5;
      }
      if (dims > 1) Resize(last ? "3 rows, 5 columns" : "5 rows, 3 columns", sizes);
    }
  }

  void Cotangents() {
    for (const CotangentRow& row : kCotangents) {
      Program out = program_;
      for (program::Output& output : out.outputs) {
        output.cotangent.values = Recipe(row.kind, row.low, row.high);
        output.cotangent.layout = row.layout;
      }
      Add("cotangent", row.shown, std::move(out));
    }
  }

  void Layouts() {
    for (size_t i = 0; i < program_.leaves.size(); ++i) {
      const Leaf& leaf = program_.leaves[i];
      if (!program::IsDifferentiable(program_.storages[static_cast<size_t>(leaf.storage)].dtype)) {
        continue;
      }
      const std::string name = "x" + std::to_string(i) + " ";
      const size_t dims = leaf.sizes.size();
      std::vector<int64_t> reversed(leaf.sizes.rbegin(), leaf.sizes.rend());
      std::vector<int64_t> column_major = program::ContiguousStrides(reversed);
      std::reverse(column_major.begin(), column_major.end());
      if (dims > 1) Restride(i, name + "column-major", column_major, 0);
      if (dims > 0) {
        std::vector<int64_t> sliced = program::ContiguousStrides(leaf.sizes);
        for (int64_t& stride : sliced) stride *= 2;
        Restride(i, name + "every second element", sliced, 0);
        std::vector<int64_t> expanded = program::ContiguousStrides(leaf.sizes);
        expanded[0] = 0;
        if (leaf.sizes[0] > 1) Restride(i, name + "expanded (stride 0)", expanded, 0);
      }
      Restride(i, name + "at storage offset 1", program::ContiguousStrides(leaf.sizes), 1);
    }
  }

  void Values() {
    const std::pair<const char*, ValueRecipe> rows[] = {
        {"ones", Recipe(ValueRecipe::Kind::kInts, 1, 1)},
        {"whole numbers", Recipe(ValueRecipe::Kind::kInts, -4, 4)},
        {"random normal", Recipe(ValueRecipe::Kind::kNormal, 0, 0)},
        {"random in (0, 1)", Recipe(ValueRecipe::Kind::kUniform, 0.01, 0.99)},
    };
    for (const auto& [shown, recipe] : rows) {
      Program out = program_;
      for (Storage& storage : out.storages) {
        if (program::IsDifferentiable(storage.dtype)) storage.values = recipe;
      }
      Add("values", shown, std::move(out));
    }
  }

  void Gradients() {
    for (size_t i = 0; i < program_.leaves.size(); ++i) {
      const Leaf& leaf = program_.leaves[i];
      if (!program::IsDifferentiable(program_.storages[static_cast<size_t>(leaf.storage)].dtype)) {
        continue;
      }
      Program out = program_;
      out.leaves[i].requires_grad = !leaf.requires_grad;
      if (!out.call.second_leaves.empty()) {
        out.call.second_leaves[i].requires_grad = !leaf.requires_grad;
      }
      Add("gradient",
          "x" + std::to_string(i) + (leaf.requires_grad ? " without" : " with") + " gradient",
          std::move(out));
    }
  }

 private:
  void Add(const std::string& axis, std::string change, Program candidate,
           std::string workaround = "") {
    if (candidate == program_) return;
    if (candidate.outputs.empty() || !program::Validate(candidate).empty()) return;
    out_.push_back({axis, std::move(change), std::move(candidate), "", std::move(workaround)});
  }

  void ReplaceAt(const char* axis, size_t index, const std::string& shown, Statement statement,
                 const Program& base) {
    if (statement == program_.statements[index]) return;
    Program out = base;
    const std::string from = program_.statements[index].op;
    if (!program::ReplaceStatement(&out, index, std::move(statement))) return;
    Add(axis, reduce::BareName(from) + " -> " + shown, program::DropDead(out));
  }

  void Replace(const char* axis, size_t index, const std::vector<CallRow>& rows) {
    const Statement& old = program_.statements[index];
    const auto uses = program::Uses(old);
    if (uses.empty()) return;
    for (const CallRow& row : rows) {
      if (row.shown == old.op) continue;  // with other arguments, at most: no other operator
      // Fresh leaves come in first: they renumber everything.
      Program base = program_;
      Statement statement{row.op, {}, row.kwargs, row.results};
      bool complete = true;
      ValueId self = uses.front();
      std::function<Arg(const Arg&)> resolve = [&](const Arg& arg) -> Arg {
        if (arg.Is<ArgList>()) {
          ArgList list;
          for (const Arg& item : arg.As<ArgList>()) list.push_back(resolve(item));
          return Arg(std::move(list));
        }
        if (!arg.Is<std::string>()) return arg;
        if (arg.As<std::string>() == "self") return Arg(program::ValueRef{-1});
        const auto fresh = FreshLeafFor(arg.As<std::string>(), uses.front());
        if (!fresh) {
          complete = false;
          return Arg();
        }
        if (self >= static_cast<ValueId>(base.leaves.size())) ++self;
        return Arg::Value(program::AppendLeaf(&base, *fresh));
      };
      std::vector<Arg> rest;
      for (const Arg& arg : row.args) rest.push_back(resolve(arg));
      if (!complete) continue;
      if (std::string_view(row.op) != "where") statement.args.push_back(Arg::Value(self));
      for (Arg& arg : rest) statement.args.push_back(std::move(arg));
      program::ForEachUse(statement, [&](program::ValueRef& ref) {
        if (ref.id == -1) ref.id = self;
      });
      ReplaceAt(axis, index, row.shown, std::move(statement), base);
    }
  }

  // A leaf for one of the names that Writes() uses; nothing when the shape is not known.
  std::optional<program::FreshLeaf> FreshLeafFor(const std::string& name, ValueId self) const {
    if (static_cast<size_t>(self) >= values_.size()) return std::nullopt;
    const reduce::ValueInfo& info = values_[static_cast<size_t>(self)];
    std::vector<int64_t> sizes = info.sizes;
    program::FreshLeaf fresh;
    fresh.storage.dtype = info.dtype;
    fresh.leaf.requires_grad = program::IsDifferentiable(info.dtype);
    fresh.storage.values = Recipe(ValueRecipe::Kind::kInts, 1, 9);
    if (name != "same" && name != "mask" && sizes.empty()) return std::nullopt;
    if (name == "slice") {
      sizes[0] = 1;
    } else if (name == "select") {
      sizes.erase(sizes.begin());
    } else if (name == "diagonal") {
      if (sizes.size() < 2) return std::nullopt;
      const int64_t length = std::min(sizes[0], sizes[1]);
      sizes.erase(sizes.begin(), sizes.begin() + 2);
      sizes.push_back(length);
    } else if (name == "first" || name == "indices") {
      if (name == "first") sizes = {1};
      sizes[0] = 1;
      fresh.storage.dtype = DType::kInt64;
      fresh.leaf.requires_grad = false;
      fresh.storage.values = Recipe(ValueRecipe::Kind::kInts, 0, 0);
    } else if (name == "mask") {
      fresh.storage.dtype = DType::kBool;
      fresh.leaf.requires_grad = false;
      fresh.storage.values = Recipe(ValueRecipe::Kind::kInts, 0, 1);
    }
    fresh.leaf.sizes = sizes;
    fresh.leaf.strides = program::ContiguousStrides(sizes);
    fresh.storage.numel = program::Numel(sizes);
    return fresh;
  }

  static std::vector<Arg> OtherValues(const Arg& arg) {
    std::vector<Arg> out;
    if (arg.Is<bool>()) out.emplace_back(!arg.As<bool>());
    if (arg.Is<int64_t>()) {
      const int64_t value = arg.As<int64_t>();
      for (int64_t other : {value + 1, value - 1}) out.emplace_back(other);
    }
    if (arg.Is<double>()) {
      for (double other : {0.0, 1.0, 2.0, 0.5}) {
        if (other != arg.As<double>()) out.emplace_back(other);
      }
    }
    return out;
  }

  static std::vector<Arg> ValuesFor(const ops::Sampler& sampler) {
    using Kind = ops::Sampler::Kind;
    switch (sampler.kind) {
      case Kind::kBool:
        return {Arg(true)};
      case Kind::kInt:
        return {Arg(sampler.low), Arg(sampler.high)};
      case Kind::kDim:
        return {Arg(0), Arg(-1)};
      case Kind::kFloat:
        return sampler.floats.empty() ? std::vector<Arg>()
                                      : std::vector<Arg>{Arg(sampler.floats.front())};
      default:
        return {};
    }
  }

  static void Retype(Storage* storage, DType dtype, std::string* from) {
    const program::DTypeInfo& info = program::Info(storage->dtype);
    if (!info.is_floating && !info.is_complex) return;
    *from = info.name;
    if (info.is_complex == program::Info(dtype).is_complex) {
      storage->dtype = dtype;
      return;
    }
    // A literal lists two numbers for each complex element.
    std::vector<double>& values = storage->values.values;
    if (storage->values.kind == ValueRecipe::Kind::kLiteral) {
      std::vector<double> changed;
      const bool to_complex = !info.is_complex;
      for (size_t i = 0; i < values.size(); i += to_complex ? 1 : 2) {
        changed.push_back(values[i]);
        if (to_complex) changed.push_back(0);
      }
      values = std::move(changed);
    }
    storage->dtype = dtype;
  }

  // With values that fit any size: a literal cannot grow.
  void Resize(const std::string& change, const std::vector<std::vector<int64_t>>& sizes) {
    Program base = program_;
    bool same = true;
    for (size_t i = 0; i < base.leaves.size(); ++i) same = same && base.leaves[i].sizes == sizes[i];
    if (same) return;
    for (Storage& storage : base.storages) {
      if (program::IsDifferentiable(storage.dtype) &&
          storage.values.kind == ValueRecipe::Kind::kLiteral) {
        storage.values = Recipe(ValueRecipe::Kind::kUniform, 0.1, 2.9);
      } else if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
        // Indices and masks keep their values, repeated to any length: 0, 1, 2, ... never repeat.
        const int64_t bound = 64;
        const bool mask = storage.dtype == DType::kBool;
        const std::vector<double> old = storage.values.values;
        storage.values.values.clear();
        for (int64_t i = 0; i < bound * bound; ++i) {
          storage.values.values.push_back(mask && !old.empty()
                                              ? old[static_cast<size_t>(i) % old.size()]
                                              : static_cast<double>(i));
        }
        storage.numel = bound * bound;
      }
    }
    // A literal that has a leaf to itself is cut to the leaf's leading block: give it the new sizes
    // as those it has.
    for (size_t i = 0; i < base.leaves.size(); ++i) {
      const Storage& storage = base.storages[static_cast<size_t>(base.leaves[i].storage)];
      if (storage.values.kind != ValueRecipe::Kind::kLiteral) continue;
      base.leaves[i].sizes = sizes[i];
      base.leaves[i].strides = program::ContiguousStrides(sizes[i]);
      base.leaves[i].offset = 0;
      if (program::Extent(base.leaves[i]) > storage.numel) return;
    }
    program::CompactStorages(&base);
    if (auto resized = program::WithSizes(base, sizes)) Add("shape", change, std::move(*resized));
  }

  void Restride(size_t leaf, const std::string& change, const std::vector<int64_t>& strides,
                int64_t offset) {
    Program out = program_;
    Leaf& target = out.leaves[leaf];
    if (target.strides == strides && target.offset == offset) return;
    target.strides = strides;
    target.offset = offset;
    Storage& storage = out.storages[static_cast<size_t>(target.storage)];
    const int64_t needed = program::Extent(target);
    if (needed > storage.numel) {
      if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
        std::vector<double>& values = storage.values.values;
        const size_t parts = program::Info(storage.dtype).is_complex ? 2 : 1;
        while (values.size() < static_cast<size_t>(needed) * parts) {
          values.push_back(static_cast<double>(values.size() % 9 + 1));
        }
      }
      storage.numel = needed;
    }
    Add("layout", change, std::move(out));
  }

  const Program& program_;
  const std::vector<reduce::ValueInfo>& values_;
  std::vector<Neighbour> out_;
};

// The worst comparison of the first wrong rung, in words.
std::string Detail(const Outcome& outcome) {
  const RungOutcome* rung = FirstWrongRung(outcome);
  if (rung == nullptr) return outcome.note;
  const auto wrong = report::WrongComparisons(*rung);
  if (wrong.empty()) return "";
  return report::QuantityInWords(wrong.front()->what) + ": " + report::WhatIsWrong(*wrong.front());
}

TriggerRow RowFor(const Neighbour& neighbour, const CaseResult& result, const Target& target) {
  TriggerRow row;
  row.axis = neighbour.axis;
  row.change = neighbour.change;
  row.verdict = result.outcome.verdict;
  const Target shown = TargetOf(result.outcome);
  row.wrong = shown.bug == target.bug && shown.rung == target.rung && shown.error == target.error;
  if (result.outcome.verdict == Verdict::kInvalid) {
    row.tried = false;
    row.detail = result.outcome.note.empty() ? "eager rejects it" : result.outcome.note;
    // One line is enough for a table.
    row.detail = row.detail.substr(0, row.detail.find('\n')).substr(0, 160);
  } else if (IsFinding(result.outcome.verdict)) {
    row.detail = Detail(result.outcome);
    if (!row.wrong) {
      row.detail =
          "another bug: " + (row.detail.empty() ? std::string(InWords(row.verdict)) : row.detail);
    }
  }
  return row;
}

}  // namespace

std::vector<Neighbour> NeighboursOf(const Program& program,
                                    const std::vector<reduce::ValueInfo>& values,
                                    const std::string& device,
                                    const std::vector<std::string>& devices, size_t limit) {
  // One list per axis, so that none is starved by the others when the limit is low.
  std::vector<std::vector<Neighbour>> axes;
  const auto collect = [&](auto&& build) {
    Builder builder(program, values);
    build(builder);
    axes.push_back(builder.Take());
  };
  collect([](Builder& b) { b.Operators(); });
  collect([](Builder& b) { b.InBetween(); });
  collect([](Builder& b) { b.Arguments(); });
  collect([](Builder& b) { b.Types(); });
  collect([](Builder& b) { b.Shapes(); });
  collect([](Builder& b) { b.Cotangents(); });
  collect([](Builder& b) { b.Layouts(); });
  collect([](Builder& b) { b.Values(); });
  collect([](Builder& b) { b.Gradients(); });
  collect([&](Builder& b) { b.Devices(device, devices); });
  std::vector<size_t> take(axes.size(), 0);
  size_t total = 0;
  for (bool more = true; more && total < limit;) {
    more = false;
    for (size_t a = 0; a < axes.size() && total < limit; ++a) {
      if (take[a] == axes[a].size()) continue;
      ++take[a];
      ++total;
      more = true;
    }
  }
  std::vector<Neighbour> out;
  for (size_t a = 0; a < axes.size(); ++a) {
    std::move(axes[a].begin(), axes[a].begin() + static_cast<std::ptrdiff_t>(take[a]),
              std::back_inserter(out));
  }
  return out;
}

Triggers TryNeighbours(ProgramRunner& runner, const std::vector<Neighbour>& neighbours,
                       const Target& target, const RunOptions& run, double max_seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Triggers triggers;
  triggers.rows.resize(neighbours.size());
  std::map<std::string, std::vector<size_t>> by_device;
  for (size_t i = 0; i < neighbours.size(); ++i) {
    const Neighbour& n = neighbours[i];
    if (n.program.outputs.empty()) {  // the device is not there
      triggers.rows[i] = {n.axis, n.change, Verdict::kInvalid, false, false, "no such device here"};
      continue;
    }
    by_device[n.device.empty() ? run.device : n.device].push_back(i);
  }
  for (const auto& [device, indices] : by_device) {
    RunOptions options = run;
    options.device = device;
    Target here = target;
    here.device = device;
    for (size_t first = 0; first < indices.size(); first += kTriedTogether) {
      const size_t end = std::min(first + kTriedTogether, indices.size());
      std::vector<WorkItem> items;
      for (size_t k = first; k < end; ++k) {
        items.push_back({std::nullopt, neighbours[indices[k]].program});
      }
      std::vector<CaseResult> results;
      if (seconds() <= max_seconds) results = runner.Run(items, {}, options);
      for (size_t k = first; k < end; ++k) {
        const Neighbour& n = neighbours[indices[k]];
        triggers.rows[indices[k]] =
            k - first < results.size()
                ? RowFor(n, results[k - first], here)
                : TriggerRow{n.axis, n.change, Verdict::kInvalid, false, false, "no time left"};
      }
    }
  }
  // One of each axis, then another of each.
  std::map<std::string, size_t> of_axis;
  for (size_t round = 1; round <= 2; ++round) {
    for (size_t i = 0; i < neighbours.size() && triggers.wrong.size() < kWrongKept; ++i) {
      const TriggerRow& row = triggers.rows[i];
      if (!row.wrong || row.axis == "device" || of_axis[row.axis] >= round) continue;
      if (std::find(triggers.wrong.begin(), triggers.wrong.end(), neighbours[i].program) !=
          triggers.wrong.end()) {
        continue;
      }
      ++of_axis[row.axis];
      triggers.wrong.push_back(neighbours[i].program);
    }
  }
  for (size_t i = 0; i < neighbours.size(); ++i) {
    const TriggerRow& row = triggers.rows[i];
    if (neighbours[i].axis != "in between" || !row.tried || IsFinding(row.verdict)) continue;
    const size_t at = row.change.find(" between ");
    if (at != std::string::npos && triggers.separator.empty()) {
      triggers.separator = row.change.substr(0, at);
    }
    if (!neighbours[i].workaround.empty() && triggers.workaround.empty()) {
      triggers.workaround = neighbours[i].workaround;
    }
  }
  return triggers;
}

Program WithSeparators(const Program& program, const std::string& separator) {
  const BetweenRow* row = nullptr;
  for (const BetweenRow& candidate : Between()) {
    if (separator == candidate.shown) row = &candidate;
  }
  if (row == nullptr) return program;
  Program out = program;
  for (size_t i = out.statements.size(); i-- > 0;) {
    const Statement& statement = out.statements[i];
    if (statement.results != 1 || program::IsInPlace(statement)) continue;
    const ValueId value = program::FirstResult(out, i);
    Statement between{row->op, {Arg::Value(value)}, {}, 1};
    for (const Arg& arg : row->args) between.args.push_back(arg);
    const ValueId after = program::InsertStatement(&out, i + 1, std::move(between));
    for (size_t s = i + 2; s < out.statements.size(); ++s) {
      program::ForEachUse(out.statements[s], [&](program::ValueRef& ref) {
        if (ref.id == value) ref.id = after;
      });
    }
  }
  return out;
}

}  // namespace gradfuzz::isolate
