// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "builder.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/evaluate/unset_memory.h"
#include "gradfuzz/generate/exactness.h"

namespace gradfuzz::generate {
namespace {

using program::Cotangent;
using program::Output;
using program::ValueRecipe;

constexpr size_t kMaxOutputs = 4;
constexpr double kMaxGradient = 1e5;

constexpr Alternative kValues[] = {{"normal", 50}, {"integers", 25}, {"ones", 25}};
constexpr Alternative kLayouts[] = {
    {"contiguous", 60}, {"expanded", 12}, {"column_major", 14}, {"sliced", 14}};

Cotangent DrawCotangent(Rng& rng, Context& context, const at::Tensor& output,
                        std::vector<std::string>* features) {
  Cotangent cotangent;
  ValueRecipe& recipe = cotangent.values;
  const bool scalar = output.dim() == 0;
  auto layout = Draw(rng, context.weights, "cotangent.", kLayouts);
  if (!layout || scalar || (*layout == 2 && output.dim() < 2)) layout = 0;
  cotangent.layout = static_cast<Cotangent::Layout>(*layout);
  auto values = Draw(rng, context.weights, "cotangent.", kValues);
  if (!values || (scalar && rng.Chance(0.8))) values = 2;
  if (context.profile.exact && *values == 0) values = 1;
  recipe.seed = rng.Below(100000) * 10;
  if (*values == 2 && (scalar || cotangent.layout == Cotangent::Layout::kExpanded)) {
    recipe.kind = ValueRecipe::Kind::kLiteral;
    recipe.values = {1.0};
    recipe.seed = 0;
  } else if (*values == 0) {
    recipe.kind = ValueRecipe::Kind::kNormal;
  } else {
    recipe.kind = ValueRecipe::Kind::kInts;
    recipe.low = *values == 2 ? 1 : -3;
    recipe.high = *values == 2 ? 1 : 3;
  }
  features->push_back("cotangent." + std::string(kValues[*values].name));
  features->push_back("cotangent." + std::string(kLayouts[*layout].name));
  return cotangent;
}

// REQUIRES: gradients of one program by the same leaves.
bool SameGradients(const torch::autograd::variable_list& a,
                   const torch::autograd::variable_list& b) {
  return std::ranges::equal(a, b, [](const at::Tensor& x, const at::Tensor& y) {
    return x.defined() == y.defined() && (!x.defined() || x.equal(y));
  });
}

double CotangentBound(const Output& output) {
  return IntegerBound({program::DType::kFloat64, 0, output.cotangent.values});
}

}  // namespace

std::vector<Output> DrawOutputs(Rng& rng, Context& context, bool all_results,
                                std::vector<std::string>* features) {
  const Workspace& workspace = context.workspace;
  std::vector<int> chosen;
  // Of a program of integers every result is what it is about.
  const auto is_float = [&](const at::Tensor& t) {
    return context.profile.integers() || t.is_floating_point() || t.is_complex();
  };
  // The end of the program first, then other results that nothing uses, then intermediate ones.
  for (size_t i = workspace.values().size(); i-- > 0 && chosen.size() < kMaxOutputs;) {
    const Value& value = workspace.values()[i];
    if (value.statement < 0) continue;
    const bool last = chosen.empty() && is_float(value.first());
    double chance = last ? 1 : value.uses == 0 ? (is_float(value.first()) ? 0.75 : 0.4) : 0.1;
    if (all_results) chance = 1;
    if (rng.Chance(chance)) chosen.push_back(static_cast<int>(i));
  }
  std::reverse(chosen.begin(), chosen.end());
  std::vector<Output> outputs;
  for (const int id : chosen) {
    Output output;
    output.value = id;
    const at::Tensor& tensor = workspace.value(id).first();
    if (tensor.requires_grad()) {
      output.cotangent = DrawCotangent(rng, context, tensor, features);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

bool BackwardSuits(const Context& context, const std::vector<Output>& outputs) {
  bool any_nonzero = false;
  bool any = false;
  try {
    for (size_t d = 0; d < kDraws; ++d) {
      torch::autograd::variable_list tensors, cotangents, leaves;
      for (const Output& output : outputs) {
        const at::Tensor& t = context.workspace.value(output.value).tensors[d];
        if (!t.requires_grad()) continue;
        tensors.push_back(t);
        cotangents.push_back(
            evaluate::MakeCotangent(output.cotangent, t.detach(), static_cast<int>(d)));
      }
      for (const Value& value : context.workspace.values()) {
        if (value.leaf >= 0 && value.first().requires_grad()) leaves.push_back(value.tensors[d]);
      }
      if (tensors.empty() || leaves.empty()) return false;
      const bool first = d == 0;
      const auto gradients = torch::autograd::grad(tensors, leaves, cotangents, first, false, true);
      if (first) {
        const evaluate::UnsetMemory other(evaluate::UnsetMemory::kFinite);
        if (!SameGradients(gradients, torch::autograd::grad(tensors, leaves, cotangents, false,
                                                            false, true))) {
          return false;
        }
      }
      for (const at::Tensor& g : gradients) {
        if (!g.defined()) continue;
        any = true;
        if (g.numel() == 0) continue;
        const double largest = g.abs().max().to(at::kDouble).item<double>();
        if (!std::isfinite(largest) || largest > kMaxGradient) return false;
        any_nonzero = any_nonzero || largest > 0;
      }
    }
  } catch (const std::exception&) {
    return false;  // written in place after autograd had saved it, or no derivative
  }
  return any && (any_nonzero || context.profile.empty);
}

bool IsExact(const Context& context, const std::vector<Output>& outputs) {
  if (program::Info(context.profile.dtype).is_complex) return false;
  std::vector<int> ids;
  std::vector<double> bounds;
  for (const Output& output : outputs) {
    const Value& value = context.workspace.value(output.value);
    if (!value.exact) return false;
    ids.push_back(output.value);
    bounds.push_back(value.first().requires_grad() ? CotangentBound(output) : 0);
    if (!std::isfinite(bounds.back())) return false;
  }
  return GradientsAreExact(context.workspace, ids, bounds);
}

void AppendCotangentNames(std::vector<std::string>* names) {
  AppendNames("cotangent.", kValues, names);
  AppendNames("cotangent.", kLayouts, names);
}

}  // namespace gradfuzz::generate
