// SPDX-License-Identifier: BSD-3-Clause
// A run as its reports show it: plain data, filled by the store, read by every report.
// `--json` prints ToJson(summary).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::report {

// What a run did. All counts are since the start of the campaign, resumed parts included.
struct RunTotals {
  int64_t programs = 0;            // run to a verdict, whatever it is
  int64_t invalid = 0;             // rejected by eager
  int64_t with_gradients = 0;      // programs in which at least one gradient was compared
  int64_t gradients_compared = 0;  // tensors, over all draws and rungs above eager
  int64_t outputs_compared = 0;
  int64_t mismatches = 0;     // programs whose verdict is a finding, known and new
  int64_t muted = 0;          // of these, hits of a signature that was already known
  int64_t unconfirmed = 0;    // mismatches that did not come back when confirmed
  int64_t waiting = 0;        // mismatches that nobody has judged yet
  int64_t workers_lost = 0;   // crashed, hung or killed workers
  int64_t programs_lost = 0;  // programs without a verdict; 0 unless interrupted
  double seconds = 0;         // wall
  double torch_seconds = 0;   // of the workers' time: inside torch and the compiler
  double worker_seconds = 0;  // the workers' time in all
  std::vector<std::pair<Verdict, int64_t>> verdicts;  // only those that occurred
};

// The state at one moment, cumulative; about a hundred of them make the rate curve.
struct RateSample {
  double seconds = 0;
  int64_t programs = 0;
  int64_t gradients_compared = 0;
  int64_t mismatches = 0;
  int64_t findings = 0;
  double worker_rss_mb = 0;  // the largest worker; 0 = not measured
};

// How much one op, dtype, rung, ... was exercised and what it gave.
struct Yield {
  std::string axis;  // "op", "dtype", "rung", "layout", "motif"; one table each
  std::string name;  // "amin"
  int64_t programs = 0;
  int64_t mismatches = 0;
  int64_t findings = 0;
};

// A known bug that this run had reason to expect (its versions include this torch).
struct KnownBug {
  std::string name;
  std::string link;
  int64_t hits = 0;    // 0 with `tried`: no longer reproduces here
  bool tried = false;  // its reproducer was run; without it no hit proves nothing
};

struct RunSummary {
  std::string gradfuzz_version;
  std::string command;   // as typed
  std::string started;   // "2026-01-31T23:59:59Z"
  std::string finished;  // empty while running
  std::string end;       // "all programs done", "time is up", "interrupted", "running"
  std::optional<uint64_t> first_seed;
  std::string shard;  // "0/4", empty = none
  std::vector<std::string> devices;
  int workers = 0;
  RunOptions run;
  GenerateOptions generate;
  nlohmann::json environment;  // a worker's `describe` answer
  RunTotals totals;
  std::vector<RateSample> rate;  // oldest first
  std::vector<Yield> yields;
  std::vector<Finding> findings;
  std::vector<KnownBug> known_bugs;
  std::vector<std::string> warnings;  // overlapping shards, versions that differ, full disk, ...
};

// New findings first, then by hits; ties by id, so that the order is the same in every report.
std::vector<const Finding*> InReportOrder(const RunSummary& summary);

nlohmann::json ToJson(const RunSummary& summary);
Result<RunSummary> RunSummaryFromJson(const nlohmann::json& json);

}  // namespace gradfuzz::report
