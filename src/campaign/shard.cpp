// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/shard.h"

#include <charconv>
#include <optional>

namespace gradfuzz::campaign {
namespace {

std::optional<int> Whole(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

// Where a launcher says which task this is and how many there are.
struct Source {
  const char* launcher;
  const char* index;
  const char* count;
  const char* first;       // variable with the number of the first task; null: they count from 0
  const char* needs;       // a variable that must be set for this source to apply; null: `index`
  bool count_is_optional;  // without it this is no launch of several tasks
};
constexpr Source kSources[] = {
    {"torchrun", "RANK", "WORLD_SIZE", nullptr, "TORCHELASTIC_RUN_ID", false},
    {"the Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     nullptr, false},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr, nullptr, true},
    {"the Kubernetes job", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", nullptr, nullptr, false},
};

}  // namespace

std::string Shard::Text() const {
  return count == 1 ? "" : std::to_string(index) + "/" + std::to_string(count);
}

Result<Shard> ParseShard(std::string_view text) {
  const size_t slash = text.find('/');
  const auto index = Whole(text.substr(0, slash));
  const auto count = slash == std::string_view::npos ? std::nullopt : Whole(text.substr(slash + 1));
  if (!index || !count) {
    return UsageError("'" + std::string(text) + "' is no shard: write i/n, such as 0/4");
  }
  if (*count < 1 || *index < 0 || *index >= *count) {
    return UsageError("there is no shard " + std::string(text) +
                      ": i counts from 0 and is less than n");
  }
  return Shard{*index, *count};
}

Result<Shard> ShardFromEnvironment(const std::function<std::string(const char* name)>& get) {
  for (const Source& source : kSources) {
    if (get(source.needs != nullptr ? source.needs : source.index).empty()) continue;
    const std::string index_text = get(source.index), count_text = get(source.count);
    if (count_text.empty() && source.count_is_optional) continue;
    if (count_text.empty()) {
      return UsageError("this is task " + index_text + " of " + source.launcher + ", but " +
                        source.count + " does not say of how many: set it, or give --shard i/n");
    }
    const auto count = Whole(count_text);
    auto index = Whole(index_text);
    if (index && source.first != nullptr) {
      const auto first = Whole(get(source.first));
      index = *index - first.value_or(0);
    }
    if (!index || !count || *count < 1 || *index < 0 || *index >= *count) {
      return UsageError(std::string(source.index) + "=" + index_text + " and " + source.count +
                        "=" + count_text + " of " + source.launcher +
                        " give no shard: give --shard i/n");
    }
    return Shard{*index, *count};
  }
  return Shard{};
}

}  // namespace gradfuzz::campaign
