// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/monte_carlo.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/oracle/exact_ops.h"
#include "gradfuzz/oracle/fused.h"
#include "gradfuzz/oracle/noise.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using torch::jit::Stack;

constexpr DispatchKey kKey = DispatchKey::TESTING_ONLY_GenericMode;

// What the schema and the table say of one operator.
struct OpInfo {
  std::string name;  // "native_layer_norm"
  uint32_t traits = 0;
  int decisive = -1;
  bool composite = false;  // runs as a composition of operators that autograd sees
  bool writes = false;     // in place or out=
  int ord = -1;            // an argument that makes it a selection when infinite
  int reduce = -1;         // "amax" and "amin" select, other texts add
  int accumulate = -1;     // true adds
  int rounding = -1;       // a text makes division jump
};

OpInfo Describe(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  OpInfo info;
  info.name = schema.name();
  if (const size_t colon = info.name.rfind(':'); colon != std::string::npos) {
    info.name.erase(0, colon + 1);
  }
  if (const AtenOp* row = FindAten(info.name)) {
    info.traits = row->traits;
    info.decisive = row->decisive;
  }
  info.composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
                   !op.hasKernelForDispatchKey(DispatchKey::CPU) &&
                   !op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
  info.writes = schema.is_mutable();
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const std::string& argument = schema.arguments()[i].name();
    const int at = static_cast<int>(i);
    if (argument == "ord" || (argument == "p" && info.name != "native_dropout")) info.ord = at;
    if (argument == "reduce") info.reduce = at;
    if (argument == "accumulate") info.accumulate = at;
    if (argument == "rounding_mode") info.rounding = at;
  }
  return info;
}

const OpInfo& InfoOf(const c10::OperatorHandle& op) {
  thread_local std::unordered_map<const c10::FunctionSchema*, OpInfo> cache;
  const auto [entry, inserted] = cache.try_emplace(&op.schema());
  if (inserted) entry->second = Describe(op);
  return entry->second;
}

bool IsInexact(const Tensor& t) { return t.defined() && (t.is_floating_point() || t.is_complex()); }

template <typename Visit>
void ForEachTensor(const IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const Tensor& t : value.toTensorVector()) visit(t);
  } else if (value.isList()) {
    for (const IValue& item : value.toListRef()) ForEachTensor(item, visit);
  }
}

// Inside the fallback nothing is recorded, saved or counted: plain kernels.
struct Below {
  c10::impl::ExcludeDispatchKeyGuard mode{kKey};
  at::AutoDispatchBelowADInplaceOrView autograd;
};

void CopyRaw(const Tensor& to, const Tensor& from) {
  const Below below;
  to.copy_(from);
}

class Session {
 public:
  Session(const Precision& precision, const ReplayOptions& options, Replay* replay)
      : precision_(precision),
        options_(options),
        replay_(*replay),
        noise_(precision, options.seed),
        inside_(PrecisionOf(at::kFloat), Rng(options.seed).Fork("inside").Next()) {}

  void Enter(evaluate::Phase phase) { phase_ = phase; }
  bool Active() const { return phase_ != evaluate::Phase::kDone; }

  void Handle(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack);

 private:
  bool Exact(const OpInfo& info, const Stack& stack, size_t first) const;
  bool Jumps(const OpInfo& info, const Stack& stack, size_t first) const;
  double ResultAmplitude(const OpInfo& info, const std::vector<Tensor>& operands,
                         const Tensor& result) const;
  void NudgeOperands(const OpInfo& info, const c10::OperatorHandle& op, double amplitude,
                     IValue* begin, IValue* end);
  void Evaluate(const c10::OperatorHandle& op, const OpInfo& info, Stack* stack);
  void Decide(const OpInfo& info, bool jumps, bool float_operand, Stack* stack, size_t results,
              const Tensor& modulo_operand);
  void WatchRange(const Tensor& result);
  bool Computed(const Tensor& t) const {
    return t.defined() && t.has_storage() &&
           computed_.count(t.storage().unsafeGetStorageImpl()) != 0;
  }
  void MarkComputed(const Tensor& t) {
    if (!IsInexact(t) || !t.has_storage()) return;
    if (computed_.insert(t.storage().unsafeGetStorageImpl()).second) kept_.push_back(t.storage());
  }
  const Decision* Next(const std::string& op);
  bool Follows(const OpInfo& info) const;

  const Precision& precision_;
  const ReplayOptions& options_;
  Replay& replay_;
  Noise noise_;
  Noise inside_;  // of kernels for low precision: they compute in float32
  evaluate::Phase phase_ = evaluate::Phase::kDone;
  size_t next_ = 0;  // decision of the trace that comes next
  // The memory of values that went through some rounding; kept alive, so that no address returns.
  std::unordered_set<const c10::StorageImpl*> computed_;
  std::vector<c10::Storage> kept_;
};

thread_local Session* active = nullptr;

bool Session::Exact(const OpInfo& info, const Stack& stack, size_t first) const {
  const auto arg = [&](int i) -> const IValue& { return stack[first + static_cast<size_t>(i)]; };
  if (info.reduce >= 0 && arg(info.reduce).isString()) {
    const std::string& how = arg(info.reduce).toStringRef();
    return how == "amax" || how == "amin";
  }
  if (info.accumulate >= 0 && arg(info.accumulate).isBool() && arg(info.accumulate).toBool()) {
    return false;
  }
  if (info.ord >= 0) {
    const IValue& ord = arg(info.ord);
    const bool number = ord.isScalar() && !ord.isComplexDouble();
    if (number && std::isinf(ord.toScalar().toDouble())) return true;
  }
  return (info.traits & kExactOp) != 0;
}

bool Session::Jumps(const OpInfo& info, const Stack& stack, size_t first) const {
  if (info.rounding >= 0 && stack[first + static_cast<size_t>(info.rounding)].isString()) {
    return true;
  }
  return (info.traits & (kDiscreteOp | kModuloOp)) != 0;
}

// An aggregation of n terms rounds n times; n as far as the sizes tell.
double Terms(const OpInfo& info, const std::vector<Tensor>& operands, const Tensor& result) {
  double largest = 1;
  double product = 1;
  for (const Tensor& t : operands) {
    const double n = std::max<double>(1, static_cast<double>(t.numel()));
    largest = std::max(largest, n);
    product *= n;
  }
  const double out = std::max<double>(1, static_cast<double>(result.numel()));
  double terms = largest / out;
  if ((info.traits & kManyTerms) != 0) {
    // A product of matrices (m, k)(k, n) -> (m, n): m k k n / (m n) = k^2. Scans and scatters may
    // bring all their terms to one element.
    const bool scatters = info.writes || operands.size() < 2 || info.name.find("scatter") == 0 ||
                          info.name.find("index") == 0;
    terms = std::max(terms, scatters ? largest : std::sqrt(product / out));
  }
  return terms;
}

double Session::ResultAmplitude(const OpInfo& info, const std::vector<Tensor>& operands,
                                const Tensor& result) const {
  const Model& model = precision_.model();
  const double base = (info.traits & kWideOp) != 0 ? model.wide : model.nudge;
  // Where the inside is exact by comparison, only additions that are stored one by one round.
  if (!model.operands && (info.traits & kManyTerms) == 0) return base;
  return std::max(base, model.per_root_terms * std::sqrt(Terms(info, operands, result)));
}

// Python numbers are rounded to the operand's dtype by the program, but not by the reference.
bool IsRounded(double value) { return static_cast<double>(static_cast<float>(value)) != value; }

void Session::NudgeOperands(const OpInfo& info, const c10::OperatorHandle& op, double amplitude,
                            IValue* begin, IValue* end) {
  const auto& arguments = op.schema().arguments();
  const bool exact = amplitude == 0;
  for (IValue* value = begin; value != end; ++value) {
    if (value->isDouble()) {
      const double number = value->toDouble();
      if (IsRounded(number)) *value = IValue(noise_.Nudged(number, precision_.model().nudge));
    } else if (exact) {
      continue;
    } else if (value->isTensor()) {
      const size_t at = static_cast<size_t>(value - begin);
      if (static_cast<int>(at) == info.decisive) continue;
      if (at > 0 && (info.traits & kFirstOperandOp) != 0) continue;
      if ((info.traits & kRoundedOp) != 0 &&
          ((info.traits & kContractsOp) == 0 || !Computed(value->toTensor()))) {
        continue;
      }
      if (arguments[at].alias_info() != nullptr && arguments[at].alias_info()->isWrite()) continue;
      if (Noise::Takes(value->toTensor())) {
        const Below below;
        *value = IValue(noise_.Nudged(value->toTensor(), amplitude));
      }
    } else if (value->isTensorList()) {
      const Below below;
      c10::List<Tensor> list;
      for (const Tensor& t : value->toTensorVector()) list.push_back(noise_.Nudged(t, amplitude));
      *value = IValue(list);
    }
  }
}

std::vector<Tensor> Operands(const Stack& stack, size_t first, size_t count) {
  std::vector<Tensor> operands;
  for (size_t i = first; i < first + count; ++i) {
    ForEachTensor(stack[i], [&](const Tensor& t) {
      if (IsInexact(t)) operands.push_back(t);
    });
  }
  return operands;
}

// Gives the call memory of its own to write to, so that it can be made a second time.
void CloneWritten(const c10::FunctionSchema& schema, Stack* args) {
  const Below below;
  for (size_t i = 0; i < args->size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    IValue& value = (*args)[i];
    if (alias == nullptr || !alias->isWrite() || !value.isTensor()) continue;
    value = IValue(value.toTensor().detach().clone());
  }
}

// The call with noise: operands nudged, results nudged. What autograd records is the call itself;
// the noisy values are then written over its results, which are what it saved.
void Session::Evaluate(const c10::OperatorHandle& op, const OpInfo& info, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const size_t results = op.schema().returns().size();
  const size_t first = stack->size() - count;
  const std::vector<Tensor> operands = Operands(*stack, first, count);
  const Stack args(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
  const Model& model = precision_.model();
  Stack again;
  if (!model.operands && (info.traits & kStepsOp) != 0) {
    again = args;
    NudgeOperands(info, op, model.nudge, again.data(), again.data() + again.size());
    CloneWritten(op.schema(), &again);
  }
  {
    const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
    op.callBoxed(stack);
  }
  const IValue* plain = stack->data() + (stack->size() - results);
  const auto fresh = [&](size_t i) {
    if (op.schema().returns()[i].alias_info() != nullptr || !plain[i].isTensor()) return false;
    const Tensor& t = plain[i].toTensor();
    if (!Noise::Takes(t)) return false;
    // Some kernels return an operand although the schema does not say so.
    return std::none_of(operands.begin(), operands.end(),
                        [&](const Tensor& operand) { return operand.is_alias_of(t); });
  };
  if (info.writes) {
    for (size_t i = 0; i < results; ++i) {
      if (plain[i].isTensor() && Noise::Takes(plain[i].toTensor())) {
        const Tensor& t = plain[i].toTensor();
        if (!again.empty() && i == 0) {
          const Below below;
          op.callBoxed(&again);
          CopyRaw(t, again[again.size() - results].toTensor());
        }
        noise_.NudgeInPlace(t, ResultAmplitude(info, operands, t));
        ++replay_.nudged;
      }
    }
    return;
  }
  std::vector<Tensor> plain_results(results);
  bool any = false;
  for (size_t i = 0; i < results; ++i) {
    if (fresh(i)) {
      plain_results[i] = plain[i].toTensor();
      any = true;
    }
  }
  if (!any) return;
  ++replay_.nudged;
  const bool is_fused = (info.traits & kFusedOp) != 0;
  // Results from `from` on as the spelled-out kernel gives them. False: it has no spelling.
  const auto spell_out = [&](Noise& noise, size_t from) {
    const Below below;
    const auto noisy = FusedWithNoise(info.name, args, plain_results, noise);
    for (size_t i = from; i < noisy.size() && i < results; ++i) {
      if (noisy[i].defined() && plain_results[i].defined()) plain_results[i].copy_(noisy[i]);
    }
    return !noisy.empty();
  };
  if (!model.operands) {
    if (!again.empty()) {
      const Below below;
      op.callBoxed(&again);
      for (size_t i = 0; i < results; ++i) {
        if (plain_results[i].defined()) {
          CopyRaw(plain_results[i], again[again.size() - results + i].toTensor());
        }
      }
    }
    // float32 inside is exact by comparison, but not where a kernel cancels.
    if (is_fused) spell_out(inside_, 0);
    for (const Tensor& t : plain_results) {
      if (t.defined()) noise_.NudgeInPlace(t, ResultAmplitude(info, operands, t));
    }
    // One exception: the gradients of weight and bias are added up in the operand's dtype, a
    // partial sum for each thread (ATen/native/cpu/layer_norm_kernel.cpp and its kin).
    if (is_fused && info.name.ends_with("norm_backward")) spell_out(noise_, 1);
    return;
  }
  if (is_fused && spell_out(noise_, 0)) return;
  // Operand edges: as many as the terms of an aggregation would move the sum by.
  double amplitude = model.nudge;
  for (const Tensor& t : plain_results) {
    if (t.defined()) {
      amplitude = std::max(amplitude, model.per_root_terms * std::sqrt(Terms(info, operands, t)));
    }
  }
  again = args;
  NudgeOperands(info, op, amplitude, again.data(), again.data() + again.size());
  if ((info.traits & kThroughOp) != 0) {
    const at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &again);
  } else {
    const Below below;
    op.callBoxed(&again);
  }
  for (size_t i = 0; i < results; ++i) {
    if (!plain_results[i].defined()) continue;
    const Tensor& noisy = again[again.size() - results + i].toTensor();
    if (!noisy.defined() || noisy.sizes() != plain_results[i].sizes()) continue;
    CopyRaw(plain_results[i], noisy);
    noise_.NudgeInPlace(plain_results[i], ResultAmplitude(info, operands, plain_results[i]));
  }
}

const Decision* Session::Next(const std::string& op) {
  if (options_.trace == nullptr || next_ >= options_.trace->size() ||
      (*options_.trace)[next_].op != op) {
    if (options_.follow != Follow::kNothing) replay_.followed = false;
    return nullptr;
  }
  return &(*options_.trace)[next_++];
}

bool Session::Follows(const OpInfo& info) const {
  if (!replay_.followed) return false;
  if (options_.follow == Follow::kEverything) return true;
  return options_.follow == Follow::kForwardJumps && phase_ == evaluate::Phase::kForward &&
         (info.traits & kPicksOp) == 0;
}

// Records the results of `stack` that are decisions, or takes them from the trace.
void Session::Decide(const OpInfo& info, bool jumps, bool float_operand, Stack* stack,
                     size_t results, const Tensor& modulo_operand) {
  Decision made{info.name, {}};
  std::vector<size_t> places;
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    const IValue& value = (*stack)[i];
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const bool discrete = at::isIntegralType(value.toTensor().scalar_type(), /*includeBool=*/true);
    if (discrete ? float_operand : jumps) places.push_back(i);
  }
  if (places.empty()) return;
  const Decision* traced = Next(info.name);
  if (traced != nullptr && Follows(info) && traced->results.size() == places.size()) {
    for (size_t k = 0; k < places.size(); ++k) {
      const Tensor& from = traced->results[k];
      const Tensor to = (*stack)[places[k]].toTensor();
      if (to.sizes() == from.sizes()) {
        CopyRaw(to, from);
        if ((info.traits & kModuloOp) != 0 && options_.noise && Noise::Takes(to)) {
          const Below below;
          noise_.AddInPlace(to, modulo_operand.abs().expand(to.sizes()), precision_.model().nudge);
        }
      } else {
        const Below below;
        (*stack)[places[k]] = IValue(from.clone());
      }
    }
  }
  const Below below;
  for (const size_t place : places) {
    made.results.push_back((*stack)[place].toTensor().detach().clone());
  }
  replay_.trace.push_back(std::move(made));
}

void Session::WatchRange(const Tensor& result) {
  if (options_.noise || replay_.range_edge || !IsInexact(result) || result.numel() == 0) return;
  const Below below;
  const Tensor size = result.abs();
  const Tensor near_overflow = size.gt(precision_.largest / kRangeEdge)
                                   .logical_and(size.lt(precision_.largest * kRangeEdge));
  const Tensor near_underflow = size.gt(precision_.subnormal / kRangeEdge)
                                    .logical_and(size.lt(precision_.smallest * kRangeEdge));
  replay_.range_edge = near_overflow.logical_or(near_underflow).any().item<bool>();
}

void Session::Handle(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const OpInfo& info = InfoOf(op);
  if (info.composite) {
    op.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey), stack);
    return;
  }
  ++replay_.calls;
  const size_t count = op.schema().arguments().size();
  const size_t results = op.schema().returns().size();
  const size_t first = stack->size() - count;
  bool float_operand = false, from_computed = false;
  Tensor modulo_operand;
  for (size_t i = first; i < stack->size(); ++i) {
    ForEachTensor((*stack)[i], [&](const Tensor& t) {
      if (IsInexact(t) && !modulo_operand.defined()) modulo_operand = t;
      float_operand = float_operand || IsInexact(t);
      from_computed = from_computed || Computed(t);
    });
  }
  const bool source = (info.traits & kSourceOp) != 0;
  const bool exact = Exact(info, *stack, first);
  const bool jumps = Jumps(info, *stack, first);

  // Which side of the kink, inside a fused backward. With create_graph the operand carries its own
  // gradient and must stay.
  if (info.decisive >= 0 && static_cast<size_t>(info.decisive) < count &&
      !at::GradMode::is_enabled()) {
    IValue& operand = (*stack)[first + static_cast<size_t>(info.decisive)];
    const Decision* traced = Next(info.name);
    if (traced != nullptr && Follows(info) && operand.isTensor() &&
        operand.toTensor().sizes() == traced->results[0].sizes()) {
      operand = IValue(traced->results[0]);
    }
    const Below below;
    replay_.trace.push_back({info.name, {operand.toTensor().detach().clone()}});
  }

  if (options_.noise && !source && !exact && float_operand &&
      !(jumps && options_.follow == Follow::kEverything)) {
    Evaluate(op, info, stack);
  } else {
    if (options_.noise && exact && options_.follow == Follow::kNothing) {
      NudgeOperands(info, op, 0, stack->data() + first, stack->data() + stack->size());
    }
    const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
    op.callBoxed(stack);
  }
  bool view = false;
  for (const c10::Argument& returned : op.schema().returns()) {
    view = view || (returned.alias_info() != nullptr && !returned.alias_info()->isWrite());
  }
  if (source || view) return;
  if (options_.noise && (!exact || from_computed)) {
    for (size_t i = stack->size() - results; i < stack->size(); ++i) {
      if ((*stack)[i].isTensor()) MarkComputed((*stack)[i].toTensor());
    }
  }
  Decide(info, jumps, float_operand, stack, results, modulo_operand);
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    if ((*stack)[i].isTensor() && (*stack)[i].toTensor().defined()) {
      WatchRange((*stack)[i].toTensor());
    }
  }
}

void Fallback(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  if (active != nullptr && active->Active()) {
    active->Handle(op, keys, stack);
    return;
  }
  const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
  op.callBoxed(stack);
}

void RegisterOnce() {
  static const torch::Library library = [] {
    torch::Library made(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
    made.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
    return made;
  }();
  (void)library;
}

}  // namespace

Replay RunReplay(const program::Program& program, const Precision& precision,
                 const ReplayOptions& options) {
  RegisterOnce();
  Replay replay;
  Session session(precision, options, &replay);
  evaluate::InterpretOptions interpret;
  interpret.draw = options.draw;
  interpret.cotangents = options.cotangents;
  interpret.cotangent_types = options.cotangent_types;
  interpret.on_phase = [&](evaluate::Phase phase, evaluate::Inputs& inputs) {
    if (phase == evaluate::Phase::kForward && options.edit) options.edit(inputs.storages);
    session.Enter(phase);
  };
  Session* const outer = active;
  active = &session;
  {
    const c10::impl::IncludeDispatchKeyGuard mode(kKey);
    replay.observation = evaluate::Reference(program, interpret);
  }
  active = outer;
  return replay;
}

}  // namespace gradfuzz::oracle
