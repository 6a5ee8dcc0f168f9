// SPDX-License-Identifier: BSD-3-Clause
// Makes the numbers in arguments smaller: 0, then 1, then halfway.
//
//   roll(x0, 5, -2) -> roll(x0, 1, 0)
#include <cmath>
#include <functional>

#include "all.h"
#include "gradfuzz/program/emit.h"

namespace gradfuzz::reduce {
namespace {

using program::Arg;
using program::Program;

std::vector<Arg> SimplerThan(const Arg& arg) {
  std::vector<Arg> out;
  if (arg.Is<bool>() && arg.As<bool>()) out.emplace_back(false);
  if (arg.Is<int64_t>()) {
    const int64_t value = arg.As<int64_t>();
    for (int64_t simpler :
         {int64_t{0}, int64_t{1}, -value, value / 2, value - (value > 0 ? 1 : -1)}) {
      if (simpler != value) out.emplace_back(simpler);
    }
  }
  if (arg.Is<double>()) {
    const double value = arg.As<double>();
    for (double simpler : {0.0, 1.0, 2.0, 0.5, std::trunc(value), std::round(value * 10) / 10}) {
      if (simpler != value) out.emplace_back(simpler);
    }
  }
  if (arg.Is<std::complex<double>>()) {
    out.emplace_back(std::complex<double>(1, 0));
    out.emplace_back(std::complex<double>(0, 1));
  }
  if (arg.Is<program::Slice>()) {
    // A wider slice says less: bounds go.
    const program::Slice& slice = arg.As<program::Slice>();
    for (size_t b = 0; b < slice.bounds.size(); ++b) {
      if (slice.bounds[b].Is<program::None>()) continue;
      program::Slice simpler = slice;
      simpler.bounds[b] = Arg();
      out.emplace_back(simpler);
      for (const Arg& bound : SimplerThan(slice.bounds[b])) {
        simpler.bounds[b] = bound;
        out.emplace_back(simpler);
      }
    }
  }
  return out;
}

// Calls `visit(path, arg)` for each argument that is neither a list nor a tuple; `path` names it.
void ForEachScalar(Arg& arg, const std::string& path,
                   const std::function<void(const std::string&, Arg&)>& visit) {
  program::ArgList* items = nullptr;
  if (arg.Is<program::ArgList>()) items = &arg.As<program::ArgList>();
  if (arg.Is<program::Tuple>()) items = &arg.As<program::Tuple>().items;
  if (items == nullptr) {
    visit(path, arg);
    return;
  }
  for (size_t i = 0; i < items->size(); ++i) {
    ForEachScalar((*items)[i], path + "." + std::to_string(i), visit);
  }
}

}  // namespace

std::vector<Candidate> Attributes(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  Program work = program;  // changed in one place, copied, and changed back
  const auto visit = [&](const std::string& path, Arg& arg) {
    const Arg before = arg;
    for (Arg& simpler : SimplerThan(before)) {
      arg = std::move(simpler);
      out.push_back({work, path + " = " + program::EmitArg(work, arg)});
    }
    arg = before;
  };
  for (size_t i = 0; i < work.statements.size(); ++i) {
    program::Statement& statement = work.statements[i];
    const std::string name = std::to_string(i) + ":";
    for (size_t a = 0; a < statement.args.size(); ++a) {
      ForEachScalar(statement.args[a], name + std::to_string(a), visit);
    }
    for (auto& [keyword, arg] : statement.kwargs) ForEachScalar(arg, name + keyword, visit);
  }
  return out;
}

}  // namespace gradfuzz::reduce
