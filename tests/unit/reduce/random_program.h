// SPDX-License-Identifier: BSD-3-Clause
// Random well-formed programs for property tests. They need not run: Validate accepts them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/program/edit.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::testing {

inline program::ValueRecipe RandomRecipe(Rng& rng, program::DType dtype, int64_t numel) {
  using Kind = program::ValueRecipe::Kind;
  program::ValueRecipe recipe;
  recipe.kind = static_cast<Kind>(rng.Below(5));
  recipe.seed = recipe.kind == Kind::kLiteral ? 0 : rng.Below(1000);
  if (recipe.kind == Kind::kInts || recipe.kind == Kind::kUniform) {
    recipe.low = static_cast<double>(rng.Between(-5, 0));
    recipe.high = static_cast<double>(rng.Between(1, 9));
  }
  if (recipe.kind == Kind::kLiteral) {
    const int64_t parts = program::Info(dtype).is_complex ? 2 : 1;
    for (int64_t i = 0; i < numel * parts; ++i) {
      recipe.values.push_back(static_cast<double>(rng.Between(-99, 99)) / 8);
    }
  }
  if (recipe.kind == Kind::kChoice) recipe.values = {-1, 0.5, 3};
  return recipe;
}

inline program::Program RandomProgram(Rng& rng) {
  using namespace program;
  Program p;
  const size_t storages = 1 + rng.Below(3);
  const DType dtypes[] = {DType::kFloat32,   DType::kFloat64, DType::kBFloat16,
                          DType::kComplex64, DType::kInt64,   DType::kBool};
  for (size_t s = 0; s < storages; ++s) {
    Storage storage;
    storage.dtype = dtypes[rng.Below(6)];
    p.storages.push_back(storage);
  }
  const size_t leaves = storages + rng.Below(3);
  for (size_t i = 0; i < leaves; ++i) {
    Leaf leaf;
    leaf.storage = static_cast<int>(i < storages ? i : rng.Below(storages));
    const size_t dims = rng.Below(4);
    for (size_t d = 0; d < dims; ++d) leaf.sizes.push_back(rng.Between(rng.Chance(0.1) ? 0 : 1, 5));
    leaf.strides = ContiguousStrides(leaf.sizes);
    if (rng.Chance(0.5)) rng.Shuffle(&leaf.strides);
    if (rng.Chance(0.2)) {
      for (int64_t& stride : leaf.strides) stride *= rng.Between(0, 2);
    }
    leaf.offset = rng.Chance(0.3) ? rng.Between(1, 4) : 0;
    Storage& storage = p.storages[static_cast<size_t>(leaf.storage)];
    leaf.requires_grad = IsDifferentiable(storage.dtype) && rng.Chance(0.7);
    storage.numel = std::max(storage.numel, Extent(leaf) + (rng.Chance(0.2) ? 3 : 0));
    p.leaves.push_back(leaf);
  }
  for (Storage& s : p.storages) s.values = RandomRecipe(rng, s.dtype, s.numel);

  const size_t statements = 1 + rng.Below(6);
  const char* unary[] = {"sin", "relu", "amax", "Tensor.neg_", "asinh", "cumsum", "custom_op"};
  for (size_t i = 0; i < statements; ++i) {
    const auto any = [&] {
      return Arg::Value(static_cast<ValueId>(rng.Below(static_cast<uint64_t>(ValueCount(p)))));
    };
    Statement s;
    switch (rng.Below(6)) {
      case 0:
        s = {"atan2", {any(), any()}, {}, 1};
        break;
      case 1:
        s = {"max", {any(), Arg(rng.Between(-2, 2))}, {{"keepdim", Arg(true)}}, 2};
        break;
      case 2:
        s = {"cat", {Arg(ArgList{any(), any()})}, {{"dim", Arg(rng.Between(0, 3))}}, 1};
        break;
      case 3:
        s = {"Tensor.__setitem__",
             {any(), Arg(Tuple{{Arg(Slice{{Arg(), Arg(int64_t{3}), Arg()}}), Arg(Ellipsis{})}}),
              Arg(0.75)},
             {},
             0};
        break;
      case 4:
        s = {"reshape", {any(), Arg::Ints({rng.Between(1, 5), rng.Between(1, 9)})}, {}, 1};
        break;
      default:
        s = {unary[rng.Below(7)], {any()}, {{"dtype", Arg(DType::kFloat32)}}, 1};
        if (rng.Chance(0.5)) s.kwargs.clear();
    }
    p.statements.push_back(std::move(s));
  }
  const size_t outputs = 1 + rng.Below(3);
  for (size_t i = 0; i < outputs; ++i) {
    Output output;
    output.value = static_cast<ValueId>(rng.Below(static_cast<uint64_t>(ValueCount(p))));
    output.cotangent.layout = static_cast<Cotangent::Layout>(rng.Below(4));
    output.cotangent.values.seed = rng.Below(50);
    p.outputs.push_back(output);
  }
  if (rng.Chance(0.3)) {
    const int first = static_cast<int>(rng.Below(statements));
    p.regions.push_back(
        {Region::Kind::kNoGrad, first,
         static_cast<int>(rng.Between(first, static_cast<int64_t>(statements) - 1))});
    if (rng.Chance(0.5)) {
      p.regions.push_back({Region::Kind::kAutocast, p.regions[0].first, p.regions[0].first});
    }
    if (rng.Chance(0.3)) p.regions[0].kind = Region::Kind::kCheckpoint;
  }
  if (rng.Chance(0.3)) {
    p.call.second_leaves = p.leaves;
    p.call.second_storages = p.storages;
  }
  if (rng.Chance(0.2)) p.call.dynamic = CallPlan::Dynamic::kYes;
  if (rng.Chance(0.2)) p.call.backward = CallPlan::Backward::kDouble;
  if (rng.Chance(0.2)) p.call.config = {{"inductor.cpp.simdlen", 1}, {"functorch.cse", false}};
  return p;
}

}  // namespace gradfuzz::testing
