// SPDX-License-Identifier: BSD-3-Clause
// The only source of randomness in gradfuzz.
//
//  1. The same seed gives the same stream on every machine, compiler and standard library
//     (std::*_distribution is not specified bit for bit, so none is used).
//  2. Fork(name) gives an independent stream that depends only on this generator's seed and the
//     name, not on how much was drawn: a new choice in one part does not reshuffle the others.
//  3. All randomness of a program is spent before anything runs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gradfuzz/support/check.h"

namespace gradfuzz {

class Rng {
 public:
  explicit Rng(uint64_t seed);

  Rng Fork(std::string_view name) const;
  Rng Fork(std::string_view name, uint64_t index) const;

  uint64_t Next();                             // 64 uniform bits
  uint64_t Below(uint64_t bound);              // uniform in [0, bound); REQUIRES bound > 0
  int64_t Between(int64_t low, int64_t high);  // uniform in [low, high]; REQUIRES low <= high
  double Unit();                               // uniform in [0, 1), 53 bits
  bool Chance(double probability);             // true with that probability

  // REQUIRES: !items.empty().
  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(Below(items.size()))];
  }

  // The index of a weight, drawn in proportion. REQUIRES: some weight > 0, none < 0.
  size_t PickWeighted(const std::vector<double>& weights);

  // Fisher-Yates, in place.
  template <typename T>
  void Shuffle(std::vector<T>* items) {
    for (size_t i = items->size(); i > 1; --i) {
      std::swap((*items)[i - 1], (*items)[static_cast<size_t>(Below(i))]);
    }
  }

 private:
  uint64_t seed_;
  std::array<uint64_t, 4> state_;  // xoshiro256** (Blackman and Vigna, 2018)
};

// The seed of program number `index` of a campaign: programs are numbered by their own seed.
constexpr uint64_t ProgramSeed(uint64_t first_seed, uint64_t index) { return first_seed + index; }

}  // namespace gradfuzz
