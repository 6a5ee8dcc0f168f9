// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/rng.h"

#include "gradfuzz/support/hash.h"

namespace gradfuzz {
namespace {

constexpr uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

}  // namespace

Rng::Rng(uint64_t seed) : seed_(seed), state_{} {
  // Seeding by splitmix64, as the authors of xoshiro advise.
  uint64_t x = seed;
  for (uint64_t& word : state_) {
    word = Mix64(x);
    x += 0x9e3779b97f4a7c15ULL;
  }
}

Rng Rng::Fork(std::string_view name) const { return Rng(Mix64(seed_ ^ Mix64(Fnv1a(name)))); }

Rng Rng::Fork(std::string_view name, uint64_t index) const {
  return Rng(Mix64(Mix64(seed_ ^ Mix64(Fnv1a(name))) ^ index));
}

uint64_t Rng::Next() {
  const uint64_t result = RotateLeft(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = RotateLeft(state_[3], 45);
  return result;
}

uint64_t Rng::Below(uint64_t bound) {
  GF_CHECK(bound > 0, "Rng::Below needs a positive bound");
  // Rejection of the incomplete last stretch keeps the draw exactly uniform.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t x = Next();
  while (x >= limit) x = Next();
  return x % bound;
}

int64_t Rng::Between(int64_t low, int64_t high) {
  GF_CHECK(low <= high, "Rng::Between needs low <= high");
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (span == UINT64_MAX) return static_cast<int64_t>(Next());
  return static_cast<int64_t>(static_cast<uint64_t>(low) + Below(span + 1));
}

double Rng::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

bool Rng::Chance(double probability) { return Unit() < probability; }

size_t Rng::PickWeighted(const std::vector<double>& weights) {
  double total = 0;
  for (double w : weights) {
    GF_CHECK(w >= 0, "weights must not be negative");
    total += w;
  }
  GF_CHECK(total > 0, "some weight must be positive");
  double x = Unit() * total;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    if (x < weights[i]) return i;
    x -= weights[i];
  }
  return last;  // reached only by rounding in the subtraction
}

}  // namespace gradfuzz
