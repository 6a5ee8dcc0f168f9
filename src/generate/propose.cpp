// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/propose.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "proposer.h"

namespace gradfuzz::generate {

using ops::Sampler;
using program::Arg;
using program::Statement;

bool Proposer::Given(int param) const {
  return param >= 0 && param < static_cast<int>(drawn_.size()) &&
         drawn_[static_cast<size_t>(param)].has_value();
}

const at::Tensor& Proposer::TensorOf(int param) const {
  const Arg* arg = &*drawn_[static_cast<size_t>(param)];
  if (arg->Is<program::ArgList>()) arg = &arg->As<program::ArgList>().front();
  return context_.workspace.value(arg->As<program::ValueRef>().id).first();
}

std::vector<int64_t> Proposer::SizesOf(int param) const { return TensorOf(param).sizes().vec(); }

int64_t Proposer::IntOf(int param, int64_t otherwise) const {
  if (!Given(param) || !drawn_[static_cast<size_t>(param)]->Is<int64_t>()) return otherwise;
  return drawn_[static_cast<size_t>(param)]->As<int64_t>();
}

int64_t Proposer::DimOf(int param, int64_t dims) const {
  const int64_t dim = IntOf(param, 0);
  return dim < 0 ? dim + dims : dim;
}

Statement Proposer::Spell(std::string_view op) const {
  Statement statement;
  statement.op = std::string(op);
  std::vector<std::pair<int, size_t>> positional;  // position, parameter
  for (size_t i = 0; i < drawn_.size(); ++i) {
    if (!drawn_[i].has_value()) continue;
    const ops::Param& param = record_.params[i];
    if (param.keyword.empty()) {
      positional.emplace_back(param.position >= 0 ? param.position : static_cast<int>(i), i);
    } else {
      statement.kwargs.emplace_back(std::string(param.keyword), *drawn_[i]);
    }
  }
  std::sort(positional.begin(), positional.end());
  for (const auto& [position, i] : positional) statement.args.push_back(*drawn_[i]);
  return statement;
}

Proposer::Drawn Proposer::DrawParam(const Sampler& sampler) {
  const bool tensor = sampler.kind <= Sampler::Kind::kListLike;
  Drawn drawn = tensor ? DrawOperand(sampler) : DrawAttribute(sampler);
  if (tensor) first_tensor_ = false;
  return drawn;
}

// A write whose operands overlap what it writes is undefined, unless element i only reads element
// i; eager notices most of these, but not all.
bool Proposer::WritesSafely() const {
  std::vector<at::Tensor> tensors;
  bool indexed = false;
  const Statement statement = Spell(record_.name);
  for (const program::ValueId id : program::Uses(statement)) {
    tensors.push_back(context_.workspace.value(id).first());
    indexed = indexed || !(tensors.back().is_floating_point() || tensors.back().is_complex());
  }
  const size_t targets = statement.args[0].Is<program::ArgList>()
                             ? statement.args[0].As<program::ArgList>().size()
                             : 1;
  for (size_t t = 0; t < targets; ++t) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (i == t || !tensors[i].is_alias_of(tensors[t])) continue;
      const bool same = tensors[i].data_ptr() == tensors[t].data_ptr() &&
                        tensors[i].sizes() == tensors[t].sizes() &&
                        tensors[i].strides() == tensors[t].strides();
      if (!same || indexed || i < targets) return false;
    }
  }
  return true;
}

std::optional<Statement> Proposer::Run() {
  for (size_t i = 0; i < record_.params.size(); ++i) {
    const ops::Param& param = record_.params[i];
    drawn_.emplace_back();
    if (const auto fixed = wish_.fixed.find(static_cast<int>(i)); fixed != wish_.fixed.end()) {
      drawn_.back() = fixed->second;
      if (param.sampler.kind <= Sampler::Kind::kListLike) first_tensor_ = false;
      continue;
    }
    if (param.needs >= 0 && !Given(param.needs)) continue;
    if (param.presence < 1 && (wish_.plain || !rng_.Chance(param.presence))) continue;
    Drawn drawn = DrawParam(param.sampler);
    if (!drawn) return std::nullopt;
    drawn_.back() = std::move(drawn);
  }
  if (record_.Has(ops::kInPlace) && !WritesSafely()) return std::nullopt;
  return Spell(record_.name);
}

std::optional<Statement> Propose(Rng& rng, Context& context, const ops::OpRecord& record,
                                 const Wish& wish) {
  return Proposer(rng, context, record, wish).Run();
}

}  // namespace gradfuzz::generate
