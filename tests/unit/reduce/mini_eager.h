// SPDX-License-Identifier: BSD-3-Clause
// Shape rules of a dozen operators: what the fakes need in order to reject what eager would reject.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gradfuzz/program/edit.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/reduce/tester.h"

namespace gradfuzz::testing {

using Infos = std::vector<reduce::ValueInfo>;

inline std::optional<std::vector<int64_t>> Broadcast(std::vector<int64_t> a,
                                                     std::vector<int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == 1) {
      a[d] = b[d];
    } else if (b[d] != 1 && b[d] != a[d]) {
      return std::nullopt;
    }
  }
  return a;
}

// RETURNS: one entry per value, or nothing when the program would be rejected.
inline std::optional<Infos> MiniEager(const program::Program& p) {
  using namespace program;
  if (!Validate(p).empty()) return std::nullopt;
  Infos infos;
  for (const Leaf& leaf : p.leaves) {
    infos.push_back({p.storages[static_cast<size_t>(leaf.storage)].dtype, leaf.sizes, leaf.strides,
                     leaf.offset, true});
  }
  const auto push = [&](DType dtype, std::vector<int64_t> sizes) {
    reduce::ValueInfo info;
    info.dtype = dtype;
    info.strides = ContiguousStrides(sizes);
    info.sizes = std::move(sizes);
    infos.push_back(std::move(info));
  };
  static const std::set<std::string> kUnary = {"sin", "relu", "exp",  "neg",   "clone",
                                               "abs", "tanh", "sqrt", "asinh", "square"};
  static const std::set<std::string> kBinary = {"mul", "add", "sub", "atan2", "hypot"};
  static const std::set<std::string> kAggregations = {"sum", "mean", "amax", "amin", "prod"};
  for (const Statement& s : p.statements) {
    const auto in = [&](size_t a) -> const reduce::ValueInfo* {
      if (a >= s.args.size() || !s.args[a].Is<ValueRef>()) return nullptr;
      return &infos[static_cast<size_t>(s.args[a].As<ValueRef>().id)];
    };
    const auto keyword = [&](const std::string& name, int64_t fallback) {
      for (const auto& [k, v] : s.kwargs) {
        if (k == name && v.Is<int64_t>()) return v.As<int64_t>();
      }
      return fallback;
    };
    const reduce::ValueInfo* x = in(0);
    if (x == nullptr || s.results != 1) return std::nullopt;
    const auto dims = static_cast<int64_t>(x->sizes.size());
    if (kUnary.count(s.op) != 0) {
      if (s.args.size() != 1) return std::nullopt;
      push(x->dtype, x->sizes);
    } else if (kBinary.count(s.op) != 0) {
      if (s.args.size() != 2) return std::nullopt;
      if (s.args[1].Is<double>() || s.args[1].Is<int64_t>()) {
        push(x->dtype, x->sizes);
        continue;
      }
      if (in(1) == nullptr) return std::nullopt;
      const auto sizes = Broadcast(x->sizes, in(1)->sizes);
      if (!sizes) return std::nullopt;
      push(std::max(x->dtype, in(1)->dtype), *sizes);
    } else if (kAggregations.count(s.op) != 0) {
      int64_t dim = keyword("dim", INT64_MAX);
      if (s.args.size() == 2 && s.args[1].Is<int64_t>()) dim = s.args[1].As<int64_t>();
      if (dim == INT64_MAX) {
        push(x->dtype, {});
        continue;
      }
      if (dim < 0) dim += dims;
      if (dim < 0 || dim >= dims) return std::nullopt;
      std::vector<int64_t> sizes = x->sizes;
      sizes.erase(sizes.begin() + dim);
      push(x->dtype, sizes);
    } else if (s.op == "transpose") {
      if (s.args.size() != 3 || dims < 2) return std::nullopt;
      int64_t a = s.args[1].As<int64_t>(), b = s.args[2].As<int64_t>();
      if (a < 0) a += dims;
      if (b < 0) b += dims;
      if (a < 0 || b < 0 || a >= dims || b >= dims) return std::nullopt;
      std::vector<int64_t> sizes = x->sizes;
      std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
      push(x->dtype, sizes);
    } else if (s.op == "diagonal_scatter") {
      int64_t offset = keyword("offset", 0);
      if (s.args.size() == 3) offset = s.args[2].As<int64_t>();
      if (dims != 2 || in(1) == nullptr || in(1)->dtype != x->dtype) return std::nullopt;
      const int64_t length = offset >= 0 ? std::min(x->sizes[0], x->sizes[1] - offset)
                                         : std::min(x->sizes[0] + offset, x->sizes[1]);
      if (in(1)->sizes != std::vector<int64_t>{length} || length < 1) return std::nullopt;
      push(x->dtype, x->sizes);
    } else {
      return std::nullopt;
    }
  }
  return infos;
}

// True when a result of an operator named `first` is an operand of one named `then`.
inline bool Feeds(const program::Program& p, const std::string& first, const std::string& then) {
  for (const program::Statement& s : p.statements) {
    if (s.op != then) continue;
    for (program::ValueId id : program::Uses(s)) {
      const auto producer = program::Producer(p, id);
      if (producer && p.statements[*producer].op == first) return true;
    }
  }
  return false;
}

// A leaf with a storage of its own; RETURNS its id. REQUIRES: no statements yet.
inline program::ValueId AddLeaf(program::Program* p, std::vector<int64_t> sizes,
                                bool requires_grad = true,
                                program::DType dtype = program::DType::kFloat32) {
  program::FreshLeaf fresh;
  fresh.leaf.sizes = std::move(sizes);
  fresh.leaf.strides = program::ContiguousStrides(fresh.leaf.sizes);
  fresh.leaf.requires_grad = requires_grad;
  fresh.storage.dtype = dtype;
  fresh.storage.numel = program::Extent(fresh.leaf);
  fresh.storage.values.kind = program::ValueRecipe::Kind::kNormal;
  fresh.storage.values.seed = p->leaves.size() + 7;
  return program::AppendLeaf(p, fresh);
}

inline program::ValueId AddCall(program::Program* p, const std::string& op, program::ArgList args,
                                std::vector<std::pair<std::string, program::Arg>> kwargs = {}) {
  p->statements.push_back({op, std::move(args), std::move(kwargs), 1});
  return program::ValueCount(*p) - 1;
}

inline void AddOutput(program::Program* p, program::ValueId id) {
  program::Output output;
  output.value = id;
  output.cotangent.values.kind = program::ValueRecipe::Kind::kNormal;
  p->outputs.push_back(output);
}

// Seven statements, two outputs; diagonal_scatter feeds sum in the middle.
inline program::Program ScatterSumAmongOthers() {
  using program::Arg;
  program::Program p;
  const auto x = AddLeaf(&p, {5, 7});
  const auto y = AddLeaf(&p, {5});
  const auto z = AddLeaf(&p, {7, 5});
  const auto v3 = AddCall(&p, "sin", {Arg::Value(x)});
  const auto v4 = AddCall(&p, "tanh", {Arg::Value(y)});
  const auto v5 =
      AddCall(&p, "diagonal_scatter", {Arg::Value(v3), Arg::Value(v4)}, {{"offset", Arg(2)}});
  const auto v6 = AddCall(&p, "sum", {Arg::Value(v5)}, {{"dim", Arg(-1)}});
  const auto v7 = AddCall(&p, "mul", {Arg::Value(v6), Arg::Value(v4)});
  const auto v8 = AddCall(&p, "transpose", {Arg::Value(z), Arg(0), Arg(1)});
  const auto v9 = AddCall(&p, "atan2", {Arg::Value(v8), Arg::Value(v3)});
  AddOutput(&p, v7);
  AddOutput(&p, v9);
  return p;
}

}  // namespace gradfuzz::testing
