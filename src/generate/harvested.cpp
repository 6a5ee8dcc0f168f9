// SPDX-License-Identifier: BSD-3-Clause
// Harvested calls: fitted to the values in hand. Eager judges what fits.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "proposer.h"

namespace gradfuzz::generate {
namespace {

using program::Arg;
using program::Statement;

// The operand that carries the chain: the first that needs a gradient and may hold any values.
int MainOperand(const HarvestedCall& call) {
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const HarvestedLeaf& leaf = call.leaves[i];
    if (leaf.number() && leaf.free() && leaf.grad) return static_cast<int>(i);
  }
  return -1;
}

// `sizes` of another operand, once the main one has `to` in place of `from`: sizes equal in the
// same place, counted from the end, follow; so do sizes that stand elsewhere (inner ones of a
// product).
std::vector<int64_t> Follow(std::vector<int64_t> sizes, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to) {
  if (from == to) return sizes;
  if (sizes == from) return to;
  if (from.size() != to.size()) return sizes;
  std::map<int64_t, int64_t> by_size;
  for (size_t d = from.size(); d-- > 0;) by_size.emplace(from[d], to[d]);
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    if (i < from.size() && from[from.size() - 1 - i] == size) {
      size = to[to.size() - 1 - i];
    } else if (const auto other = by_size.find(size); other != by_size.end() && size != 1) {
      size = other->second;
    }
  }
  return sizes;
}

int64_t Product(const std::vector<int64_t>& sizes) {
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  return numel;
}

constexpr int64_t kMaxOperand = 4096;  // elements of a new leaf

}  // namespace

// True when the elements of `value` lie within the limits of `leaf` on every draw.
bool Proposer::HoldsHarvested(const HarvestedLeaf& leaf, const Value& value) const {
  if (!leaf.grad && value.first().requires_grad()) return false;
  if (!leaf.has_low() && !leaf.has_high()) return true;
  for (const at::Tensor& t : value.tensors) {
    if (t.is_complex()) return false;
    if (t.numel() == 0) continue;
    const at::Tensor wide = t.detach().to(at::kDouble);
    if (leaf.has_low() && wide.min().item<double>() < leaf.low) return false;
    if (leaf.has_high() && wide.max().item<double>() > leaf.high) return false;
  }
  return true;
}

int Proposer::NewHarvestedLeaf(const HarvestedOperator& op, const HarvestedLeaf& leaf, Sizes sizes,
                               bool first) {
  const bool grad = leaf.grad && !context_.profile.forward_only;
  if (!leaf.free()) {
    return AddLiteralLeaf(context_, leaf.sizes, context_.profile.dtype, leaf.values, grad,
                          "values.harvested");
  }
  LeafWish wish;
  wish.sizes = std::move(sizes);
  wish.contiguous = first ? op.contiguous_first : op.contiguous_rest;
  wish.no_grad = !grad;
  wish.grad = grad && wish_.grad;
  if (first) wish.layout = wish_.layout;
  if (leaf.has_low() || leaf.has_high()) {
    // The side without a limit goes no further than other values do.
    const double low =
        leaf.has_low() ? leaf.low : std::max(leaf.low, std::min(-3.0, leaf.high - 2));
    const double high =
        leaf.has_high() ? leaf.high : std::min(leaf.high, std::max(3.0, leaf.low + 2));
    wish.range = {low, high};
  }
  return AddFloatLeaf(rng_, context_, wish);
}

std::optional<Statement> Proposer::RunHarvested(const HarvestedOperator& op,
                                                const HarvestedCall& call) {
  ops::Sampler sampler;
  sampler.contiguous = op.contiguous_first;
  std::vector<int> ids(call.leaves.size(), -1);
  const int main = MainOperand(call);
  Sizes from, to;
  if (main >= 0) {
    const HarvestedLeaf& leaf = call.leaves[static_cast<size_t>(main)];
    from = to = leaf.sizes;
    // Operators of one tensor often take any number of dimensions.
    const bool any_rank = call.leaves.size() == 1 && !call.rigid && rng_.Chance(0.3);
    const auto fits = [&](const Value& value) {
      if (call.rigid && value.first().sizes() != at::IntArrayRef(from)) return false;
      if (!any_rank && value.first().dim() != static_cast<int64_t>(from.size())) return false;
      return HoldsHarvested(leaf, value);
    };
    if (const auto id = PickFirst(sampler, fits)) {
      ids[static_cast<size_t>(main)] = *id;
      to = context_.workspace.value(*id).first().sizes().vec();
    } else {
      // As for other operators: rather try another one than start a second thread.
      if (!wish_.new_first && !context_.workspace.steps().empty() && rng_.Chance(0.8)) {
        return std::nullopt;
      }
      const int64_t rank = static_cast<int64_t>(from.size());
      if (rank > 0 && !call.rigid && rng_.Chance(0.4))
        to = DrawSizes(rng_, context_.profile, rank, rank);
      ids[static_cast<size_t>(main)] = NewHarvestedLeaf(op, leaf, to, true);
    }
  }
  sampler.contiguous = op.contiguous_rest;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    if (ids[i] >= 0) continue;
    const HarvestedLeaf& leaf = call.leaves[i];
    if (!leaf.number()) {
      ids[i] =
          AddLiteralLeaf(context_, leaf.sizes, leaf.dtype, leaf.values, false,
                         leaf.dtype == program::DType::kBool ? "index.mask" : "index.harvested");
      continue;
    }
    const Sizes sizes = leaf.free() && main >= 0 ? Follow(leaf.sizes, from, to) : leaf.sizes;
    if (Product(sizes) > kMaxOperand) return std::nullopt;
    std::vector<int> fitting;
    if (leaf.free() && !wish_.new_others && rng_.Chance(0.45)) {
      for (size_t v = 0; v < context_.workspace.values().size(); ++v) {
        const Value& value = context_.workspace.values()[v];
        if (Suits(static_cast<int>(v), sampler) &&
            value.first().sizes() == at::IntArrayRef(sizes) && HoldsHarvested(leaf, value)) {
          fitting.push_back(static_cast<int>(v));
        }
      }
    }
    ids[i] = fitting.empty() ? NewHarvestedLeaf(op, leaf, sizes, false) : rng_.Pick(fitting);
  }
  Statement statement = call.statement;
  program::ForEachUse(statement,
                      [&](program::ValueRef& ref) { ref.id = ids[static_cast<size_t>(ref.id)]; });
  return statement;
}

std::optional<Statement> ProposeHarvested(Rng& rng, Context& context, const HarvestedOperator& op,
                                          const HarvestedCall& call, const Wish& wish) {
  return Proposer(rng, context, op.RecordOf(call), wish).RunHarvested(op, call);
}

}  // namespace gradfuzz::generate
