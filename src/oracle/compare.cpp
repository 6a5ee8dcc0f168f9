// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "gradfuzz/ops/record.h"
#include "gradfuzz/oracle/elements.h"
#include "gradfuzz/oracle/tolerance.h"

namespace gradfuzz::oracle {
namespace {

template <typename T>
std::string Text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

CheapResult Metadata(std::string note) {
  return {Verdict::kMetadataMismatch, false, std::move(note)};
}

bool StridesDiffer(const at::Tensor& eager, const at::Tensor& got) {
  if (eager.numel() < 2 || !eager.is_non_overlapping_and_dense()) return false;
  for (int64_t d = 0; d < eager.dim(); ++d) {
    if (eager.size(d) > 1 && eager.stride(d) != got.stride(d)) return true;
  }
  return false;
}

template <typename T>
T At(const std::vector<T>& values, size_t i, T absent) {
  return i < values.size() ? values[i] : absent;
}

// What an output is beside its values.
std::string OutputMetadata(size_t i, const evaluate::Observation& eager,
                           const evaluate::Observation& got, bool strides) {
  const at::Tensor& a = eager.outputs[i];
  const at::Tensor& b = got.outputs[i];
  const bool grad = At(eager.output_requires_grad, i, false);
  if (grad != At(got.output_requires_grad, i, false)) {
    return grad ? "requires_grad is lost" : "requires_grad is set, in eager it is not";
  }
  if (strides && StridesDiffer(a, b)) {
    return "strides " + Text(b.strides()) + " instead of " + Text(a.strides());
  }
  const int own = static_cast<int>(i);
  const int storage = At(eager.aliases_storage, i, -1);
  const int got_storage = At(got.aliases_storage, i, -1);
  if (storage != got_storage) {
    return got_storage < 0 ? "does not alias the input that it aliases in eager"
                           : "aliases an input, in eager it does not";
  }
  const int output = At(eager.aliases_output, i, own);
  const int got_output = At(got.aliases_output, i, own);
  if (output != got_output) {
    return got_output == own
               ? "does not alias out" + std::to_string(output) + " as in eager"
               : "aliases out" + std::to_string(got_output) + ", in eager it does not";
  }
  return "";
}

// True when a zero has another sign. REQUIRES: SameValues, floating point.
bool ZeroSignsDiffer(const at::Tensor& eager, const at::Tensor& got) {
  if (!eager.is_floating_point()) return false;
  const Elements a = Flatten(eager);
  const Elements b = Flatten(got);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.re[i] == 0 && b.re[i] == 0 && std::signbit(a.re[i]) != std::signbit(b.re[i])) return true;
  }
  return false;
}

bool KeepsSigns(const std::string& op) {
  static constexpr std::string_view kSetSigns[] = {
      "neg",        "negative",     "copysign",         "abs", "clone", "Tensor.neg",
      "Tensor.abs", "Tensor.clone", "Tensor.contiguous"};
  if (std::find(std::begin(kSetSigns), std::end(kSetSigns), op) != std::end(kSetSigns)) return true;
  const ops::OpRecord* record = ops::Find(op);
  if (record == nullptr || !record->Has(ops::kExact) || record->Has(ops::kInPlace)) return false;
  return record->family == ops::Family::kView || record->family == ops::Family::kGather ||
         record->family == ops::Family::kJoin;
}

}  // namespace

bool DefinesSignOfZero(const program::Program& program, size_t output) {
  // The statement that makes each value; -1 for a leaf.
  std::vector<int> maker(program.leaves.size(), -1);
  for (size_t s = 0; s < program.statements.size(); ++s) {
    const program::Statement& statement = program.statements[s];
    if (statement.results == 0 || statement.op.ends_with('_')) return false;  // writes in place
    for (int r = 0; r < statement.results; ++r) maker.push_back(static_cast<int>(s));
  }
  std::vector<int> open = {maker[static_cast<size_t>(program.outputs[output].value)]};
  while (!open.empty()) {
    const int s = open.back();
    open.pop_back();
    if (s < 0) continue;
    const program::Statement& statement = program.statements[static_cast<size_t>(s)];
    if (!KeepsSigns(statement.op)) return false;
    for (const program::ValueId id : program::Uses(statement)) {
      open.push_back(maker[static_cast<size_t>(id)]);
    }
  }
  return true;
}

CheapResult CompareCheaply(const program::Program& program, const Quantity& quantity,
                           const evaluate::Observation& eager, const evaluate::Observation& got,
                           const CheapOptions& options) {
  const at::Tensor* a = Find(eager, quantity);
  const at::Tensor* b = Find(got, quantity);
  if (a == nullptr && b == nullptr) return {};
  if (a == nullptr || b == nullptr) {
    if (quantity.kind != Quantity::Kind::kGradient) return Metadata("present on one side only");
    if (b == nullptr) return {Verdict::kMissingGradient, false, "None, where eager has a gradient"};
    const bool zeros = (*b == 0).all().item<bool>();
    return {Verdict::kMissingGradient, false,
            zeros ? "zeros, where eager has None" : "a gradient, where eager has None"};
  }
  if (a->scalar_type() != b->scalar_type()) {
    return Metadata(std::string("dtype ") + at::toString(b->scalar_type()) + " instead of " +
                    at::toString(a->scalar_type()));
  }
  if (a->sizes() != b->sizes()) {
    return Metadata("shape " + Text(b->sizes()) + " instead of " + Text(a->sizes()));
  }
  const bool same = a->numel() == 0 || (options.exact ? SameValues(*a, *b)
                                                      : WithinBand(*a, *b, Band(a->scalar_type())));
  // Wrong values are worth more than wrong metadata.
  if (!same) return {Verdict::kAgree, true, ""};
  if (quantity.kind == Quantity::Kind::kOutput) {
    if (std::string note = OutputMetadata(quantity.index, eager, got, options.strides);
        !note.empty()) {
      return Metadata(std::move(note));
    }
    if (ZeroSignsDiffer(*a, *b) && DefinesSignOfZero(program, quantity.index)) {
      return {Verdict::kForwardMismatch, false, "a zero has the other sign"};
    }
  }
  return {};
}

}  // namespace gradfuzz::oracle
