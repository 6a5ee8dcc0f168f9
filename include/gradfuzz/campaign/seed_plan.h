// SPDX-License-Identifier: BSD-3-Clause
// The order in which a campaign takes its seeds: ascending, those of its shard, those not done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/campaign/shard.h"

namespace gradfuzz::campaign {

class SeedPlan {
 public:
  // `count`: seeds over all shards; nothing = no end. `done`: by device, ascending.
  SeedPlan(uint64_t first, std::optional<uint64_t> count, Shard shard,
           std::vector<std::string> devices,
           std::map<std::string, std::vector<uint64_t>> done = {});

  // The next seeds, at most `limit`, all for one device: each device gets the same seeds before
  // the next ones begin. Empty at the end.
  std::pair<std::string, std::vector<uint64_t>> Next(size_t limit);

  // (seed, device) pairs of this plan, those done included; nothing = no end.
  std::optional<uint64_t> Total() const;

 private:
  bool Done(const std::string& device, uint64_t seed) const;

  uint64_t first_;
  std::optional<uint64_t> count_;
  Shard shard_;
  std::vector<std::string> devices_;
  std::map<std::string, std::vector<uint64_t>> done_;
  uint64_t next_;              // index of the next seed, counted over all shards
  std::vector<uint64_t> row_;  // the seeds that devices are taking
  size_t device_;              // the next device to take them
};

}  // namespace gradfuzz::campaign
