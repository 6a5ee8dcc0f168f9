// SPDX-License-Identifier: BSD-3-Clause
// The weight factors of GenerateOptions, and draws from tables of named, weighted things.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradfuzz/message/request.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::generate {

class Weights {
 public:
  explicit Weights(const GenerateOptions& options);

  // The product of all factors given for `name`; 1 when there is none, never negative.
  double Factor(std::string_view name) const;

 private:
  std::map<std::string, double, std::less<>> factors_;
};

// One row of a table of alternatives: its name without prefix, and its weight.
struct Alternative {
  std::string_view name;
  double weight;
};

// The index of the row drawn, rows weighted by their own weight times the factor of prefix + name;
// nothing when all come to 0.
std::optional<size_t> Draw(Rng& rng, const Weights& weights, std::string_view prefix,
                           std::span<const Alternative> rows);

// Adds prefix + name of each row to `names`.
void AppendNames(std::string_view prefix, std::span<const Alternative> rows,
                 std::vector<std::string>* names);

// True with probability `p`, scaled by the factor of `name`.
bool Chance(Rng& rng, const Weights& weights, std::string_view name, double p);

}  // namespace gradfuzz::generate
