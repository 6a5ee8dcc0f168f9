// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/resize.h"

#include <algorithm>
#include <numeric>

#include "gradfuzz/program/edit.h"

namespace gradfuzz::program {
namespace {

using Sizes = std::vector<int64_t>;

// One past the last element that the dimensions in `dims` reach.
int64_t ExtentOf(const Sizes& sizes, const Sizes& strides, const std::vector<size_t>& dims) {
  int64_t extent = 1;
  for (size_t d : dims) extent += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  return extent;
}

// The strides for other sizes: from the smallest stride up, each keeps its gap to what lies below.
Leaf Relayout(const Leaf& leaf, const Sizes& sizes) {
  Leaf out = leaf;
  out.sizes = sizes;
  if (IsContiguous(leaf)) {
    out.strides = ContiguousStrides(sizes);
    return out;
  }
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return leaf.strides[a] < leaf.strides[b]; });
  std::vector<size_t> below;
  for (size_t d : order) {
    if (leaf.strides[d] == 0) continue;
    const int64_t gap = leaf.strides[d] / ExtentOf(leaf.sizes, leaf.strides, below);
    // Without a gap the dimension overlaps what lies below: its stride stays.
    if (gap > 0) out.strides[d] = gap * ExtentOf(sizes, out.strides, below);
    below.push_back(d);
  }
  return out;
}

// The leading block of a contiguous literal.
std::vector<double> Crop(const std::vector<double>& values, const Sizes& from, const Sizes& to,
                         size_t parts) {
  const Sizes strides = ContiguousStrides(from);
  std::vector<double> out;
  const int64_t count = Numel(to);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = to.size(); d-- > 0;) {
      at += rest % to[d] * strides[d];
      rest /= to[d];
    }
    for (size_t p = 0; p < parts; ++p) out.push_back(values[static_cast<size_t>(at) * parts + p]);
  }
  return out;
}

bool Fits(const Sizes& sizes, const Sizes& limit) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > limit[d]) return false;
  }
  return true;
}

bool ResizeInputs(std::vector<Storage>* storages, std::vector<Leaf>* leaves,
                  const std::vector<Sizes>& sizes) {
  std::vector<Leaf> resized;
  for (size_t i = 0; i < leaves->size(); ++i) resized.push_back(Relayout((*leaves)[i], sizes[i]));
  for (size_t s = 0; s < storages->size(); ++s) {
    Storage& storage = (*storages)[s];
    int64_t needed = 0;
    std::vector<size_t> views;
    for (size_t i = 0; i < leaves->size(); ++i) {
      if (resized[i].storage != static_cast<int>(s)) continue;
      needed = std::max(needed, Extent(resized[i]));
      views.push_back(i);
    }
    if (storage.values.kind == ValueRecipe::Kind::kLiteral) {
      const size_t parts = Info(storage.dtype).is_complex ? 2 : 1;
      std::vector<double>& values = storage.values.values;
      const Leaf& old = (*leaves)[views.empty() ? 0 : views[0]];
      if (views.size() == 1 && old.offset == 0 && IsContiguous(old)) {
        if (!Fits(resized[views[0]].sizes, old.sizes)) return false;
        values = Crop(values, old.sizes, resized[views[0]].sizes, parts);
      } else if (needed <= storage.numel) {
        values.resize(static_cast<size_t>(needed) * parts);
      } else {
        return false;
      }
    }
    storage.numel = needed;
  }
  *leaves = std::move(resized);
  return true;
}

bool IsInteger(DType dtype) { return !IsDifferentiable(dtype) && dtype != DType::kBool; }

void RankIntegers(std::vector<Storage>* storages) {
  for (Storage& storage : *storages) {
    if (!IsInteger(storage.dtype) || storage.values.kind != ValueRecipe::Kind::kLiteral) continue;
    std::vector<double> sorted = storage.values.values;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (double& value : storage.values.values) {
      value = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
    }
  }
}

void LimitIntegers(std::vector<Storage>* storages, int64_t bound) {
  for (Storage& storage : *storages) {
    ValueRecipe& values = storage.values;
    if (!IsInteger(storage.dtype) || values.kind != ValueRecipe::Kind::kInts) continue;
    values.high = std::min(values.high, static_cast<double>(bound - 1));
    values.low = std::clamp(values.low, static_cast<double>(-bound), values.high);
  }
}

}  // namespace

std::optional<Program> WithSizes(const Program& program, const std::vector<Sizes>& sizes) {
  Program out = program;
  if (!ResizeInputs(&out.storages, &out.leaves, sizes)) return std::nullopt;
  if (!program.call.second_leaves.empty()) {
    // A dimension that differs in the second call goes on to differ, by one.
    std::vector<Sizes> second;
    for (size_t i = 0; i < sizes.size(); ++i) {
      second.push_back(sizes[i]);
      const Sizes& before = program.call.second_leaves[i].sizes;
      for (size_t d = 0; d < before.size() && d < sizes[i].size(); ++d) {
        if (before[d] != program.leaves[i].sizes[d]) ++second[i][d];
      }
    }
    if (!ResizeInputs(&out.call.second_storages, &out.call.second_leaves, second)) {
      return std::nullopt;
    }
  }
  return out;
}

Program WithRankedIntegers(const Program& program) {
  Program out = program;
  RankIntegers(&out.storages);
  RankIntegers(&out.call.second_storages);
  return out;
}

Program WithIntegersBelow(const Program& program, int64_t bound) {
  Program out = program;
  LimitIntegers(&out.storages, bound);
  LimitIntegers(&out.call.second_storages, bound);
  return out;
}

}  // namespace gradfuzz::program
