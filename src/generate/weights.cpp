// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/weights.h"

#include <algorithm>
#include <vector>

namespace gradfuzz::generate {

Weights::Weights(const GenerateOptions& options) {
  for (const auto& [name, factor] : options.weights) {
    const auto [entry, inserted] = factors_.emplace(name, 1.0);
    entry->second *= std::max(0.0, factor);
  }
}

double Weights::Factor(std::string_view name) const {
  const auto found = factors_.find(name);
  return found == factors_.end() ? 1.0 : found->second;
}

std::optional<size_t> Draw(Rng& rng, const Weights& weights, std::string_view prefix,
                           std::span<const Alternative> rows) {
  std::vector<double> scaled;
  double total = 0;
  for (const Alternative& row : rows) {
    scaled.push_back(row.weight * weights.Factor(std::string(prefix) + std::string(row.name)));
    total += scaled.back();
  }
  if (!(total > 0)) return std::nullopt;
  return rng.PickWeighted(scaled);
}

void AppendNames(std::string_view prefix, std::span<const Alternative> rows,
                 std::vector<std::string>* names) {
  for (const Alternative& row : rows) {
    names->push_back(std::string(prefix) + std::string(row.name));
  }
}

bool Chance(Rng& rng, const Weights& weights, std::string_view name, double p) {
  // One draw whatever the factor, so that a weight changes only what it names.
  return rng.Unit() < p * weights.Factor(name);
}

}  // namespace gradfuzz::generate
