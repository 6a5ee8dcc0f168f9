// SPDX-License-Identifier: BSD-3-Clause
// WorkerPool: runs programs on N worker processes and survives whatever happens to them.
//
//  1. Every item gets a result, whatever workers do. A batch that a worker was lost on is run
//     again one item at a time, and an item is blamed only for the loss of a worker that ran
//     nothing else before it.
//  2. Results do not depend on the number of workers, only their order of completion does.
//  3. A worker is replaced after `recycle_after` programs or above `rss_limit` bytes.
//  4. Thread-safe; Run, Ask and Stream may be used side by side: Run and Ask go first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gradfuzz/campaign/worker.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/support/file.h"

namespace gradfuzz::campaign {

// Something that happened to a worker and that a log should say.
struct PoolEvent {
  enum class Kind : uint8_t { kStarted, kLost, kBlamed, kRecycled, kStartFailed };
  Kind kind = Kind::kStarted;
  int worker = 0;
  std::string detail;  // one line
};
const char* Name(PoolEvent::Kind kind);  // "lost"

struct PoolOptions {
  WorkerOptions worker;
  int workers = 1;
  int batch = 8;             // items sent at a time, at most
  int recycle_after = 1000;  // programs; a restart costs about 2 s
  int64_t rss_limit = int64_t{4} << 30;
  std::string temp_folder;                         // of the run's own folder; empty = TempFolder()
  std::function<bool()> interrupted;               // asked often, from any thread
  std::function<void(const PoolEvent&)> on_event;  // called from any thread; may be null
};

struct Batch {
  std::vector<WorkItem> items;
  GenerateOptions generate;
  RunOptions run;
};

// Who wants a long series of programs run.
class StreamClient {
 public:
  enum class Next : uint8_t { kBatch, kLater, kEnd };

  virtual ~StreamClient() = default;
  // Fills *batch. Called by worker threads, one at a time. `idle`: seconds that the asking worker
  // has had nothing to do. Must be quick. Here, and
  // wherever a lock is held that this takes, only Interrupted and HasFailed of the pool may be
  // used.
  virtual Next Pull(Batch* batch, double idle) = 0;
  // One result, in order of completion; from the thread that called Stream. An item that was not
  // run because of an interrupt or a failure of the pool has none.
  virtual void OnResult(const RunOptions& run, CaseResult result) = 0;
  // A few times a second while the stream lasts; same thread.
  virtual void OnTick() = 0;
};

class WorkerPool : public ProgramRunner {
 public:
  // Starts one worker; the others start when there is work for them.
  // RETURNS: an EnvironmentError when it does not become ready, with the worker's own words.
  static Result<std::unique_ptr<WorkerPool>> Create(PoolOptions options);
  ~WorkerPool() override;  // ends the workers and removes the run's folder

  std::vector<CaseResult> Run(const std::vector<WorkItem>& items, const GenerateOptions& generate,
                              const RunOptions& run) override;
  int Parallelism() const override { return options_.workers; }
  Result<nlohmann::json> Ask(const nlohmann::json& request) override;
  bool Interrupted() const override;

  // Pulls batches until the client says kEnd, an interrupt or a failure; returns when every batch
  // that was pulled is settled. One stream at a time.
  void Stream(StreamClient* client);

  // What the first worker said of itself: torch, devices, rungs, knobs.
  const nlohmann::json& description() const { return description_; }

  // The largest worker since the last call, in bytes; 0 when nobody ran.
  int64_t TakePeakRss() { return peak_rss_.exchange(0); }

  // Set when workers cannot be started any more, or refuse what they are asked: nothing can run.
  std::optional<Error> Failure() const;
  // Whether there is a failure; takes no lock.
  bool HasFailed() const { return has_failed_; }

 private:
  struct Job;
  struct Slot;

  explicit WorkerPool(PoolOptions options);
  Status Open();
  void SlotMain(Slot* slot, bool first);
  std::unique_ptr<Job> NextJob();
  void Execute(Slot* slot, Job* job);
  void ExecuteItems(Slot* slot, Job* job);
  void ExecuteAsk(Slot* slot, Job* job);
  Result<Worker*> EnsureWorker(Slot* slot, std::unique_ptr<Worker>* place);
  CaseResult Blame(Slot* slot, std::unique_ptr<Worker>* place, const Job& job, const WorkItem& item,
                   const Loss& loss);
  void Fail(Error error);
  void Event(PoolEvent::Kind kind, const Slot& slot, std::string detail) const;
  bool Stopping() const;

  PoolOptions options_;
  std::string folder_;  // of this run: one sub-folder per worker
  std::unique_ptr<FileLock> folder_lock_;
  std::unique_ptr<Guardian> guardian_;
  nlohmann::json description_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<int64_t> peak_rss_{0};
  std::atomic<int> generation_{0};  // numbers cache folders

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable work_, settled_;
  std::deque<std::unique_ptr<Job>> jobs_;
  StreamClient* stream_ = nullptr;  // null once it said kEnd
  int stream_jobs_ = 0;             // pulled and not settled
  std::deque<std::pair<RunOptions, CaseResult>> stream_results_;
  std::optional<Error> failure_;
  std::optional<Status> opened_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace gradfuzz::campaign
