// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/workspace.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "gradfuzz/evaluate/dispatch.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/evaluate/unset_memory.h"
#include "gradfuzz/generate/exactness.h"
#include "gradfuzz/support/check.h"

namespace gradfuzz::generate {
namespace {

using program::Arg;
using program::Statement;

bool IsInexactType(const at::Tensor& t) { return t.is_floating_point() || t.is_complex(); }

bool IsKnownType(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
    case at::kComplexFloat:
    case at::kComplexDouble:
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kLong:
    case at::kBool:
      return true;
    default:
      return false;
  }
}

const void* Buffer(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

// Adds what the scalars inside `arg` contribute to the bounds of the exact lane.
void ScanScalars(const Arg& arg, Step* step) {
  if (arg.Is<double>()) {
    const double v = arg.As<double>();
    step->integral = step->integral && std::isfinite(v) && v == std::floor(v);
    step->factor *= std::max(1.0, std::fabs(v));
  } else if (arg.Is<program::ArgList>()) {
    for (const Arg& item : arg.As<program::ArgList>()) ScanScalars(item, step);
  }
}

Step MakeStep(const Statement& statement, const ops::OpRecord& record) {
  Step step;
  step.statement = statement;
  step.record = &record;
  step.operands = program::Uses(statement);
  for (const Arg& arg : statement.args) ScanScalars(arg, &step);
  for (const auto& [name, arg] : statement.kwargs) ScanScalars(arg, &step);
  return step;
}

bool IsWithin(const at::Tensor& tensor, const Limits& limits) {
  if (!IsInexactType(tensor) || tensor.numel() == 0 || limits.non_finite) return true;
  const double largest = tensor.detach().abs().max().to(at::kDouble).item<double>();
  return std::isfinite(largest) && largest <= limits.magnitude;  // max propagates NaN
}

// NaN equals NaN.
bool SameElements(const at::Tensor& a, const at::Tensor& b) {
  if (a.equal(b)) return true;
  return a.is_floating_point() && a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         a.nan_to_num(0.125).equal(b.nan_to_num(0.125)) && a.isnan().equal(b.isnan());
}

// The same view of a copy of the storage.
at::Tensor Moved(const at::Tensor& tensor) {
  const at::Tensor t = tensor.detach();
  if (t.is_conj() || t.is_neg()) return t;
  const auto bytes = static_cast<int64_t>(t.storage().nbytes());
  const int64_t count = bytes / static_cast<int64_t>(t.element_size());
  const at::Tensor buffer = t.as_strided({count}, {1}, 0).clone();
  return buffer.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

// True when `a` and `b` differ by more than a small perturbation of the operands explains.
bool Jumped(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble);
  const at::Tensor y = b.detach().to(at::kDouble);
  if (x.sizes() != y.sizes()) return true;
  return ((x - y).abs() > (x.abs() + 1).mul(0.02)).any().item<bool>();
}

}  // namespace

bool MayOverlap(const at::Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) > 1) dims.emplace_back(tensor.stride(d), tensor.size(d));
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

std::vector<at::Tensor> Workspace::Tensors(int draw) const {
  std::vector<at::Tensor> tensors;
  tensors.reserve(values_.size());
  for (const Value& value : values_) tensors.push_back(value.tensors[static_cast<size_t>(draw)]);
  return tensors;
}

int Workspace::AddLeaf(program::Storage storage, program::Leaf leaf, std::vector<std::string> tags,
                       IndexFacts index) {
  leaf.storage = static_cast<int>(storages_.size());
  for (int d = 0; d < kDraws; ++d) {
    buffers_[static_cast<size_t>(d)].push_back(evaluate::MakeStorage(storage, d, at::kCPU));
  }
  Value value;
  value.index = index;
  value.tags = std::move(tags);
  value.bound = IntegerBound(storage);
  value.exact = std::isfinite(value.bound);
  storages_.push_back(std::move(storage));
  value.settled = true;
  value.leaf = static_cast<int>(leaves_.size());
  for (size_t d = 0; d < kDraws; ++d) {
    value.tensors[d] = buffers_[d]
                           .back()
                           .as_strided(leaf.sizes, leaf.strides, leaf.offset)
                           .detach()
                           .requires_grad_(leaf.requires_grad);
  }
  leaves_.push_back(std::move(leaf));
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int Workspace::AddAlias(int other, program::Leaf leaf, std::vector<std::string> tags) {
  GF_CHECK(!mutates_, "an alias of a buffer that may have been written");
  Value value = values_[static_cast<size_t>(other)];
  const size_t storage = static_cast<size_t>(leaves_[static_cast<size_t>(value.leaf)].storage);
  leaf.storage = static_cast<int>(storage);
  value.leaf = static_cast<int>(leaves_.size());
  value.uses = 0;
  value.tags = std::move(tags);
  value.index = {};
  for (size_t d = 0; d < kDraws; ++d) {
    value.tensors[d] = buffers_[d][storage]
                           .as_strided(leaf.sizes, leaf.strides, leaf.offset)
                           .detach()
                           .requires_grad_(leaf.requires_grad);
  }
  leaves_.push_back(std::move(leaf));
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

void Workspace::Rollback(const Mark& mark) {
  values_.resize(mark.values);
  leaves_.resize(mark.leaves);
  storages_.resize(mark.storages);
  for (auto& buffers : buffers_) buffers.resize(mark.storages);
}

std::vector<at::Tensor> Workspace::Try(const Statement& statement) const {
  const at::NoGradGuard no_grad;
  auto results = evaluate::Call(statement, Tensors(0));
  if (!results) return {};
  return std::move(*results);
}

bool Workspace::Suits(const std::array<std::vector<at::Tensor>, kDraws>& results,
                      const ops::OpRecord& record) const {
  const size_t n = results[0].size();
  if (record.results == ops::kManyResults ? n < 2 || n > 4
                                          : n != static_cast<size_t>(record.results)) {
    return false;
  }
  for (size_t d = 0; d < kDraws; ++d) {
    if (results[d].size() != n) return false;
    for (size_t i = 0; i < n; ++i) {
      const at::Tensor& t = results[d][i];
      if (!t.defined() || t.layout() != at::kStrided || !IsKnownType(t.scalar_type())) return false;
      if (t.sizes() != results[0][i].sizes() || t.scalar_type() != results[0][i].scalar_type()) {
        return false;
      }
      if (limits_.integers && IsInexactType(t)) return false;
      if (t.numel() > limits_.numel || (t.numel() == 0 && !limits_.empty)) return false;
      if (!IsWithin(t, limits_)) return false;
    }
  }
  return true;
}

bool Workspace::NearJump(const Statement& statement, const Step& step) const {
  bool settled = true;
  for (const int id : step.operands) settled = settled && value(id).settled;
  if (settled) return false;
  const at::NoGradGuard no_grad;
  for (int d = 0; d < kDraws; ++d) {
    const auto reference = evaluate::Call(statement, Tensors(d));
    if (!reference) return true;
    for (const double sign : {1.0, -1.0}) {
      std::vector<at::Tensor> tensors = Tensors(d);
      double direction = sign;
      for (const int id : step.operands) {
        at::Tensor& t = tensors[static_cast<size_t>(id)];
        if (value(id).settled || !IsInexactType(t)) continue;
        // Far beyond the rounding of a few operators, far below the spacing of drawn values. The
        // directions alternate, so that two operands drift apart.
        const double relative =
            8 * std::sqrt(program::Epsilon(evaluate::FromScalarType(t.scalar_type())));
        t = t.detach() + (t.detach().abs() + 1e-2).mul(direction * std::min(relative, 0.05));
        direction = -direction;
      }
      const auto moved = evaluate::Call(statement, tensors);
      if (!moved || moved->size() != reference->size()) return true;
      for (size_t i = 0; i < moved->size(); ++i) {
        if (Jumped((*reference)[i], (*moved)[i])) return true;
      }
    }
  }
  return false;
}

// Whether the results of the first draw are others when unset memory holds something else than
// while the workspace grew: memory of results, of scratch buffers, and that behind the operands.
// What writes in place does not run twice.
bool Workspace::ReadsUnsetMemory(const Statement& statement,
                                 const std::vector<at::Tensor>& results) const {
  const evaluate::UnsetMemory other(evaluate::UnsetMemory::kFinite);
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors = Tensors(0);
  for (const int id : program::Uses(statement)) {
    at::Tensor& tensor = tensors[static_cast<size_t>(id)];
    tensor = Moved(tensor);
  }
  const auto again = evaluate::Call(statement, tensors);
  if (!again) return true;
  return !std::ranges::equal(results, *again, [](const at::Tensor& a, const at::Tensor& b) {
    return SameElements(a.detach(), b);
  });
}

// Whether a new tensor has two elements at one address: an operand's overlapping strides were kept
// for the result (pytorch issue 180164), and what was written into it is not what it holds.
bool Workspace::OverlapOfItsOwn(const Step& step, const std::vector<at::Tensor>& results) const {
  return std::ranges::any_of(results, [&](at::Tensor result) {
    const bool is_view = std::ranges::any_of(
        step.operands, [&](int id) { return Buffer(value(id).first()) == Buffer(result); });
    if (is_view || result.numel() == 0) return false;
    // An expansion is none of that: its elements are one on purpose.
    for (int64_t d = result.dim(); d-- > 0;) {
      if (result.stride(d) == 0) result = result.select(d, 0);
    }
    return MayOverlap(result);
  });
}

void Workspace::Rebuild() {
  for (size_t d = 0; d < kDraws; ++d) {
    for (size_t s = 0; s < storages_.size(); ++s) {
      buffers_[d][s] = evaluate::MakeStorage(storages_[s], static_cast<int>(d), at::kCPU);
    }
    for (Value& value : values_) {
      if (value.leaf < 0) continue;
      const program::Leaf& leaf = leaves_[static_cast<size_t>(value.leaf)];
      value.tensors[d] = buffers_[d][static_cast<size_t>(leaf.storage)]
                             .as_strided(leaf.sizes, leaf.strides, leaf.offset)
                             .detach()
                             .requires_grad_(leaf.requires_grad);
    }
    for (const Step& step : steps_) {
      auto results = evaluate::Call(step.statement, Tensors(static_cast<int>(d)));
      GF_CHECK(results.ok(), "a statement that ran once does not run again");
      for (size_t i = 0; i < step.results.size(); ++i) {
        values_[static_cast<size_t>(step.results[i])].tensors[d] = (*results)[i];
      }
    }
  }
}

std::vector<int> Workspace::Aliases(int id) const {
  std::vector<int> ids;
  const void* buffer = Buffer(value(id).first());
  for (size_t i = 0; i < values_.size(); ++i) {
    if (static_cast<int>(i) == id || Buffer(values_[i].first()) == buffer) {
      ids.push_back(static_cast<int>(i));
    }
  }
  return ids;
}

Verdict Workspace::Add(const Statement& statement, const ops::OpRecord& record) {
  Step step = MakeStep(statement, record);
  const bool in_place = record.Has(ops::kInPlace);
  if (record.Has(ops::kJumps) && NearJump(statement, step)) return Verdict::kUnsuitable;
  std::array<std::vector<at::Tensor>, kDraws> results;
  for (int d = 0; d < kDraws; ++d) {
    auto outcome = evaluate::Call(statement, Tensors(d));
    if (!outcome) {
      if (in_place) Rebuild();
      return Verdict::kRefused;
    }
    results[static_cast<size_t>(d)] = std::move(*outcome);
  }
  bool suits = Suits(results, record) && (in_place || (!ReadsUnsetMemory(statement, results[0]) &&
                                                       !OverlapOfItsOwn(step, results[0])));
  if (suits && in_place) {
    for (int d = 0; d < kDraws; ++d) {
      suits = suits && IsWithin(value(step.operands[0]).tensors[static_cast<size_t>(d)], limits_);
    }
  }
  if (!suits) {
    if (in_place) Rebuild();
    return Verdict::kUnsuitable;
  }
  int64_t largest = 1;
  for (const int id : step.operands) largest = std::max(largest, value(id).first().numel());
  bool settled = true;
  for (const int id : step.operands) settled = settled && value(id).settled;
  const double bound = limits_.integers ? 0 : ResultBound(step, values_, largest);
  const bool exact = bound <= ExactRange(values_);
  for (size_t i = 0; i < results[0].size(); ++i) {
    Value made;
    for (size_t d = 0; d < kDraws; ++d) made.tensors[d] = results[d][i];
    made.statement = static_cast<int>(steps_.size());
    made.exact = exact;
    made.bound = bound;
    made.settled = settled && (record.Has(ops::kExact) || exact);
    step.results.push_back(static_cast<int>(values_.size()));
    values_.push_back(std::move(made));
  }
  for (const int id : step.operands) ++values_[static_cast<size_t>(id)].uses;
  step.statement.results = static_cast<int>(step.results.size());
  if (in_place) {
    mutates_ = true;
    const bool kept = settled && (record.Has(ops::kExact) || exact);
    std::vector<int> targets = {step.operands[0]};
    if (statement.args[0].Is<program::ArgList>()) {
      targets.clear();
      for (const Arg& item : statement.args[0].As<program::ArgList>()) {
        targets.push_back(item.As<program::ValueRef>().id);
      }
    }
    for (const int target : targets) {
      for (const int id : Aliases(target)) {
        Value& alias = values_[static_cast<size_t>(id)];
        alias.exact = alias.exact && exact;
        alias.bound = std::max(alias.bound, bound);
        alias.settled = alias.settled && kept;
      }
    }
  }
  steps_.push_back(std::move(step));
  return Verdict::kAdded;
}

std::vector<bool> Workspace::LiveSteps(const std::vector<program::Output>& outputs) const {
  std::vector<bool> live(steps_.size(), mutates_);
  if (mutates_) return live;
  std::vector<int> wanted;
  for (const program::Output& output : outputs) wanted.push_back(output.value);
  while (!wanted.empty()) {
    const Value& v = value(wanted.back());
    wanted.pop_back();
    if (v.statement < 0 || live[static_cast<size_t>(v.statement)]) continue;
    live[static_cast<size_t>(v.statement)] = true;
    for (const int id : steps_[static_cast<size_t>(v.statement)].operands) wanted.push_back(id);
  }
  return live;
}

std::vector<int> Workspace::Kept(const std::vector<program::Output>& outputs) const {
  const std::vector<bool> live = LiveSteps(outputs);
  std::vector<bool> used(values_.size(), false);
  for (const program::Output& output : outputs) used[static_cast<size_t>(output.value)] = true;
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!live[s]) continue;
    for (const int id : steps_[s].operands) used[static_cast<size_t>(id)] = true;
  }
  std::vector<int> kept;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].leaf >= 0 && used[i]) kept.push_back(static_cast<int>(i));
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!live[s]) continue;
    for (const int id : steps_[s].results) kept.push_back(id);
  }
  return kept;
}

std::vector<const ops::OpRecord*> Workspace::KeptRecords(
    const std::vector<program::Output>& outputs) const {
  const std::vector<bool> live = LiveSteps(outputs);
  std::vector<const ops::OpRecord*> records;
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (live[s]) records.push_back(steps_[s].record);
  }
  return records;
}

program::Program Workspace::Take(const std::vector<program::Output>& outputs) const {
  const std::vector<bool> live = LiveSteps(outputs);
  const std::vector<int> kept = Kept(outputs);
  std::vector<int> number(values_.size(), -1);
  for (size_t i = 0; i < kept.size(); ++i) {
    number[static_cast<size_t>(kept[i])] = static_cast<int>(i);
  }
  program::Program result;
  std::vector<int> storage_number(storages_.size(), -1);
  for (const int id : kept) {
    if (value(id).leaf < 0) continue;
    program::Leaf leaf = leaves_[static_cast<size_t>(value(id).leaf)];
    int& storage = storage_number[static_cast<size_t>(leaf.storage)];
    if (storage < 0) {
      storage = static_cast<int>(result.storages.size());
      result.storages.push_back(storages_[static_cast<size_t>(leaf.storage)]);
    }
    leaf.storage = storage;
    result.leaves.push_back(std::move(leaf));
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!live[s]) continue;
    Statement statement = steps_[s].statement;
    program::ForEachUse(
        statement, [&](program::ValueRef& ref) { ref.id = number[static_cast<size_t>(ref.id)]; });
    result.statements.push_back(std::move(statement));
  }
  for (program::Output output : outputs) {
    output.value = number[static_cast<size_t>(output.value)];
    result.outputs.push_back(std::move(output));
  }
  return result;
}

}  // namespace gradfuzz::generate
