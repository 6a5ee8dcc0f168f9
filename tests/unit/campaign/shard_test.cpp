// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/shard.h"

#include <gtest/gtest.h>

#include <map>

namespace gradfuzz::campaign {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Shard> From(const Variables& variables) {
  return ShardFromEnvironment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(Shard, IsParsed) {
  EXPECT_EQ(*ParseShard("0/1"), (Shard{0, 1}));
  EXPECT_EQ(*ParseShard("3/4"), (Shard{3, 4}));
  EXPECT_EQ((Shard{3, 4}).Text(), "3/4");
  EXPECT_EQ((Shard{0, 1}).Text(), "");
}

TEST(Shard, NonsenseIsNamed) {
  for (const char* bad : {"", "1", "1/", "/2", "a/2", "1/b", "1/2/3", " 0/2", "0x1/2", "1.0/2"}) {
    const auto shard = ParseShard(bad);
    ASSERT_FALSE(shard.ok()) << bad;
    EXPECT_EQ(shard.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(shard.error().message,
              "'" + std::string(bad) + "' is no shard: write i/n, such as 0/4");
  }
  for (const char* bad : {"4/4", "-1/4", "0/0", "1/-2"}) {
    const auto shard = ParseShard(bad);
    ASSERT_FALSE(shard.ok()) << bad;
    EXPECT_EQ(shard.error().message,
              "there is no shard " + std::string(bad) + ": i counts from 0 and is less than n");
  }
}

TEST(Shard, LaunchersAreRecognised) {
  EXPECT_EQ(*From({}), (Shard{0, 1}));
  EXPECT_EQ(*From({{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "1"}, {"WORLD_SIZE", "3"}}),
            (Shard{1, 3}));
  EXPECT_EQ(*From({{"SLURM_ARRAY_TASK_ID", "12"},
                   {"SLURM_ARRAY_TASK_MIN", "10"},
                   {"SLURM_ARRAY_TASK_COUNT", "4"}}),
            (Shard{2, 4}));
  EXPECT_EQ(*From({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}), (Shard{1, 2}));
  EXPECT_EQ(*From({{"JOB_COMPLETION_INDEX", "5"}, {"JOB_COMPLETIONS", "8"}}), (Shard{5, 8}));
  // RANK alone is set by many things; only torchrun's own variable makes it torchrun's.
  EXPECT_EQ(*From({{"RANK", "1"}, {"WORLD_SIZE", "3"}}), (Shard{0, 1}));
  // The array says more than the step inside it.
  EXPECT_EQ(*From({{"SLURM_ARRAY_TASK_ID", "1"},
                   {"SLURM_ARRAY_TASK_COUNT", "2"},
                   {"SLURM_PROCID", "0"},
                   {"SLURM_NTASKS", "1"}}),
            (Shard{1, 2}));
  EXPECT_EQ(*From({{"SLURM_PROCID", "0"}}), (Shard{0, 1}));
}

TEST(Shard, HalfALauncherIsAnErrorThatNamesTheVariable) {
  const auto open = From({{"JOB_COMPLETION_INDEX", "5"}});
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().message.find("JOB_COMPLETIONS"), std::string::npos);
  const auto wrong = From({{"JOB_COMPLETION_INDEX", "5"}, {"JOB_COMPLETIONS", "5"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("JOB_COMPLETION_INDEX=5"), std::string::npos);
  EXPECT_FALSE(From({{"SLURM_ARRAY_TASK_ID", "x"}, {"SLURM_ARRAY_TASK_COUNT", "2"}}).ok());
}

}  // namespace
}  // namespace gradfuzz::campaign
