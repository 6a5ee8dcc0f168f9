// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/swarm.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gradfuzz/generate/generator.h"
#include "gradfuzz/generate/weights.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::generate {
namespace {

// Without these there are no programs, or hardly any.
constexpr std::array<std::string_view, 10> kNeeded = {
    "dtype.float32", "dtype.float64",   "layout.contiguous",    "values.normal",
    "values.ints",   "size.tiny",       "cotangent.contiguous", "motif.none",
    kSwarm,          "family.pointwise"};

std::vector<std::string> Switchable() {
  std::vector<std::string> names = WeightNames();
  for (int family = 0; family < ops::kFamilyCount; ++family) {
    names.push_back("family." + std::string(ops::Name(static_cast<ops::Family>(family))));
  }
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::find(kNeeded, std::string_view(name)) != kNeeded.end();
  });
  return names;
}

}  // namespace

GenerateOptions WithSwarm(uint64_t seed, const GenerateOptions& options) {
  const Rng slice = Rng(seed / kSliceSeeds).Fork("swarm");
  Rng chosen = slice;
  if (!Chance(chosen, Weights(options), kSwarm, kSwarmShare)) return options;
  static const std::vector<std::string> switchable = Switchable();
  GenerateOptions swarm = options;
  for (const std::string& name : switchable) {
    const bool given = std::ranges::any_of(
        options.weights, [&](const auto& weight) { return weight.first == name; });
    // Each by a stream of its own: a new feature leaves the swarms of the others as they were.
    if (!given && slice.Fork(name).Chance(0.5)) swarm.weights.emplace_back(name, 0.0);
  }
  return swarm;
}

}  // namespace gradfuzz::generate
