// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/cost.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "gradfuzz/program/edit.h"

namespace gradfuzz::program {
namespace {

// Within a group of interchangeable operators the simplest first. The order between groups does not
// matter: only operators of one class replace each other (reduce/op_class.h).
constexpr std::string_view kSimplestFirst[] = {
    "neg",
    "add",
    "mul",
    "sub",
    "div",
    "abs",
    "relu",
    "square",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "atan",
    "maximum",
    "minimum",
    "pow",
    "atan2",
    "hypot",
    "sum",
    "mean",
    "amax",
    "amin",
    "max",
    "min",
    "prod",
    "var",
    "std",
    "logsumexp",
    "cumsum",
    "clone",
    "t",
    "transpose",
    "permute",
    "reshape",
    "expand",
    "narrow",
    "select",
    "diagonal",
    "flip",
    "cat",
    "stack",
    "select_scatter",
    "slice_scatter",
    "diagonal_scatter",
    "masked_fill",
    "index_add",
    "index_copy",
    "index_fill",
    "scatter",
    "scatter_add",
    "index_put",
    "index_select",
    "gather",
    "mm",
    "matmul",
    "where",
    "clamp",
    "nn.functional.pad",
};
constexpr int kUnlisted = 100;
constexpr int kMethod = 1;    // "Tensor.sum" after "sum"
constexpr int kInPlace = 20;  // "Tensor.add_" after every functional operator of its kind

int64_t NumberCost(double value) {
  if (value == 0 && !std::signbit(value)) return 0;
  if (!std::isfinite(value)) return 12;
  if (std::floor(value) == value && std::fabs(value) < 1e15) {
    int64_t digits = value < 0 || std::signbit(value) ? 1 : 0;
    for (double rest = std::fabs(value); rest >= 1; rest = std::floor(rest / 10)) ++digits;
    return digits + (value == 1 ? 0 : 1);  // 1 comes after 0 and before 2
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return 2 + (end - buffer);
}

struct ArgCounter {
  int64_t count = 0;
  int64_t magnitude = 0;
  int64_t types = 0;

  void Add(const Arg& arg) {
    if (arg.Is<ValueRef>()) return;
    if (arg.Is<ArgList>()) {
      for (const Arg& item : arg.As<ArgList>()) Add(item);
      return;
    }
    if (arg.Is<Tuple>()) {
      for (const Arg& item : arg.As<Tuple>().items) Add(item);
      return;
    }
    ++count;
    if (arg.Is<bool>()) magnitude += arg.As<bool>() ? 1 : 0;
    if (arg.Is<int64_t>()) magnitude += NumberCost(static_cast<double>(arg.As<int64_t>()));
    if (arg.Is<double>()) magnitude += NumberCost(arg.As<double>());
    if (arg.Is<std::complex<double>>()) {
      const auto& z = arg.As<std::complex<double>>();
      magnitude += 4 + NumberCost(z.real()) + NumberCost(z.imag());
    }
    if (arg.Is<std::string>()) magnitude += static_cast<int64_t>(arg.As<std::string>().size());
    if (arg.Is<Constant>()) magnitude += static_cast<int64_t>(arg.As<Constant>().name.size());
    if (arg.Is<DType>()) types += TypeRank(arg.As<DType>());
    if (arg.Is<Slice>()) {
      for (const Arg& bound : arg.As<Slice>().bounds) {
        if (!bound.Is<None>()) Add(bound);
      }
    }
  }

  static int64_t TypeRank(DType dtype) {
    switch (dtype) {
      case DType::kFloat64:
      case DType::kInt64:
        return 0;
      case DType::kFloat32:
      case DType::kBool:
        return 1;
      case DType::kInt32:
        return 2;
      case DType::kComplex128:
        return 3;
      case DType::kComplex64:
        return 4;
      default:  // low precision and narrow integers
        return 5;
    }
  }
};

int64_t LeafLayoutCost(const Leaf& leaf, bool aliased) {
  return (IsContiguous(leaf) ? 0 : 4) + (leaf.offset != 0 ? 2 : 0) + (aliased ? 8 : 0);
}

// Adds what the leaves and their storages cost. Called for the first call, and for the second.
void AddInputs(const std::vector<Storage>& storages, const std::vector<Leaf>& leaves, Cost* cost) {
  const auto term = [&](CostTerm t) -> int64_t& { return cost->terms[static_cast<size_t>(t)]; };
  std::vector<int> views(storages.size(), 0);
  std::vector<int64_t> reach(storages.size(), 0);
  std::set<std::vector<int64_t>> shapes;
  for (const Leaf& leaf : leaves) {
    shapes.insert(leaf.sizes);
    const size_t s = static_cast<size_t>(leaf.storage);
    ++views[s];
    reach[s] = std::max(reach[s], Extent(leaf));
    term(CostTerm::kLeaves) += 1;
    term(CostTerm::kGradients) += leaf.requires_grad ? 1 : 0;
    term(CostTerm::kDimensions) += static_cast<int64_t>(leaf.sizes.size());
    term(CostTerm::kElements) += Numel(leaf.sizes);
  }
  term(CostTerm::kDimensions) += static_cast<int64_t>(shapes.size());
  for (const Leaf& leaf : leaves) {
    term(CostTerm::kLayout) += LeafLayoutCost(leaf, views[static_cast<size_t>(leaf.storage)] > 1);
  }
  for (size_t s = 0; s < storages.size(); ++s) {
    term(CostTerm::kLayout) += storages[s].numel - reach[s];
    term(CostTerm::kTypes) += ArgCounter::TypeRank(storages[s].dtype);
    term(CostTerm::kValues) += CostOf(storages[s].values, storages[s].numel);
  }
}

}  // namespace

int64_t CostOf(const ValueRecipe& recipe, int64_t numel) {
  switch (recipe.kind) {
    case ValueRecipe::Kind::kLiteral: {
      int64_t cost = 2;
      for (double v : recipe.values) cost += NumberCost(v) + (numel > 16 ? 2 : 0);
      return cost;
    }
    case ValueRecipe::Kind::kInts:
      if (recipe.low == recipe.high) return 1 + NumberCost(recipe.low);
      return 100 + NumberCost(recipe.low) + NumberCost(recipe.high) + (recipe.seed != 0 ? 1 : 0);
    case ValueRecipe::Kind::kUniform:
      return 200 + NumberCost(recipe.low) + NumberCost(recipe.high) + (recipe.seed != 0 ? 1 : 0);
    case ValueRecipe::Kind::kNormal:
      return 300 + NumberCost(recipe.scale) + NumberCost(recipe.shift) + (recipe.seed != 0 ? 1 : 0);
    case ValueRecipe::Kind::kChoice: {
      int64_t cost = 400 + (recipe.seed != 0 ? 1 : 0);
      for (double v : recipe.values) cost += 1 + NumberCost(v);
      return cost;
    }
  }
  return 0;
}

int OperatorRank(const std::string& op) {
  std::string_view name = op;
  int extra = 0;
  if (name.starts_with("Tensor.")) {
    name.remove_prefix(7);
    extra += kMethod;
  }
  if (name.ends_with('_') && !name.ends_with("__")) {
    name.remove_suffix(1);
    extra += kInPlace;
  }
  int rank = 0;
  for (std::string_view listed : kSimplestFirst) {
    if (name == listed) return rank + extra;
    ++rank;
  }
  return kUnlisted + extra;
}

Cost CostOf(const Program& program) {
  Cost cost;
  const auto term = [&](CostTerm t) -> int64_t& { return cost.terms[static_cast<size_t>(t)]; };
  term(CostTerm::kStatements) = static_cast<int64_t>(program.statements.size());
  const CallPlan& call = program.call;
  term(CostTerm::kCall) = static_cast<int64_t>(program.regions.size()) +
                          (call.dynamic != CallPlan::Dynamic::kDefault ? 1 : 0) +
                          (call.backward != CallPlan::Backward::kGrad ? 2 : 0) +
                          (call.autocast ? 2 : 0) + (call.no_grad_first ? 2 : 0) +
                          (call.second_leaves.empty() ? 0 : 4) +
                          static_cast<int64_t>(call.config.size() + Floats(program).size());
  term(CostTerm::kOutputs) = static_cast<int64_t>(program.outputs.size());
  ArgCounter positional, keyword;
  for (const Statement& statement : program.statements) {
    term(CostTerm::kOperators) += OperatorRank(statement.op);
    for (const Arg& arg : statement.args) positional.Add(arg);
    for (const auto& [name, arg] : statement.kwargs) keyword.Add(arg);
    // An empty list as a keyword costs as well.
    term(CostTerm::kArguments) += static_cast<int64_t>(statement.kwargs.size());
  }
  term(CostTerm::kArguments) += positional.count + keyword.count;
  term(CostTerm::kAttributes) = positional.magnitude + keyword.magnitude;
  term(CostTerm::kTypes) = positional.types + keyword.types;
  for (const Output& output : program.outputs) {
    // The number of elements of an output is not known here; a literal states it.
    const ValueRecipe& recipe = output.cotangent.values;
    term(CostTerm::kCotangents) += CostOf(recipe, static_cast<int64_t>(recipe.values.size())) +
                                   1000 * static_cast<int64_t>(output.cotangent.layout);
  }
  AddInputs(program.storages, program.leaves, &cost);
  AddInputs(call.second_storages, call.second_leaves, &cost);
  return cost;
}

}  // namespace gradfuzz::program
