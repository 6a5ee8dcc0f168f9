// SPDX-License-Identifier: BSD-3-Clause
// Unites the stores of several shards: one database, one set of finding folders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradfuzz/support/result.h"

namespace gradfuzz::store {

struct MergeReport {
  int64_t programs = 0;               // in the merged store
  int64_t overlaps = 0;               // programs that more than one shard had: counted once
  int64_t findings = 0;               // distinct
  std::vector<std::string> warnings;  // overlaps, versions or options that differ
};

// Equal signatures are one finding: hits add up, the first seed is the smallest, the program the
// one with the fewest statements. REQUIRES: `from` is not empty.
// RETURNS: a UsageError when `into` holds a campaign already or one of `from` holds none; then
// nothing is left of `into`.
Result<MergeReport> Merge(const std::vector<std::string>& from, const std::string& into);

}  // namespace gradfuzz::store
