// SPDX-License-Identifier: BSD-3-Clause
// Index tensors, masks, class numbers, subscripts. Nothing here may index twice what is written
// without accumulation.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "proposer.h"

namespace gradfuzz::generate {
namespace {

using ops::Sampler;
using program::Arg;

}  // namespace

// An index tensor in hand of these sizes, or a new one.
Proposer::Drawn Proposer::IndexLeaf(const Sizes& sizes, int64_t below, bool unique, int64_t dim) {
  if (below <= 0) return std::nullopt;
  if (!wish_.new_others && rng_.Chance(0.4)) {
    std::vector<int> ids;
    for (size_t i = 0; i < context_.workspace.values().size(); ++i) {
      const Value& value = context_.workspace.values()[i];
      if (value.index.below <= 0 || value.index.below > below) continue;
      if (value.first().sizes() != at::IntArrayRef(sizes)) continue;
      if (unique && !(value.index.unique && value.index.unique_dim == dim)) continue;
      ids.push_back(static_cast<int>(i));
    }
    if (!ids.empty()) return Arg::Value(rng_.Pick(ids));
  }
  return Arg::Value(AddIndexLeaf(rng_, context_, sizes, below, unique, dim));
}

Proposer::Drawn Proposer::DrawIndexTensor(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  const Sizes sizes = SizesOf(sampler.of);
  const int64_t dims = static_cast<int64_t>(sizes.size());
  switch (sampler.kind) {
    case Kind::kIndex: {
      if (dims == 0) return std::nullopt;
      const int64_t size = sizes[static_cast<size_t>(DimOf(sampler.dim, dims))];
      if (size == 0) return std::nullopt;
      const int64_t most = sampler.unique ? size : size + 2;
      // Now and then all of it: a permutation.
      const int64_t length = rng_.Chance(0.25) ? size : rng_.Between(1, std::min<int64_t>(most, 9));
      return IndexLeaf({length}, size, sampler.unique, 0);
    }
    case Kind::kIndexLike: {
      if (dims == 0) return std::nullopt;
      const int64_t dim = DimOf(sampler.dim, dims);
      Sizes index = sizes;
      for (int64_t d = 0; d < dims; ++d) {
        int64_t& size = index[static_cast<size_t>(d)];
        if (size == 0) return std::nullopt;
        if (d == dim) {
          const int64_t most = sampler.unique ? size : size + 2;
          if (!rng_.Chance(0.4)) size = rng_.Between(1, std::min<int64_t>(most, 9));
        } else if (!sampler.exact_shape && rng_.Chance(0.25)) {
          size = rng_.Between(1, size);
        }
      }
      return IndexLeaf(index, sizes[static_cast<size_t>(dim)], sampler.unique, dim);
    }
    case Kind::kIndexAny:
      if (dims == 0) return std::nullopt;
      return IndexLeaf(DrawSizes(rng_, context_.profile, 0, 2), sizes[0], false, 0);
    case Kind::kFlatIndex: {
      const int64_t numel = TensorOf(sampler.of).numel();
      if (numel == 0) return std::nullopt;
      const int64_t length = rng_.Between(1, std::min<int64_t>(numel, 9));
      Sizes index = {length};
      if (length % 2 == 0 && !sampler.unique && rng_.Chance(0.3)) index = {2, length / 2};
      return IndexLeaf(index, numel, sampler.unique, 0);
    }
    case Kind::kIndexList:
      return DrawIndexList(sampler);
    case Kind::kClass: {
      if (dims < 2) return std::nullopt;
      Sizes classes = sizes;
      classes.erase(classes.begin() + 1);
      return IndexLeaf(classes, sizes[1], false, 0);
    }
    case Kind::kLabels:
      return DrawLabels(sizes);
    case Kind::kSmallInts: {
      std::vector<double> values;
      for (int64_t i = 0; i < TensorOf(sampler.of).numel(); ++i) {
        values.push_back(static_cast<double>(rng_.Between(-2, 2)));
      }
      return Arg::Value(AddIntLeaf(context_, sizes, std::move(values), "values.integers"));
    }
    default:
      return std::nullopt;
  }
}

Proposer::Drawn Proposer::DrawIndexList(const Sampler& sampler) {
  const Sizes sizes = SizesOf(sampler.of);
  if (sizes.empty() || TensorOf(sampler.of).numel() == 0) return std::nullopt;
  program::ArgList list;
  if (sizes.size() < 2 || rng_.Chance(0.6)) {
    const int64_t length = rng_.Between(1, std::min<int64_t>(sizes[0], 9));
    const Drawn index = IndexLeaf({length}, sizes[0], sampler.unique, 0);
    if (!index) return std::nullopt;
    list.push_back(*index);
    return Arg(std::move(list));
  }
  // Two index tensors name cells; unique means that no cell is named twice.
  const int64_t cells = sizes[0] * sizes[1];
  const int64_t length = rng_.Between(1, std::min<int64_t>(cells, 9));
  std::vector<double> rows;
  std::vector<double> columns;
  std::vector<int64_t> chosen(static_cast<size_t>(cells));
  std::iota(chosen.begin(), chosen.end(), int64_t{0});
  rng_.Shuffle(&chosen);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t cell = sampler.unique
                             ? chosen[static_cast<size_t>(i)]
                             : static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(cells)));
    rows.push_back(static_cast<double>(cell / sizes[1]));
    columns.push_back(static_cast<double>(cell % sizes[1]));
  }
  list.push_back(Arg::Value(AddIntLeaf(context_, {length}, std::move(rows), "index.pairs")));
  list.push_back(Arg::Value(AddIntLeaf(context_, {length}, std::move(columns), "index.pairs")));
  return Arg(std::move(list));
}

Proposer::Drawn Proposer::DrawLabels(const Sizes& sizes) {
  if (sizes.empty()) return std::nullopt;
  const int64_t classes = sizes.back();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d];
  std::vector<double> values;
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int64_t> order(static_cast<size_t>(classes));
    std::iota(order.begin(), order.end(), int64_t{0});
    rng_.Shuffle(&order);
    const int64_t count = rng_.Between(0, classes);
    for (int64_t i = 0; i < classes; ++i) {
      values.push_back(i < count ? static_cast<double>(order[static_cast<size_t>(i)]) : -1.0);
    }
  }
  return Arg::Value(AddIntLeaf(context_, sizes, std::move(values), "values.integers"));
}

Proposer::Drawn Proposer::DrawMask(const Sampler& sampler) {
  const Sizes of = SizesOf(sampler.of);
  if (!wish_.new_others && rng_.Chance(0.5)) {
    std::vector<int> ids;
    for (size_t i = 0; i < context_.workspace.values().size(); ++i) {
      const at::Tensor& t = context_.workspace.values()[i].first();
      if (t.scalar_type() != at::kBool || t.dim() > static_cast<int64_t>(of.size())) continue;
      bool fits = true;
      for (int64_t d = 1; d <= t.dim(); ++d) {
        const int64_t size = of[of.size() - static_cast<size_t>(d)];
        fits = fits && (t.size(-d) == size || t.size(-d) == 1);
      }
      if (fits) ids.push_back(static_cast<int>(i));
    }
    if (!ids.empty()) return Arg::Value(rng_.Pick(ids));
  }
  return Arg::Value(AddMaskLeaf(rng_, context_, DrawBroadcastable(of, true)));
}

Proposer::Drawn Proposer::DrawSubscript(const Sampler& sampler) {
  const Sizes sizes = SizesOf(sampler.of);
  if (sizes.empty()) return std::nullopt;
  program::Tuple tuple;
  const auto none = Arg(program::None{});
  const auto slice = [&](int64_t size) {
    program::Slice drawn{{none, none, none}};
    const int64_t start = rng_.Between(0, std::max<int64_t>(0, size - 1));
    if (rng_.Chance(0.6)) drawn.bounds[0] = Arg(rng_.Chance(0.3) ? start - size : start);
    const int64_t least = drawn.bounds[0].Is<program::None>() ? 0 : start;
    if (rng_.Chance(0.6)) drawn.bounds[1] = Arg(rng_.Between(least + 1, std::max(size, least + 1)));
    if (rng_.Chance(0.3)) drawn.bounds[2] = Arg(rng_.Between(1, 3));
    return Arg(std::move(drawn));
  };
  const bool advanced = sampler.kind == Sampler::Kind::kAdvancedIndex;
  const size_t used = 1 + static_cast<size_t>(rng_.Below(sizes.size()));
  const size_t tensor_at = static_cast<size_t>(rng_.Below(used));
  const bool ellipsis = used < sizes.size() && rng_.Chance(0.2);
  for (size_t d = 0; d < used; ++d) {
    if (!advanced && rng_.Chance(0.1)) tuple.items.push_back(none);
    if (advanced && d == tensor_at) {
      const Drawn index = IndexLeaf({rng_.Between(1, 5)}, sizes[d], false, 0);
      if (!index) return std::nullopt;
      tuple.items.push_back(*index);
    } else if (!advanced && rng_.Chance(0.35)) {
      if (sizes[d] == 0) return std::nullopt;
      tuple.items.push_back(Arg(Signed(rng_.Between(0, sizes[d] - 1), sizes[d])));
    } else {
      tuple.items.push_back(slice(sizes[d]));
    }
  }
  if (ellipsis) tuple.items.push_back(Arg(program::Ellipsis{}));
  if (tuple.items.size() == 1) return tuple.items[0];
  return Arg(std::move(tuple));
}

}  // namespace gradfuzz::generate
