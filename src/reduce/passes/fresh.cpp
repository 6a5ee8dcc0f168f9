// SPDX-License-Identifier: BSD-3-Clause
#include "fresh.h"

#include <algorithm>

#include "gradfuzz/reduce/op_class.h"

namespace gradfuzz::reduce {
namespace {

using program::ValueRecipe;

ValueRecipe Uniform(double low, double high) {
  ValueRecipe recipe;
  recipe.kind = ValueRecipe::Kind::kUniform;
  recipe.low = low;
  recipe.high = high;
  return recipe;
}

// Values inside every domain that an operator may ask for (ops::Domain).
ValueRecipe ValuesIn(ops::Domain domain) {
  switch (domain) {
    case ops::Domain::kAny:
    case ops::Domain::kModerate: {
      ValueRecipe recipe;
      recipe.kind = ValueRecipe::Kind::kNormal;
      return recipe;
    }
    case ops::Domain::kUnit:
    case ops::Domain::kUnitOpen:
      return Uniform(0.125, 0.875);
    default:
      return Uniform(1.25, 3);
  }
}

}  // namespace

std::optional<program::FreshLeaf> FreshFor(const program::Program& program, const Facts& facts,
                                           program::ValueId id) {
  if (static_cast<size_t>(id) >= facts.values.size()) return std::nullopt;
  const ValueInfo& info = facts.values[static_cast<size_t>(id)];
  if (!info.is_tensor || info.sizes.size() != info.strides.size()) return std::nullopt;
  program::FreshLeaf fresh;
  fresh.leaf.sizes = info.sizes;
  fresh.leaf.strides = info.strides;
  fresh.leaf.requires_grad = program::IsDifferentiable(info.dtype);
  fresh.storage.dtype = info.dtype;
  fresh.storage.numel = program::Extent(fresh.leaf);
  ValueRecipe& values = fresh.storage.values;
  if (info.dtype == program::DType::kBool) {
    values.low = 0;
    values.high = 1;
  } else if (!program::IsDifferentiable(info.dtype)) {
    // Perhaps an index that must not repeat: 0, 1, 2, ... never does.
    values.kind = ValueRecipe::Kind::kLiteral;
    for (int64_t i = 0; i < fresh.storage.numel; ++i) {
      values.values.push_back(static_cast<double>(i));
    }
  } else {
    ops::Domain domain = ops::Domain::kAny;
    for (const program::Statement& statement : program.statements) {
      const auto uses = program::Uses(statement);
      if (std::find(uses.begin(), uses.end(), id) == uses.end()) continue;
      if (domain == ops::Domain::kAny) domain = OperandDomain(statement, id);
      // Torch forbids writing in place to a leaf that requires a gradient.
      if (program::IsInPlace(statement) && uses.front() == id) fresh.leaf.requires_grad = false;
    }
    values = ValuesIn(domain);
  }
  if (values.kind != ValueRecipe::Kind::kLiteral) values.seed = static_cast<uint64_t>(id);
  return fresh;
}

}  // namespace gradfuzz::reduce
