// SPDX-License-Identifier: BSD-3-Clause
// Tensor operands: a value in hand that fits, or a new leaf that does.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "proposer.h"

namespace gradfuzz::generate {
namespace {

using ops::Sampler;
using program::Arg;

constexpr int64_t kMaxOperand = 4096;  // elements of a new leaf

bool Expands(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t a = from[from.size() - 1 - i];
    if (a != 1 && a != to[to.size() - 1 - i]) return false;
  }
  return true;
}

bool Broadcasts(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - 1 - i];
    const int64_t y = b[b.size() - 1 - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

void Cap(std::vector<int64_t>* sizes) {
  const auto numel = [&] {
    return std::accumulate(sizes->begin(), sizes->end(), int64_t{1}, std::multiplies<>());
  };
  while (numel() > kMaxOperand) {
    int64_t& largest = *std::max_element(sizes->begin(), sizes->end());
    largest /= 2;
  }
}

}  // namespace

bool Proposer::Suits(int id, const Sampler& sampler) const {
  const Value& value = context_.workspace.value(id);
  const at::Tensor& t = value.first();
  const bool number = context_.profile.integers() ? t.scalar_type() != at::kBool
                                                  : t.is_floating_point() || t.is_complex();
  if (!number) return false;
  if (sampler.contiguous && (!t.is_contiguous() || t.storage_offset() != 0)) return false;
  if (sampler.no_grad && t.requires_grad()) return false;
  if (sampler.detached) {
    if (t.is_leaf() && t.requires_grad()) return false;
    if (MayOverlap(t)) return false;
  }
  if (context_.profile.exact && !value.exact) return false;
  if (t.numel() == 0 && !context_.profile.empty) return false;
  // Outside its domain an operator yields NaN, which such a program is about.
  return context_.profile.non_finite || InDomain(value, sampler.domain);
}

int Proposer::NewLeaf(const Sampler& sampler, Sizes sizes, bool first) {
  LeafWish leaf;
  leaf.sizes = std::move(sizes);
  leaf.domain = sampler.domain;
  leaf.contiguous = sampler.contiguous;
  leaf.writable = sampler.detached;
  leaf.no_grad = sampler.no_grad || sampler.detached || context_.profile.forward_only;
  leaf.grad = wish_.grad;
  if (first) leaf.layout = wish_.layout;
  return AddFloatLeaf(rng_, context_, leaf);
}

std::optional<int> Proposer::PickFirst(const Sampler& sampler,
                                       const std::function<bool(const Value&)>& fits) {
  const Workspace& workspace = context_.workspace;
  const int steps = static_cast<int>(workspace.steps().size());
  if (wish_.new_first || (steps == 0 && rng_.Chance(0.5)) || rng_.Chance(0.06)) return std::nullopt;
  std::vector<int> ids;
  std::vector<double> weights;
  for (size_t i = 0; i < workspace.values().size(); ++i) {
    const Value& value = workspace.values()[i];
    if (!Suits(static_cast<int>(i), sampler) || !fits(value)) continue;
    double weight = 0.6;                                         // a leaf
    if (value.statement >= 0) weight = value.uses == 0 ? 2 : 1;  // a result
    if (wish_.chain && value.statement >= 0 && value.statement == steps - 1) weight = 8;
    ids.push_back(static_cast<int>(i));
    weights.push_back(weight);
  }
  if (ids.empty()) return std::nullopt;
  return ids[rng_.PickWeighted(weights)];
}

Proposer::Drawn Proposer::DrawTensor(const Sampler& sampler) {
  const auto extents = ResolveExtents(sampler);
  if (!extents) return std::nullopt;
  const auto fits = [&](const Sizes& sizes) {
    if (sampler.extents.empty()) {
      const int64_t dims = static_cast<int64_t>(sizes.size());
      return sampler.low <= dims && dims <= sampler.high;
    }
    if (sizes.size() != extents->size()) return false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if ((*extents)[i] >= 0 && (*extents)[i] != sizes[i]) return false;
    }
    return true;
  };
  const bool first = first_tensor_;
  if (first) {
    const auto holds = [&](const Value& value) { return fits(value.first().sizes().vec()); };
    if (const auto id = PickFirst(sampler, holds)) return Arg::Value(*id);
    // Nothing in hand fits: mostly try another operator rather than start a second thread.
    if (!wish_.new_first && !context_.workspace.steps().empty() && rng_.Chance(0.8)) {
      return std::nullopt;
    }
  }
  Sizes sizes;
  if (!sampler.extents.empty()) {
    for (const int64_t size : *extents) {
      sizes.push_back(size >= 0 ? size : std::min<int64_t>(DrawSize(rng_, context_.profile), 9));
    }
  } else {
    sizes = DrawSizes(rng_, context_.profile, sampler.low, sampler.high);
  }
  if (first && wish_.has_sizes && fits(wish_.sizes)) sizes = wish_.sizes;
  if (first) return Arg::Value(NewLeaf(sampler, std::move(sizes), true));
  return DrawFitting(sampler, sizes, fits);
}

// A later operand: one in hand with sizes that fit, or a new leaf of `sizes`.
Proposer::Drawn Proposer::DrawFitting(const Sampler& sampler, const Sizes& sizes,
                                      const std::function<bool(const Sizes&)>& fits) {
  if (!wish_.new_others && rng_.Chance(0.45)) {
    std::vector<int> ids;
    for (size_t i = 0; i < context_.workspace.values().size(); ++i) {
      const int id = static_cast<int>(i);
      if (Suits(id, sampler) && fits(context_.workspace.value(id).first().sizes().vec())) {
        ids.push_back(id);
      }
    }
    if (!ids.empty()) return Arg::Value(rng_.Pick(ids));
  }
  Sizes capped = sizes;
  Cap(&capped);
  if (capped != sizes && !fits(capped)) return std::nullopt;
  return Arg::Value(NewLeaf(sampler, std::move(capped), false));
}

std::optional<std::vector<int64_t>> Proposer::ResolveExtents(const Sampler& sampler) {
  Sizes sizes;
  for (const ops::Extent& extent : sampler.extents) {
    int64_t size = extent.constant > 0 ? extent.constant : -1;
    if (extent.of >= 0) {
      const Sizes of = SizesOf(extent.of);
      const int64_t dims = static_cast<int64_t>(of.size());
      const int64_t dim = extent.dim < 0 ? extent.dim + dims : extent.dim;
      if (dim < 0 || dim >= dims) continue;  // that operand has fewer dimensions
      size = of[static_cast<size_t>(dim)];
      if (extent.at_most)
        size = rng_.Between(std::min<int64_t>(1, size), std::min<int64_t>(3, size));
    }
    if (extent.over >= 0) {
      const int64_t divisor = std::max<int64_t>(1, IntOf(extent.over, 1));
      if (size % divisor != 0) return std::nullopt;
      size /= divisor;
    }
    if (extent.times >= 0) size = IntOf(extent.times, 1) * rng_.Between(1, 3);
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<int64_t> Proposer::DrawBroadcastable(const Sizes& sizes, bool expandable) {
  Sizes drawn = sizes;
  const double way = rng_.Unit();
  if (way < 0.6) return drawn;
  if (way < 0.75) {
    for (int64_t& size : drawn) {
      if (rng_.Chance(0.5)) size = 1;
    }
  } else if (way < 0.9) {
    drawn.erase(drawn.begin(),
                drawn.begin() + static_cast<std::ptrdiff_t>(rng_.Below(drawn.size() + 1)));
  } else if (!expandable) {
    for (int64_t& size : drawn) {
      if (size == 1 && rng_.Chance(0.7)) size = rng_.Between(1, 4);
    }
    if (drawn.size() < 4 && rng_.Chance(0.6)) drawn.insert(drawn.begin(), rng_.Between(1, 3));
  }
  return drawn;
}

Proposer::Drawn Proposer::DrawOperand(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  const auto equals = [](const Sizes& wanted) {
    return [wanted](const Sizes& sizes) { return sizes == wanted; };
  };
  switch (sampler.kind) {
    case Kind::kTensor:
      return DrawTensor(sampler);
    case Kind::kSameShape: {
      const Sizes sizes = SizesOf(sampler.of);
      return DrawFitting(sampler, sizes, equals(sizes));
    }
    case Kind::kBroadcastable: {
      const Sizes of = SizesOf(sampler.of);
      return DrawFitting(sampler, DrawBroadcastable(of, false),
                         [&](const Sizes& sizes) { return Broadcasts(sizes, of); });
    }
    case Kind::kExpandable: {
      const Sizes of = SizesOf(sampler.of);
      return DrawFitting(sampler, DrawBroadcastable(of, true),
                         [&](const Sizes& sizes) { return Expands(sizes, of); });
    }
    case Kind::kLikeResult: {
      const auto results = context_.workspace.Try(Spell(sampler.text));
      if (results.empty()) return std::nullopt;
      const Sizes of = results[0].sizes().vec();
      if (results[0].numel() == 0 && !context_.profile.empty) return std::nullopt;
      if (sampler.exact_shape) return DrawFitting(sampler, of, equals(of));
      return DrawFitting(sampler, rng_.Chance(0.75) ? of : DrawBroadcastable(of, true),
                         [&](const Sizes& sizes) { return Expands(sizes, of); });
    }
    case Kind::kListShaped: {
      Sizes sizes;
      for (const Arg& item : drawn_[static_cast<size_t>(sampler.of)]->As<program::ArgList>()) {
        sizes.push_back(item.As<int64_t>());
      }
      return DrawFitting(sampler, sizes, equals(sizes));
    }
    case Kind::kConcatList:
    case Kind::kStackList:
    case Kind::kListLike:
      return DrawList(sampler);
    case Kind::kEinsumList:
      return DrawEinsum(sampler);
    case Kind::kTargetList:
      return DrawTargets();
    case Kind::kMask:
      return DrawMask(sampler);
    case Kind::kSign:
      return Arg::Value(AddSignLeaf(rng_, context_, SizesOf(sampler.of)));
    default:
      return DrawIndexTensor(sampler);
  }
}

Proposer::Drawn Proposer::DrawList(const Sampler& sampler) {
  program::ArgList list;
  Sampler item = sampler;
  item.kind = Sampler::Kind::kTensor;
  item.high = 5;
  if (sampler.kind == Sampler::Kind::kListLike) {
    for (const Arg& target : drawn_[static_cast<size_t>(sampler.of)]->As<program::ArgList>()) {
      const Sizes sizes =
          context_.workspace.value(target.As<program::ValueRef>().id).first().sizes().vec();
      const Drawn other =
          DrawFitting(item, sizes, [&](const Sizes& candidate) { return candidate == sizes; });
      if (!other) return std::nullopt;
      list.push_back(*other);
    }
    return Arg(std::move(list));
  }
  const bool concat = sampler.kind == Sampler::Kind::kConcatList;
  item.low = concat ? 1 : 0;
  const Drawn first = DrawTensor(item);
  if (!first) return std::nullopt;
  first_tensor_ = false;
  list.push_back(*first);
  const Sizes sizes =
      context_.workspace.value(first->As<program::ValueRef>().id).first().sizes().vec();
  const size_t along = concat ? static_cast<size_t>(rng_.Below(sizes.size())) : 0;
  const int64_t count = rng_.Between(1, 2);
  for (int64_t i = 0; i < count; ++i) {
    if (rng_.Chance(0.2)) {  // the same value twice
      list.push_back(list[static_cast<size_t>(rng_.Below(list.size()))]);
      continue;
    }
    Sizes other = sizes;
    if (concat && rng_.Chance(0.6)) other[along] = rng_.Between(1, 4);
    const auto fits = [&](const Sizes& candidate) {
      if (candidate.size() != sizes.size()) return false;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (candidate[d] != sizes[d] && !(concat && d == along)) return false;
      }
      return true;
    };
    const Drawn next = DrawFitting(item, other, fits);
    if (!next) return std::nullopt;
    list.push_back(*next);
  }
  if (rng_.Chance(0.3)) rng_.Shuffle(&list);
  return Arg(std::move(list));
}

Proposer::Drawn Proposer::DrawTargets() {
  Sampler item;
  item.kind = Sampler::Kind::kTensor;
  item.high = 5;
  item.detached = true;
  program::ArgList list;
  const int64_t count = rng_.Between(1, 2);
  for (int64_t i = 0; i < count; ++i) {
    const Drawn target = DrawTensor(item);
    if (!target) return std::nullopt;
    list.push_back(*target);
  }
  return Arg(std::move(list));
}

Proposer::Drawn Proposer::DrawEinsum(const Sampler& sampler) {
  const std::string& equation = drawn_[static_cast<size_t>(sampler.of)]->As<std::string>();
  const std::string inputs = equation.substr(0, equation.find("->"));
  std::map<char, int64_t> letters;
  program::ArgList list;
  size_t begin = 0;
  while (begin <= inputs.size()) {
    size_t end = inputs.find(',', begin);
    if (end == std::string::npos) end = inputs.size();
    const std::string term = inputs.substr(begin, end - begin);
    begin = end + 1;
    Sampler item = sampler;
    item.kind = Sampler::Kind::kTensor;
    item.low = item.high = static_cast<int64_t>(term.size());
    const auto fits = [&](const Sizes& sizes) {
      if (sizes.size() != term.size()) return false;
      std::map<char, int64_t> known = letters;
      for (size_t i = 0; i < term.size(); ++i) {
        const auto [entry, inserted] = known.emplace(term[i], sizes[i]);
        if (!inserted && entry->second != sizes[i]) return false;
      }
      return true;
    };
    Sizes sizes;
    std::map<char, int64_t> known = letters;
    for (const char letter : term) {
      const int64_t size = std::min<int64_t>(DrawSize(rng_, context_.profile), 9);
      sizes.push_back(known.emplace(letter, size).first->second);
    }
    Drawn operand;
    if (list.empty()) {
      const auto id =
          PickFirst(item, [&](const Value& value) { return fits(value.first().sizes().vec()); });
      operand = id ? Arg::Value(*id) : Arg::Value(NewLeaf(item, sizes, true));
    } else {
      operand = DrawFitting(item, sizes, fits);
    }
    if (!operand) return std::nullopt;
    const Sizes chosen =
        context_.workspace.value(operand->As<program::ValueRef>().id).first().sizes().vec();
    for (size_t i = 0; i < term.size(); ++i) letters.emplace(term[i], chosen[i]);
    list.push_back(*operand);
  }
  return Arg(std::move(list));
}

}  // namespace gradfuzz::generate
