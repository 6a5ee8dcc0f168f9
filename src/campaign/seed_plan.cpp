// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/seed_plan.h"

#include <algorithm>

#include "gradfuzz/support/rng.h"

namespace gradfuzz::campaign {

SeedPlan::SeedPlan(uint64_t first, std::optional<uint64_t> count, Shard shard,
                   std::vector<std::string> devices,
                   std::map<std::string, std::vector<uint64_t>> done)
    : first_(first),
      count_(count),
      shard_(shard),
      devices_(std::move(devices)),
      done_(std::move(done)),
      next_(static_cast<uint64_t>(shard.index)),
      device_(devices_.size()) {}

bool SeedPlan::Done(const std::string& device, uint64_t seed) const {
  const auto seeds = done_.find(device);
  return seeds != done_.end() &&
         std::binary_search(seeds->second.begin(), seeds->second.end(), seed);
}

std::pair<std::string, std::vector<uint64_t>> SeedPlan::Next(size_t limit) {
  for (;;) {
    if (device_ == devices_.size()) {
      row_.clear();
      while (row_.size() < limit && (!count_ || next_ < *count_)) {
        const uint64_t seed = ProgramSeed(first_, next_);
        next_ += static_cast<uint64_t>(shard_.count);
        const bool wanted = std::any_of(devices_.begin(), devices_.end(),
                                        [&](const std::string& d) { return !Done(d, seed); });
        if (wanted) row_.push_back(seed);
      }
      if (row_.empty()) return {};
      device_ = 0;
    }
    const std::string& device = devices_[device_++];
    std::vector<uint64_t> seeds;
    for (uint64_t seed : row_) {
      if (!Done(device, seed)) seeds.push_back(seed);
    }
    if (!seeds.empty()) return {device, std::move(seeds)};
  }
}

std::optional<uint64_t> SeedPlan::Total() const {
  if (!count_) return std::nullopt;
  const auto index = static_cast<uint64_t>(shard_.index),
             step = static_cast<uint64_t>(shard_.count);
  const uint64_t seeds = *count_ <= index ? 0 : (*count_ - index - 1) / step + 1;
  return seeds * devices_.size();
}

}  // namespace gradfuzz::campaign
