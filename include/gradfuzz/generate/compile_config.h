// SPDX-License-Identifier: BSD-3-Clause
// Settings of torch.compile away from their defaults: in some slices of seeds every program is
// compiled under one row of a table. The reducer drops what a finding does not need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradfuzz/generate/weights.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::generate {

struct ConfigRow {
  std::string_view name;  // with "config." before it: its weight and the feature of its programs
  double weight;
  std::vector<std::pair<std::string, program::Arg>> entries;  // as in CallPlan::config
};
std::span<const ConfigRow> ConfigRows();

// Times the weight of this name: the share of the slices (swarm.h) with a row.
inline constexpr double kConfigShare = 0.125;
inline constexpr const char* kConfigFeature = "feature.config";

// The row of the slice of `seed`; nullptr for the defaults.
const ConfigRow* ConfigOfSlice(uint64_t seed, const Weights& weights);

// Appends the names of weights of this table.
void AppendConfigNames(std::vector<std::string>* names);

}  // namespace gradfuzz::generate
