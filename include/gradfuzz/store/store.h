// SPDX-License-Identifier: BSD-3-Clause
// The store of a campaign: OUT/campaign.db, and OUT/lock while a campaign writes it.
//
//  1. What was recorded stays: each call is a transaction of its own. A SIGKILL loses nothing; a
//     power cut may lose the last seconds, whose seeds are then run again.
//  2. A (seed, device) is recorded once.
//  3. Every fault is an EnvironmentError that names the file; after one nothing more is written,
//     and the file stays whole.
//  4. Used from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/message/sink.h"
#include "gradfuzz/report/summary.h"
#include "gradfuzz/store/database.h"
#include "gradfuzz/support/file.h"

namespace gradfuzz::store {

inline constexpr const char* kDatabaseName = "campaign.db";
inline constexpr const char* kFindingsFolder = "findings";

// What a campaign is; fixed at its start.
struct CampaignRecord {
  std::string gradfuzz_version;
  std::string command;
  std::string started;
  uint64_t first_seed = 0;
  std::optional<uint64_t> programs;  // seeds, over all shards
  std::optional<double> duration;    // seconds
  std::string shard;                 // "0/4", empty = none
  std::vector<std::string> devices;
  int workers = 1;
  GenerateOptions generate;
  RunOptions run;
  nlohmann::json environment;
};

// A mismatch that was recorded and not judged yet.
struct PendingMismatch {
  uint64_t seed = 0;
  std::string device;
  program::Program program;
};

class Store {
 public:
  // A new campaign in `folder`, which is created. A UsageError when one is there already.
  static Result<std::unique_ptr<Store>> Create(const std::string& folder,
                                               const CampaignRecord& record);
  // An existing campaign, to go on with. A UsageError when there is none.
  static Result<std::unique_ptr<Store>> Resume(const std::string& folder);
  // To look at; takes no lock, so a campaign may be running.
  static Result<std::unique_ptr<Store>> Read(const std::string& folder);
  ~Store();

  const CampaignRecord& record() const { return record_; }
  const std::string& folder() const { return folder_; }
  std::string FindingFolder(const std::string& id) const;

  // REQUIRES: result.seed. `pending`: a mismatch that will be judged.
  Status Record(const CaseResult& result, const RunOptions& run, bool pending);
  // What became of a pending mismatch; a new or better finding is saved, hits are counted.
  Status Settle(uint64_t seed, const std::string& device, const Judgement& judgement);
  Status LogEvent(const std::string& kind, int worker, const std::string& detail);
  // Another end for a resumed campaign.
  Status SetGoal(std::optional<uint64_t> programs, std::optional<double> duration);
  Status SetKnownBugs(const std::vector<report::KnownBug>& bugs);
  Status AddWarning(const std::string& warning);
  // "interrupted", "all programs done", ...; also the time and what was spent.
  Status SetEnd(const std::string& end);

  // Seconds that the campaign has run, earlier parts included.
  double Elapsed() const;
  Result<std::vector<uint64_t>> SeedsDone(const std::string& device);  // ascending
  Result<std::vector<PendingMismatch>> Pending();
  Result<std::vector<Finding>> Findings();
  Result<report::RunSummary> Summary();

 private:
  friend class Merger;
  struct Statements;
  struct YieldCount {
    int64_t programs = 0, mismatches = 0, findings = 0;
  };

  Store(std::string folder, std::unique_ptr<Database> database);
  static Result<std::unique_ptr<Store>> OpenExisting(const std::string& folder,
                                                     Database::Mode mode);
  Status TakeLock();
  Status LoadRecord();
  void SetMeta(const std::string& key, const nlohmann::json& value);
  nlohmann::json Meta(const std::string& key);
  void Begin();
  Status Commit();
  Status Finish();  // the first error since the last call, after which nothing is written
  void CountYield(const std::string& feature, const YieldCount& count);
  void SaveFinding(const Finding& finding, int64_t hits);

  std::string folder_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
  CampaignRecord record_;
  double elapsed_before_ = 0;
  double opened_ = 0;
  bool writing_ = false;  // a transaction is open
  bool failed_ = false;   // after an error nothing more is written
  std::map<std::pair<std::string, std::string>, YieldCount> yields_;  // not written yet
};

}  // namespace gradfuzz::store
