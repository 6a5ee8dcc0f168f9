// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/materialise.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "gradfuzz/support/check.h"

namespace gradfuzz::evaluate {
namespace {

using program::Cotangent;
using program::DType;
using program::ValueRecipe;

struct TypeRow {
  DType dtype;
  at::ScalarType type;
};
constexpr TypeRow kTypes[] = {
    {DType::kFloat16, at::kHalf},
    {DType::kBFloat16, at::kBFloat16},
    {DType::kFloat32, at::kFloat},
    {DType::kFloat64, at::kDouble},
    {DType::kComplex64, at::kComplexFloat},
    {DType::kComplex128, at::kComplexDouble},
    {DType::kUInt8, at::kByte},
    {DType::kInt8, at::kChar},
    {DType::kInt16, at::kShort},
    {DType::kInt32, at::kInt},
    {DType::kInt64, at::kLong},
    {DType::kBool, at::kBool},
};

constexpr double kUnit =
    1048576;  // 2^20: the grid of the random recipes (emit.cpp spells the same)

at::Tensor Literal(const std::vector<double>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble));
}

// `n` real elements of a random recipe, as the helpers of the emitted module draw them.
at::Tensor Random(const ValueRecipe& recipe, int draw, int64_t n) {
  at::Generator g = at::detail::createCPUGenerator(recipe.seed + static_cast<uint64_t>(draw));
  const auto ints = [&](int64_t low, int64_t high, at::IntArrayRef sizes) {
    return at::randint(low, high + 1, sizes, g, at::TensorOptions().dtype(at::kLong));
  };
  switch (recipe.kind) {
    case ValueRecipe::Kind::kInts:
      return ints(static_cast<int64_t>(recipe.low), static_cast<int64_t>(recipe.high), {n});
    case ValueRecipe::Kind::kUniform:
      return ints(0, 1 << 20, {n})
          .to(at::kDouble)
          .mul(recipe.high - recipe.low)
          .div(kUnit)
          .add(recipe.low);
    case ValueRecipe::Kind::kNormal:
      return ints(-(1 << 20), 1 << 20, {3, n})
          .sum(0)
          .to(at::kDouble)
          .div(kUnit)
          .mul(recipe.scale)
          .add(recipe.shift);
    case ValueRecipe::Kind::kChoice:
      return Literal(recipe.values)
          .index_select(0, ints(0, static_cast<int64_t>(recipe.values.size()) - 1, {n}));
    case ValueRecipe::Kind::kLiteral:
      break;
  }
  return Literal(recipe.values);
}

bool IsComplex(at::ScalarType type) { return at::isComplexType(type); }

}  // namespace

at::ScalarType ToScalarType(DType dtype) { return kTypes[static_cast<size_t>(dtype)].type; }

DType FromScalarType(at::ScalarType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.dtype;
  }
  GF_CHECK(false, "a dtype that programs do not use");
  return DType::kFloat32;
}

at::Tensor MakeStorage(const program::Storage& storage, int draw, const at::Device& device) {
  const at::ScalarType type = ToScalarType(storage.dtype);
  at::Tensor values;
  if (IsComplex(type)) {
    const at::Tensor parts = Random(storage.values, draw, 2 * storage.numel).to(at::kDouble);
    if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
      const at::Tensor pairs = parts.reshape({-1, 2});  // re, im in turn
      values = at::complex(pairs.select(1, 0), pairs.select(1, 1));
    } else {
      const at::Tensor rows = parts.reshape({2, -1});
      values = at::complex(rows.select(0, 0), rows.select(0, 1));
    }
  } else {
    values = Random(storage.values, draw, storage.numel);
  }
  return values.to(at::TensorOptions().dtype(type).device(device), false, true);
}

Inputs MakeInputs(const std::vector<program::Storage>& storages,
                  const std::vector<program::Leaf>& leaves, int draw, const at::Device& device) {
  Inputs inputs;
  for (const program::Storage& storage : storages) {
    inputs.storages.push_back(MakeStorage(storage, draw, device));
  }
  for (const program::Leaf& leaf : leaves) {
    inputs.leaves.push_back(inputs.storages[static_cast<size_t>(leaf.storage)]
                                .as_strided(leaf.sizes, leaf.strides, leaf.offset)
                                .detach()
                                .requires_grad_(leaf.requires_grad));
  }
  return inputs;
}

at::Tensor MakeCotangent(const Cotangent& cotangent, const at::Tensor& output, int draw) {
  const std::vector<int64_t> sizes = output.sizes().vec();
  int64_t n = output.numel();
  if (cotangent.layout == Cotangent::Layout::kExpanded) n = 1;
  if (cotangent.layout == Cotangent::Layout::kSliced) n *= 2;
  const at::Tensor flat =
      Random(cotangent.values, draw, n)
          .to(at::TensorOptions().dtype(output.scalar_type()).device(output.device()));
  switch (cotangent.layout) {
    case Cotangent::Layout::kContiguous:
      break;
    case Cotangent::Layout::kExpanded:
      return flat.reshape({}).expand(sizes);
    case Cotangent::Layout::kColumnMajor: {
      std::vector<int64_t> reversed(sizes.rbegin(), sizes.rend());
      std::vector<int64_t> order(sizes.size());
      for (size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int64_t>(order.size() - 1 - i);
      }
      return flat.reshape(reversed).permute(order);
    }
    case Cotangent::Layout::kSliced: {
      std::vector<int64_t> doubled = sizes;
      doubled.push_back(2);
      return flat.reshape(doubled).select(-1, 0);
    }
  }
  return flat.reshape(sizes);
}

}  // namespace gradfuzz::evaluate
