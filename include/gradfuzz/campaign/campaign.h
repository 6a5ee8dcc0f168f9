// SPDX-License-Identifier: BSD-3-Clause
// A campaign: seeds into programs, programs into outcomes, outcomes into the store, mismatches to
// the sink, findings into folders.
//
//  1. Every outcome is recorded before anything else is done with it.
//  2. The sink works in a thread of its own on the same workers; when more than `max_waiting`
//     mismatches wait for it, no new programs are begun. What it recognises as one more hit of a
//     finding goes first: that costs moments where a reduction costs a minute.
//  3. An interrupt, a full disk or a lost environment ends the campaign with everything recorded;
//     what was not judged is judged on resume.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/campaign/pool.h"
#include "gradfuzz/campaign/progress.h"
#include "gradfuzz/campaign/seed_plan.h"
#include "gradfuzz/message/sink.h"
#include "gradfuzz/store/store.h"

namespace gradfuzz::campaign {

// Events of the pool on their way to the store. Thread-safe.
class EventQueue {
 public:
  void Push(const PoolEvent& event);
  std::vector<PoolEvent> Take();

 private:
  std::mutex mutex_;
  std::vector<PoolEvent> events_;
};

struct CampaignOptions {
  uint64_t first_seed = 0;
  std::optional<uint64_t> programs;  // seeds, over all shards
  std::optional<double> duration;    // seconds, earlier parts included
  Shard shard;
  std::vector<std::string> devices = {"cpu"};
  GenerateOptions generate;
  RunOptions run;  // the device is set from `devices`
  int batch = 8;
  int max_waiting = 32;
  bool judge = true;  // false: mismatches stay in the store for a later part to judge
};

struct CampaignEnd {
  std::string how;  // "all programs done", "time is up", "interrupted", ...
  bool interrupted = false;
  std::optional<Error> error;  // of the environment; everything recorded is safe
};

// True for what the sink is to see: a wrong rung above eager, and a program to show for it.
bool IsMismatch(const CaseResult& result);

class Campaign : private StreamClient {
 public:
  // All must outlive the campaign. `events` and `progress` may be null.
  Campaign(CampaignOptions options, WorkerPool* pool, store::Store* store, FindingSink* sink,
           EventQueue* events, Progress* progress);
  ~Campaign() override;

  CampaignEnd Run();

 private:
  struct Waiting {
    uint64_t seed = 0;
    RunOptions run;
    CaseResult mismatch;
    bool again = false;  // from an earlier part: to be run before it is judged
  };
  struct Judged {
    uint64_t seed = 0;
    std::string device;
    Judgement judgement;
  };
  class Runner;  // the pool as the sink sees it

  Next Pull(Batch* batch, double idle) override;
  void OnResult(const RunOptions& run, CaseResult result) override;
  void OnTick() override;

  Status Prepare();
  size_t BatchSize() const;
  void SinkMain();
  static std::string KindOf(const Waiting& waiting);
  // REQUIRES: something waits; mutex_ is held.
  std::deque<Waiting>::iterator NextToJudge();
  Judgement JudgeOne(Waiting waiting);
  void TakeJudgements();
  void ShowProgress();
  void Fail(Error error);
  bool Failed() const { return failed_.load(); }
  size_t WaitingCount();

  CampaignOptions options_;
  WorkerPool* pool_;
  store::Store* store_;
  FindingSink* sink_;
  EventQueue* events_;
  Progress* progress_;

  std::optional<SeedPlan> plan_;  // used by worker threads, one at a time (StreamClient)
  int batches_ = 0;               // as plan_
  uint64_t handed_out_ = 0;       // as plan_: programs, those of an earlier run included
  std::atomic<bool> time_is_up_{false};
  bool began_late_ = false;  // main thread only: this part began when the time was up already
  std::atomic<double> judge_until_{std::numeric_limits<double>::infinity()};  // MonotonicSeconds
  std::atomic<bool> failed_{false};
  std::optional<Error> error_;                     // main thread only
  ProgressState state_;                            // main thread only
  std::deque<std::pair<double, int64_t>> recent_;  // time and programs, for the rate
  double next_memory_ = 0;

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  std::map<std::string, int> judged_kinds_;  // how many of each kind were taken to be judged
  bool judging_ = false;
  bool no_more_ = false;
  std::vector<Judged> judged_;
};

}  // namespace gradfuzz::campaign
