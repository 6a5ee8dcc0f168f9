// SPDX-License-Identifier: BSD-3-Clause
// The state of one proposal; its samplers are spread over operands.cpp, indices.cpp and
// attributes.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/generate/propose.h"

namespace gradfuzz::generate {

class Proposer {
 public:
  Proposer(Rng& rng, Context& context, const ops::OpRecord& record, const Wish& wish)
      : rng_(rng), context_(context), record_(record), wish_(wish) {}

  std::optional<program::Statement> Run();
  std::optional<program::Statement> RunHarvested(const HarvestedOperator& op,
                                                 const HarvestedCall& call);

 private:
  using Sizes = std::vector<int64_t>;
  using Drawn = std::optional<program::Arg>;  // nothing: this proposal cannot be completed

  // propose.cpp
  Drawn DrawParam(const ops::Sampler& sampler);
  program::Statement Spell(std::string_view op) const;
  bool WritesSafely() const;

  // What earlier parameters hold.
  bool Given(int param) const;
  const at::Tensor& TensorOf(int param) const;  // the first one, for a list
  Sizes SizesOf(int param) const;
  int64_t IntOf(int param, int64_t otherwise) const;
  int64_t DimOf(int param, int64_t dims) const;  // not negative; 0 when not given

  // operands.cpp
  Drawn DrawOperand(const ops::Sampler& sampler);
  Drawn DrawTensor(const ops::Sampler& sampler);
  Drawn DrawFitting(const ops::Sampler& sampler, const Sizes& sizes,
                    const std::function<bool(const Sizes&)>& fits);
  Drawn DrawList(const ops::Sampler& sampler);
  Drawn DrawEinsum(const ops::Sampler& sampler);
  Drawn DrawTargets();
  std::optional<int> PickFirst(const ops::Sampler& sampler,
                               const std::function<bool(const Value&)>& fits);
  bool Suits(int id, const ops::Sampler& sampler) const;
  int NewLeaf(const ops::Sampler& sampler, Sizes sizes, bool first);
  std::optional<Sizes> ResolveExtents(const ops::Sampler& sampler);  // -1: free
  Sizes DrawBroadcastable(const Sizes& sizes, bool expandable);

  // harvested.cpp
  bool HoldsHarvested(const HarvestedLeaf& leaf, const Value& value) const;
  int NewHarvestedLeaf(const HarvestedOperator& op, const HarvestedLeaf& leaf, Sizes sizes,
                       bool first);

  // indices.cpp
  Drawn DrawIndexTensor(const ops::Sampler& sampler);
  Drawn DrawIndexList(const ops::Sampler& sampler);
  Drawn DrawMask(const ops::Sampler& sampler);
  Drawn DrawLabels(const Sizes& sizes);
  Drawn DrawSubscript(const ops::Sampler& sampler);
  Drawn IndexLeaf(const Sizes& sizes, int64_t below, bool unique, int64_t dim);

  // attributes.cpp
  Drawn DrawAttribute(const ops::Sampler& sampler);
  Drawn DrawDimension(const ops::Sampler& sampler);
  Drawn DrawShapeLike(const ops::Sampler& sampler);
  Drawn DrawSlice(const ops::Sampler& sampler);
  Drawn DrawWindowLike(const ops::Sampler& sampler);
  Drawn DrawStrided(const ops::Sampler& sampler);
  int64_t Signed(int64_t dim, int64_t dims);  // negative half the time

  Rng& rng_;
  Context& context_;
  const ops::OpRecord& record_;
  const Wish& wish_;
  std::vector<Drawn> drawn_;  // by parameter index, so far
  bool first_tensor_ = true;  // no tensor drawn yet
  int64_t last_start_ = 0;    // of the slice being drawn
  Sizes strides_;             // of the strided view being drawn
  int64_t offset_ = 0;
};

}  // namespace gradfuzz::generate
