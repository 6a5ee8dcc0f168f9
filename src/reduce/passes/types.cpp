// SPDX-License-Identifier: BSD-3-Clause
// Prefers float64 (a bug that shows there is no rounding), then float32; int64 among the integers.
//
//   x0: bfloat16; to(x0, torch.float16) -> x0: float64; to(x0, torch.float64)
#include <algorithm>
#include <optional>

#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::Arg;
using program::DType;
using program::Program;

std::optional<DType> Simpler(DType dtype, DType floating) {
  const program::DTypeInfo& info = program::Info(dtype);
  if (info.is_floating) return floating;
  if (info.is_complex) return DType::kComplex128;
  if (dtype == DType::kBool) return std::nullopt;
  return DType::kInt64;
}

void Replace(Arg* arg, DType floating) {
  if (arg->Is<DType>()) {
    if (const auto simpler = Simpler(arg->As<DType>(), floating)) *arg = Arg(*simpler);
  } else if (arg->Is<program::ArgList>()) {
    for (Arg& item : arg->As<program::ArgList>()) Replace(&item, floating);
  }
}

void Replace(std::vector<program::Storage>* storages, size_t index, DType floating) {
  if (index >= storages->size()) return;
  DType& dtype = (*storages)[index].dtype;
  if (const auto simpler = Simpler(dtype, floating)) dtype = *simpler;
}

}  // namespace

std::vector<Candidate> Types(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  for (DType floating : {DType::kFloat64, DType::kFloat32}) {
    Program all = program;
    for (size_t s = 0; s < all.storages.size(); ++s) {
      Replace(&all.storages, s, floating);
      Replace(&all.call.second_storages, s, floating);
    }
    for (program::Statement& statement : all.statements) {
      for (Arg& arg : statement.args) Replace(&arg, floating);
      for (auto& [name, arg] : statement.kwargs) Replace(&arg, floating);
    }
    const std::string name(program::Info(floating).name);
    out.push_back({std::move(all), "all " + name});
    for (size_t s = 0; s < program.storages.size(); ++s) {
      Program one = program;
      Replace(&one.storages, s, floating);
      Replace(&one.call.second_storages, s, floating);
      out.push_back({std::move(one), "s" + std::to_string(s) + " " + name});
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
