// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "gradfuzz/evaluate/indexing.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/ops/record.h"

namespace gradfuzz::evaluate {
namespace {

using c10::IValue;
using c10::TypeKind;
using program::Arg;
using program::ArgList;
using program::Statement;
using program::ValueRef;

PythonCall& Hook() {
  static PythonCall call;  // set once, when the bridge starts
  return call;
}

// How strictly an argument must match: torch's parser, too, prefers an overload that takes a number
// as a number before one that wraps it into a tensor.
enum class Match : uint8_t { kStrict, kWrapNumbers };

struct Context {
  std::span<const at::Tensor> values;
  Match match;
};

std::optional<at::Scalar> AsScalar(const Arg& arg) {
  if (arg.Is<bool>()) return at::Scalar(arg.As<bool>());
  if (arg.Is<int64_t>()) return at::Scalar(arg.As<int64_t>());
  if (arg.Is<double>()) return at::Scalar(arg.As<double>());
  if (arg.Is<std::complex<double>>()) {
    return at::Scalar(c10::complex<double>(arg.As<std::complex<double>>()));
  }
  return std::nullopt;
}

std::optional<int64_t> AsInt(const Arg& arg) {
  if (arg.Is<int64_t>()) return arg.As<int64_t>();
  if (arg.Is<program::DType>()) {
    return static_cast<int64_t>(ToScalarType(arg.As<program::DType>()));
  }
  if (arg.Is<program::Constant>()) {
    static const std::map<std::string, at::MemoryFormat> kFormats = {
        {"contiguous_format", at::MemoryFormat::Contiguous},
        {"channels_last", at::MemoryFormat::ChannelsLast},
        {"channels_last_3d", at::MemoryFormat::ChannelsLast3d},
        {"preserve_format", at::MemoryFormat::Preserve}};
    const auto found = kFormats.find(arg.As<program::Constant>().name);
    if (found != kFormats.end()) return static_cast<int64_t>(found->second);
  }
  return std::nullopt;
}

const ArgList* AsList(const Arg& arg) {
  if (arg.Is<ArgList>()) return &arg.As<ArgList>();
  if (arg.Is<program::Tuple>()) return &arg.As<program::Tuple>().items;
  return nullptr;
}

std::optional<at::Tensor> AsTensor(const Arg& arg, const Context& context) {
  if (arg.Is<ValueRef>()) return context.values[static_cast<size_t>(arg.As<ValueRef>().id)];
  if (context.match == Match::kWrapNumbers) {
    if (const auto scalar = AsScalar(arg)) {
      at::Tensor tensor = at::scalar_tensor(
          *scalar, at::TensorOptions().dtype(scalar->isFloatingPoint() ? at::kDouble
                                             : scalar->isComplex()     ? at::kComplexDouble
                                             : scalar->isBoolean()     ? at::kBool
                                                                       : at::kLong));
      tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
      return tensor;
    }
  }
  return std::nullopt;
}

// Fixed-size list parameters such as int[2] take one number for all: `fixed` is that size, 0 =
// none.
std::optional<IValue> ConvertList(const Arg& arg, const c10::TypePtr& element, int64_t fixed,
                                  const Context& context) {
  const ArgList* items = AsList(arg);
  ArgList repeated;
  if (items == nullptr) {
    if (fixed <= 0 || arg.Is<ValueRef>()) return std::nullopt;
    repeated.assign(static_cast<size_t>(fixed), arg);
    items = &repeated;
  }
  switch (element->kind()) {
    case TypeKind::TensorType: {
      c10::List<at::Tensor> list;
      for (const Arg& item : *items) {
        if (!item.Is<ValueRef>()) return std::nullopt;
        list.push_back(*AsTensor(item, context));
      }
      return IValue(list);
    }
    case TypeKind::OptionalType: {
      c10::List<std::optional<at::Tensor>> list;
      if (element->castRaw<c10::OptionalType>()->getElementType()->kind() != TypeKind::TensorType) {
        return std::nullopt;
      }
      for (const Arg& item : *items) {
        if (item.Is<program::None>()) {
          list.push_back(std::nullopt);
        } else if (item.Is<ValueRef>()) {
          list.push_back(AsTensor(item, context));
        } else {
          return std::nullopt;
        }
      }
      return IValue(list);
    }
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      c10::List<int64_t> list;
      for (const Arg& item : *items) {
        const auto value = AsInt(item);
        if (!value) return std::nullopt;
        list.push_back(*value);
      }
      return IValue(list);
    }
    case TypeKind::FloatType: {
      c10::List<double> list;
      for (const Arg& item : *items) {
        const auto value = AsScalar(item);
        if (!value || value->isComplex()) return std::nullopt;
        list.push_back(value->toDouble());
      }
      return IValue(list);
    }
    case TypeKind::BoolType: {
      c10::List<bool> list;
      for (const Arg& item : *items) {
        if (!item.Is<bool>()) return std::nullopt;
        list.push_back(item.As<bool>());
      }
      return IValue(list);
    }
    case TypeKind::NumberType: {
      c10::List<at::Scalar> list;
      for (const Arg& item : *items) {
        const auto value = AsScalar(item);
        if (!value) return std::nullopt;
        list.push_back(*value);
      }
      return IValue(c10::impl::toList<at::Scalar>(std::move(list)));
    }
    default:
      return std::nullopt;
  }
}

std::optional<IValue> Convert(const Arg& arg, const c10::TypePtr& type, int64_t fixed,
                              const Context& context) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      if (arg.Is<program::None>()) return IValue();
      return Convert(arg, type->castRaw<c10::OptionalType>()->getElementType(), fixed, context);
    case TypeKind::TensorType: {
      auto tensor = AsTensor(arg, context);
      if (!tensor) return std::nullopt;
      return IValue(std::move(*tensor));
    }
    case TypeKind::ListType:
      return ConvertList(arg, type->castRaw<c10::ListType>()->getElementType(), fixed, context);
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      const auto value = AsInt(arg);
      if (!value) return std::nullopt;
      return IValue(*value);
    }
    case TypeKind::FloatType:
      if (arg.Is<double>()) return IValue(arg.As<double>());
      if (arg.Is<int64_t>()) return IValue(static_cast<double>(arg.As<int64_t>()));
      return std::nullopt;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      if (arg.Is<bool>()) return IValue(arg.As<bool>());
      return std::nullopt;
    case TypeKind::NumberType: {
      const auto value = AsScalar(arg);
      if (!value) return std::nullopt;
      return IValue(*value);
    }
    case TypeKind::StringType:
      if (arg.Is<std::string>()) return IValue(arg.As<std::string>());
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// torch.nn.functional spells the reduction of a loss as a word, the dispatcher as a number.
std::optional<IValue> Reduction(const std::string& word) {
  if (word == "none") return IValue(int64_t{at::Reduction::None});
  if (word == "mean") return IValue(int64_t{at::Reduction::Mean});
  if (word == "sum") return IValue(int64_t{at::Reduction::Sum});
  return std::nullopt;
}

struct Overload {
  c10::OperatorHandle handle;
  bool is_out = false;
};

const std::vector<Overload>& Overloads(const std::string& aten) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::vector<Overload>> cache;
  std::lock_guard lock(mutex);
  const auto [entry, inserted] = cache.try_emplace(aten);
  if (inserted) {
    for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(aten))) {
      if (!op->isC10Op()) continue;
      auto handle = c10::Dispatcher::singleton().findSchema(op->schema().operator_name());
      if (!handle) continue;
      bool is_out = false;
      for (const c10::Argument& argument : op->schema().arguments()) is_out |= argument.is_out();
      if (!is_out) entry->second.push_back({*handle});
    }
  }
  return entry->second;
}

// The stack of a call of `schema`, or nothing where the arguments do not fit it.
std::optional<torch::jit::Stack> BuildStack(const c10::FunctionSchema& schema,
                                            const Statement& statement, const Context& context) {
  torch::jit::Stack stack;
  size_t positional = 0;
  size_t keywords = 0;
  for (const c10::Argument& parameter : schema.arguments()) {
    const Arg* given = nullptr;
    if (!parameter.kwarg_only() && positional < statement.args.size()) {
      given = &statement.args[positional++];
    } else {
      for (const auto& [name, arg] : statement.kwargs) {
        if (name == parameter.name()) given = &arg;
      }
      // `input` is Python's name of the first parameter of most functions.
      if (given != nullptr) ++keywords;
    }
    if (given == nullptr) {
      if (!parameter.default_value()) return std::nullopt;
      stack.push_back(*parameter.default_value());
      continue;
    }
    auto value = parameter.name() == "reduction" && given->Is<std::string>()
                     ? Reduction(given->As<std::string>())
                     : Convert(*given, parameter.type(), parameter.N().value_or(0), context);
    if (!value) return std::nullopt;
    stack.push_back(std::move(*value));
  }
  if (positional != statement.args.size() || keywords != statement.kwargs.size()) {
    return std::nullopt;
  }
  return stack;
}

Result<std::vector<at::Tensor>> TensorsOf(const torch::jit::Stack& stack, const std::string& op) {
  std::vector<at::Tensor> tensors;
  for (const IValue& value : stack) {
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
    } else {
      return UsageError(op + " returns something that is not a tensor");
    }
  }
  return tensors;
}

// The dispatcher's name for a statement, or empty where only Python knows the operator.
std::string AtenNameOf(const std::string& op) {
  if (const ops::OpRecord* record = ops::Find(op)) return ops::AtenName(*record);
  const std::string method = "Tensor.";
  if (op.starts_with(method)) return "aten::" + op.substr(method.size());
  return op.find('.') == std::string::npos ? "aten::" + op : "";
}

}  // namespace

void SetPythonCall(PythonCall call) { Hook() = std::move(call); }

Result<std::vector<at::Tensor>> Call(const Statement& statement,
                                     std::span<const at::Tensor> values) {
  try {
    if (auto indexed = CallIndexing(statement, values)) return std::move(*indexed);
    const std::string aten = AtenNameOf(statement.op);
    if (!aten.empty()) {
      for (const Match match : {Match::kStrict, Match::kWrapNumbers}) {
        for (const Overload& overload : Overloads(aten)) {
          auto stack = BuildStack(overload.handle.schema(), statement, {values, match});
          if (!stack) continue;
          overload.handle.callBoxed(*stack);
          return TensorsOf(*stack, statement.op);
        }
      }
    }
    if (Hook()) return Hook()(statement, values);
    return UsageError("torch has no operator '" + statement.op + "' that takes these arguments");
  } catch (const c10::Error& e) {
    return UsageError(statement.op + ": " + e.what_without_backtrace());
  } catch (const std::exception& e) {
    return UsageError(statement.op + ": " + std::string(e.what()));
  }
}

}  // namespace gradfuzz::evaluate
