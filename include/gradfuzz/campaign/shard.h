// SPDX-License-Identifier: BSD-3-Clause
// Which part of the seeds is ours when several machines share a campaign.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "gradfuzz/support/result.h"

namespace gradfuzz::campaign {

// Shard `index` of `count` takes the seeds first + index, first + index + count, ...
struct Shard {
  int index = 0;
  int count = 1;

  std::string Text() const;  // "0/4"; empty when there is only one
  bool operator==(const Shard&) const = default;
};

// "i/n" with 0 <= i < n.
Result<Shard> ParseShard(std::string_view text);

// From the variables of torchrun (RANK, WORLD_SIZE), a Slurm array (SLURM_ARRAY_TASK_*), a Slurm
// step of several tasks (SLURM_PROCID, SLURM_NTASKS) or a Kubernetes indexed job
// (JOB_COMPLETION_INDEX with JOB_COMPLETIONS); the first that applies. Without any: the one shard
// of one. A UsageError when they contradict themselves or leave the number of shards open.
// `get` returns "" for a variable that is not set.
Result<Shard> ShardFromEnvironment(const std::function<std::string(const char* name)>& get);

}  // namespace gradfuzz::campaign
