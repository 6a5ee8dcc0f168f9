// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/indexing.h"

#include <ATen/ATen.h>
#include <ATen/TensorIndexing.h>

namespace gradfuzz::evaluate {
namespace {

using at::indexing::TensorIndex;
using program::Arg;

std::optional<std::optional<c10::SymInt>> Bound(const program::Slice& slice, size_t i) {
  if (i >= slice.bounds.size() || slice.bounds[i].Is<program::None>()) {
    return std::optional<c10::SymInt>();
  }
  if (!slice.bounds[i].Is<int64_t>()) return std::nullopt;
  return std::optional<c10::SymInt>(slice.bounds[i].As<int64_t>());
}

std::optional<TensorIndex> OneIndex(const Arg& arg, std::span<const at::Tensor> values) {
  if (arg.Is<int64_t>()) return TensorIndex(arg.As<int64_t>());
  if (arg.Is<program::None>()) return TensorIndex(at::indexing::None);
  if (arg.Is<program::Ellipsis>()) return TensorIndex(at::indexing::Ellipsis);
  if (arg.Is<program::ValueRef>()) {
    return TensorIndex(values[static_cast<size_t>(arg.As<program::ValueRef>().id)]);
  }
  if (arg.Is<program::Slice>()) {
    const program::Slice& slice = arg.As<program::Slice>();
    // slice(stop) has its one bound at the end, as in Python.
    const size_t first = slice.bounds.size() == 1 ? 1 : 0;
    const auto start = first == 1 ? std::optional(std::optional<c10::SymInt>()) : Bound(slice, 0);
    const auto stop = Bound(slice, 1 - first);
    const auto step = first == 1 ? std::optional(std::optional<c10::SymInt>()) : Bound(slice, 2);
    if (!start || !stop || !step) return std::nullopt;
    return TensorIndex(at::indexing::Slice(*start, *stop, *step));
  }
  return std::nullopt;
}

std::optional<std::vector<TensorIndex>> Indices(const Arg& arg,
                                                std::span<const at::Tensor> values) {
  std::vector<TensorIndex> indices;
  if (!arg.Is<program::Tuple>()) {
    auto index = OneIndex(arg, values);
    if (!index) return std::nullopt;
    indices.push_back(std::move(*index));
    return indices;
  }
  for (const Arg& item : arg.As<program::Tuple>().items) {
    auto index = OneIndex(item, values);
    if (!index) return std::nullopt;
    indices.push_back(std::move(*index));
  }
  return indices;
}

}  // namespace

std::optional<std::vector<at::Tensor>> CallIndexing(const program::Statement& statement,
                                                    std::span<const at::Tensor> values) {
  const bool set = statement.op == "Tensor.__setitem__";
  if (!set && statement.op != "Tensor.__getitem__") return std::nullopt;
  if (statement.args.size() != (set ? 3U : 2U) || !statement.args[0].Is<program::ValueRef>()) {
    return std::nullopt;
  }
  at::Tensor self = values[static_cast<size_t>(statement.args[0].As<program::ValueRef>().id)];
  const auto indices = Indices(statement.args[1], values);
  if (!indices) return std::nullopt;
  if (!set) return std::vector<at::Tensor>{self.index(*indices)};
  const Arg& value = statement.args[2];
  if (value.Is<program::ValueRef>()) {
    self.index_put_(*indices, values[static_cast<size_t>(value.As<program::ValueRef>().id)]);
  } else if (value.Is<double>()) {
    self.index_put_(*indices, at::Scalar(value.As<double>()));
  } else if (value.Is<int64_t>()) {
    self.index_put_(*indices, at::Scalar(value.As<int64_t>()));
  } else if (value.Is<bool>()) {
    self.index_put_(*indices, at::Scalar(value.As<bool>()));
  } else {
    return std::nullopt;
  }
  return std::vector<at::Tensor>{};
}

}  // namespace gradfuzz::evaluate
