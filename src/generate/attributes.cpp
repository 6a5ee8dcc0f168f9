// SPDX-License-Identifier: BSD-3-Clause
// Arguments that are no tensors.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gradfuzz/evaluate/materialise.h"
#include "proposer.h"

namespace gradfuzz::generate {
namespace {

using ops::Sampler;
using program::Arg;
using program::DType;

constexpr const char* kEquations[] = {"ij,jk->ik", "bij,bjk->bik", "ij,kj->ik",   "ij,ij->i",
                                      "i,j->ij",   "ij,j->i",      "ij->ji",      "ii->i",
                                      "ij->",      "abc->bca",     "bij,bjk->ik", "i,i->"};

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// A shape with as many elements as `sizes`.
std::vector<int64_t> DrawReshape(Rng& rng, const std::vector<int64_t>& sizes) {
  const int64_t numel =
      std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  std::vector<int64_t> shape = sizes;
  const double way = rng.Unit();
  if (way < 0.2 || numel == 0) {
    shape = {numel};
  } else if (way < 0.45 && shape.size() >= 2) {  // merge two neighbours
    const size_t d = static_cast<size_t>(rng.Below(shape.size() - 1));
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  } else if (way < 0.8 && !shape.empty()) {  // split one
    const size_t d = static_cast<size_t>(rng.Below(shape.size()));
    const int64_t factor = rng.Pick(Divisors(shape[d]));
    shape[d] /= factor;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d), factor);
  } else {  // the same sizes in another order
    rng.Shuffle(&shape);
  }
  if (!shape.empty() && numel > 0 && rng.Chance(0.3)) {
    shape[static_cast<size_t>(rng.Below(shape.size()))] = -1;
  }
  return shape;
}

}  // namespace

int64_t Proposer::Signed(int64_t dim, int64_t dims) { return rng_.Chance(0.4) ? dim - dims : dim; }

Proposer::Drawn Proposer::DrawDimension(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  const Sizes sizes = SizesOf(sampler.of);
  const int64_t dims = static_cast<int64_t>(sizes.size());
  const auto any = [&] { return static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(dims))); };
  switch (sampler.kind) {
    case Kind::kNewDim: {
      const int64_t dim = rng_.Between(0, dims);
      return Arg(Signed(dim, dims + 1));
    }
    case Kind::kDim:
      // A scalar takes 0 and -1 wherever a dimension is asked for.
      if (dims == 0) return Arg(rng_.Between(-1, 0));
      return Arg(Signed(any(), dims));
    case Kind::kOtherDim: {
      if (dims < 2) return std::nullopt;
      const int64_t taken = DimOf(sampler.dim, dims);
      const int64_t dim = (taken + rng_.Between(1, dims - 1)) % dims;
      return Arg(Signed(dim, dims));
    }
    case Kind::kConcatDim: {
      std::vector<int64_t> legal;
      for (int64_t d = 0; d < dims; ++d) {
        bool fits = true;
        for (const Arg& item : drawn_[static_cast<size_t>(sampler.of)]->As<program::ArgList>()) {
          const at::Tensor& t = context_.workspace.value(item.As<program::ValueRef>().id).first();
          for (int64_t e = 0; e < dims; ++e) {
            fits = fits && (e == d || t.size(e) == sizes[static_cast<size_t>(e)]);
          }
        }
        if (fits) legal.push_back(d);
      }
      if (legal.empty()) return std::nullopt;
      return Arg(Signed(rng_.Pick(legal), dims));
    }
    case Kind::kPermutation: {
      std::vector<int64_t> order(static_cast<size_t>(dims));
      std::iota(order.begin(), order.end(), int64_t{0});
      rng_.Shuffle(&order);
      if (rng_.Chance(0.3)) {
        for (int64_t& dim : order) dim -= dims;
      }
      return Arg::Ints(order);
    }
    default: {  // kDims, kDimOrDims
      if (dims == 0)
        return sampler.kind == Kind::kDimOrDims ? Drawn(Arg(rng_.Between(-1, 0))) : std::nullopt;
      if (sampler.kind == Kind::kDimOrDims && rng_.Chance(0.7)) return Arg(Signed(any(), dims));
      std::vector<int64_t> chosen;
      for (int64_t d = 0; d < dims; ++d) {
        if (rng_.Chance(0.5)) chosen.push_back(Signed(d, dims));
      }
      if (chosen.empty()) chosen.push_back(Signed(any(), dims));
      if (rng_.Chance(0.3)) rng_.Shuffle(&chosen);
      return Arg::Ints(chosen);
    }
  }
}

Proposer::Drawn Proposer::DrawShapeLike(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  const Sizes sizes = SizesOf(sampler.of);
  switch (sampler.kind) {
    case Kind::kShape:
      return Arg::Ints(DrawReshape(rng_, sizes));
    case Kind::kExpandShape: {
      Sizes shape = sizes;
      bool grown = false;
      for (int64_t& size : shape) {
        if (size == 1 && rng_.Chance(0.8)) {
          size = rng_.Between(2, 4);
          grown = true;
        } else if (rng_.Chance(0.2)) {
          size = -1;
        }
      }
      if (!grown || rng_.Chance(0.3)) shape.insert(shape.begin(), rng_.Between(2, 4));
      return Arg::Ints(shape);
    }
    case Kind::kTrailingShape: {
      const size_t count = std::min(sizes.size(), static_cast<size_t>(rng_.Chance(0.7) ? 1 : 2));
      return Arg::Ints(Sizes(sizes.end() - static_cast<std::ptrdiff_t>(count), sizes.end()));
    }
    case Kind::kRepeats: {
      Sizes repeats(sizes.size() + (rng_.Chance(0.35) || sizes.empty() ? 1 : 0), 1);
      for (int64_t& repeat : repeats) {
        if (rng_.Chance(0.45)) repeat = rng_.Between(1, 3);
      }
      return Arg::Ints(repeats);
    }
    case Kind::kPads1d: {
      const int64_t most = std::min<int64_t>(sizes.back() - 1, 3);
      if (most < 0) return std::nullopt;
      return Arg::Ints({rng_.Between(0, most), rng_.Between(0, most)});
    }
    default: {  // kPads: pairs, last dimension first
      Sizes pads;
      const size_t count = 1 + static_cast<size_t>(rng_.Below(std::min<size_t>(2, sizes.size())));
      for (size_t i = 0; i < count; ++i) {
        int64_t left = rng_.Between(sampler.low, sampler.high);
        int64_t right = rng_.Between(sampler.low, sampler.high);
        if (sizes[sizes.size() - 1 - i] + left + right < 1) left = right = 0;
        pads.push_back(left);
        pads.push_back(right);
      }
      if (rng_.Chance(0.08)) std::fill(pads.begin(), pads.end(), 0);  // a copy in disguise
      return Arg::Ints(pads);
    }
  }
}

Proposer::Drawn Proposer::DrawSlice(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  const Sizes sizes = SizesOf(sampler.of);
  const int64_t dims = static_cast<int64_t>(sizes.size());
  if (dims == 0) return std::nullopt;
  const int64_t size =
      sampler.dim < 0 ? sizes[0] : sizes[static_cast<size_t>(DimOf(sampler.dim, dims))];
  if (size == 0) return std::nullopt;
  switch (sampler.kind) {
    case Kind::kIndexAt: {
      last_start_ = rng_.Between(0, size - 1);
      return Arg(sampler.dim < 0 ? last_start_ : Signed(last_start_, size));
    }
    case Kind::kStart:
      last_start_ = rng_.Between(0, size - 1);
      return Arg(rng_.Chance(0.3) ? last_start_ - size : last_start_);
    case Kind::kStop: {
      const int64_t stop = rng_.Between(last_start_ + 1, size);
      if (rng_.Chance(0.1)) return Arg(size + 2);  // beyond the end: clamped
      return Arg(stop < size && rng_.Chance(0.25) ? stop - size : stop);
    }
    case Kind::kLength:
      return Arg(rng_.Between(1, size - last_start_));
    default:  // kWindow
      return Arg(rng_.Between(1, size));
  }
}

Proposer::Drawn Proposer::DrawWindowLike(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  switch (sampler.kind) {
    case Kind::kKernel: {
      const Sizes sizes = SizesOf(sampler.of);
      Sizes kernel;
      for (int i = 0; i < sampler.length; ++i) {
        const int64_t size =
            sizes[sizes.size() - static_cast<size_t>(sampler.length) + static_cast<size_t>(i)];
        if (size == 0) return std::nullopt;
        kernel.push_back(rng_.Between(1, std::min<int64_t>(3, size)));
      }
      return Arg::Ints(kernel);
    }
    case Kind::kHalfOf: {
      Sizes padding;
      for (const Arg& size : drawn_[static_cast<size_t>(sampler.of)]->As<program::ArgList>()) {
        padding.push_back(rng_.Between(0, size.As<int64_t>() / 2));
      }
      return Arg::Ints(padding);
    }
    case Kind::kDivisor: {
      const Sizes sizes = SizesOf(sampler.of);
      const int64_t size = sizes[static_cast<size_t>(sampler.low)];
      if (size == 0) return std::nullopt;
      return Arg(rng_.Pick(Divisors(size)));
    }
    case Kind::kShifts: {
      Sizes shifts;
      for (size_t i = drawn_[static_cast<size_t>(sampler.dim)]->As<program::ArgList>().size();
           i-- > 0;) {
        shifts.push_back(rng_.Between(-2, 3));
      }
      return Arg::Ints(shifts);
    }
    default: {  // kIntList
      if (rng_.Chance(0.3)) return Arg(rng_.Between(sampler.low, sampler.high));
      Sizes list;
      for (int i = 0; i < sampler.length; ++i) {
        list.push_back(rng_.Between(sampler.low, sampler.high));
      }
      return Arg::Ints(list);
    }
  }
}

Proposer::Drawn Proposer::DrawStrided(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  if (sampler.kind == Kind::kStridedStrides) return Arg::Ints(strides_);
  if (sampler.kind == Kind::kStridedOffset) return Arg(offset_);
  const int64_t numel = TensorOf(sampler.of).numel();
  if (numel == 0) return std::nullopt;
  // Rows of `length` elements `step` apart; rows lie apart by more than their own extent.
  const int64_t step = rng_.Between(1, 2);
  const int64_t length = rng_.Between(1, std::min<int64_t>(6, (numel - 1) / step + 1));
  const int64_t row = (length - 1) * step + 1;
  Sizes sizes = {length};
  strides_ = {step};
  int64_t extent = row;
  if (rng_.Chance(0.6)) {
    const int64_t apart = row + rng_.Between(0, 2);
    const int64_t rows = rng_.Between(1, std::min<int64_t>(4, (numel - row) / apart + 1));
    sizes.insert(sizes.begin(), rows);
    strides_.insert(strides_.begin(), apart);
    extent += (rows - 1) * apart;
    if (rng_.Chance(0.4)) {
      std::swap(sizes[0], sizes[1]);
      std::swap(strides_[0], strides_[1]);
    }
  }
  offset_ = rng_.Between(0, numel - extent);
  return Arg::Ints(sizes);
}

Proposer::Drawn Proposer::DrawAttribute(const Sampler& sampler) {
  using Kind = Sampler::Kind;
  switch (sampler.kind) {
    case Kind::kLiteral:
      return sampler.literal;
    case Kind::kInt:
      return Arg(rng_.Between(sampler.low, sampler.high));
    case Kind::kBool:
      return Arg(rng_.Chance(0.6));
    case Kind::kChoice:
      return Arg(std::string(rng_.Pick(sampler.choices)));
    case Kind::kEquation:
      return Arg(std::string(kEquations[rng_.Below(std::size(kEquations))]));
    case Kind::kFloat: {
      std::vector<double> floats = sampler.floats;
      if (context_.profile.exact) {
        std::erase_if(floats, [](double v) { return v != std::floor(v); });
        if (floats.empty()) floats = sampler.floats;
      }
      const double value = rng_.Pick(floats);
      // A float beside integers is for operators that take no other: eager is lenient (alpha=2.0).
      if (context_.profile.integers() && value == std::floor(value)) {
        return Arg(static_cast<int64_t>(value));
      }
      return Arg(value);
    }
    case Kind::kDType: {
      const DType own = evaluate::FromScalarType(TensorOf(0).scalar_type());
      static const std::vector<DType> kReal = {DType::kFloat64, DType::kFloat32,  DType::kFloat64,
                                               DType::kFloat32, DType::kBFloat16, DType::kFloat16};
      static const std::vector<DType> kComplex = {DType::kComplex128, DType::kComplex64};
      return Arg(rng_.Pick(program::Info(own).is_complex ? kComplex : kReal));
    }
    case Kind::kBasicIndex:
    case Kind::kAdvancedIndex:
      return DrawSubscript(sampler);
    case Kind::kIndexAt:
    case Kind::kStart:
    case Kind::kStop:
    case Kind::kLength:
    case Kind::kWindow:
      return DrawSlice(sampler);
    case Kind::kShape:
    case Kind::kExpandShape:
    case Kind::kTrailingShape:
    case Kind::kRepeats:
    case Kind::kPads:
    case Kind::kPads1d:
      return DrawShapeLike(sampler);
    case Kind::kKernel:
    case Kind::kHalfOf:
    case Kind::kDivisor:
    case Kind::kShifts:
    case Kind::kIntList:
      return DrawWindowLike(sampler);
    case Kind::kStridedSizes:
    case Kind::kStridedStrides:
    case Kind::kStridedOffset:
      return DrawStrided(sampler);
    default:
      return DrawDimension(sampler);
  }
}

}  // namespace gradfuzz::generate
