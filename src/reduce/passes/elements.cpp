// SPDX-License-Identifier: BSD-3-Clause
// Makes elements of a literal 0, 1 or whole: first all, then halves, then single ones.
//
//   [0.37, 0.98, 1.59] -> [0, 0.98, 1]
#include <cmath>

#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::Program;
using program::Storage;
using program::ValueRecipe;

constexpr size_t kMaxElements = 24;

}  // namespace

std::vector<Candidate> Elements(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  for (size_t s = 0; s < program.storages.size(); ++s) {
    const Storage& storage = program.storages[s];
    // Integers may be indices, which must not come to repeat.
    const bool settable =
        program::IsDifferentiable(storage.dtype) || storage.dtype == program::DType::kBool;
    if (!settable || storage.values.kind != ValueRecipe::Kind::kLiteral ||
        storage.values.values.size() > kMaxElements) {
      continue;
    }
    const std::vector<double>& values = storage.values.values;
    const size_t n = values.size();
    const auto propose = [&](size_t first, size_t count, const std::string& change, auto&& map) {
      Program simpler = program;
      auto& changed = simpler.storages[s].values.values;
      for (size_t i = first; i < first + count; ++i) changed[i] = map(values[i]);
      if (changed == values) return;
      out.push_back({std::move(simpler), "s" + std::to_string(s) + "[" + std::to_string(first) +
                                             "+" + std::to_string(count) + "] " + change});
    };
    for (size_t count = n; count >= 1; count /= 2) {
      for (size_t first = 0; first + count <= n; first += count) {
        propose(first, count, "= 0", [](double) { return 0.0; });
        propose(first, count, "= 1", [](double) { return 1.0; });
        propose(first, count, "rounded", [](double v) { return std::round(v); });
        propose(first, count, "tenths", [](double v) { return std::round(v * 10) / 10; });
        propose(first, count, "positive", [](double v) { return std::fabs(v); });
      }
    }
  }
  return out;
}

}  // namespace gradfuzz::reduce
