// SPDX-License-Identifier: BSD-3-Clause
// One worker process and its protocol, seen from the parent.
//
// Knows how to start a worker, ask it things and notice that it is lost; what to do about a loss
// is the pool's business. Command line of a worker:
//   <path> [arguments...] --fd 3 --cache-dir D --machine-cache M
// D is its own, empty at the start and removed at the end: caches of programs and temporary files.
// M is kept between runs and shared by all workers of this user: caches of facts about the machine.
// The first frame of a worker is {"type": "ready", ...} with what `describe` answers, or
// {"type": "error", "kind": "environment", "message": "..."}.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/message/request.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/support/frame.h"
#include "gradfuzz/support/subprocess.h"

namespace gradfuzz::campaign {

struct WorkerOptions {
  std::string path;
  std::vector<std::string> arguments;  // before the standard ones
  std::string machine_cache;           // M
  int threads = 1;                     // intra-op threads of torch, the same for every worker
  // Seconds. An import of torch from a cold disk can take half a minute; the first compile of a
  // fresh worker may build precompiled headers (8 to 60 s measured), so it gets twice the time.
  double start_deadline = 180;
  double item_deadline = 120;
  double first_item_deadline = 240;
  double ask_deadline = 300;
  // Bytes of resident memory above which a worker is killed in the middle of its work; 0 = none.
  // Not an rlimit: torch and CUDA reserve far more addresses than they use.
  int64_t memory_limit = 0;
};

// How a worker was lost.
struct Loss {
  Verdict verdict = Verdict::kCrash;  // or kTimeout
  size_t item = 0;                    // the item that it worked on, as far as it said
  std::string phase;                  // what it was doing, from its last `begin`; may be empty
  std::optional<program::Program> program;  // when the last `begin` carried it
  std::string how;           // "was killed by SIGSEGV", "did not answer within 120 s"
  bool by_outsider = false;  // SIGKILL that was not ours
  std::string output;        // the last lines that it wrote to stderr
};

struct BatchEnd {
  enum class Kind : uint8_t {
    kDone,         // every item has its result
    kRetired,      // the worker asked to be replaced; items without a result are still to be run
    kLost,         // `loss` says how; items without a result are still to be run
    kRefused,      // the worker answered with an error: `error`
    kInterrupted,  // the caller asked to stop
  };
  Kind kind = Kind::kDone;
  Loss loss;
  Error error;
};

class Worker {
 public:
  // Starts a worker and waits until it is ready. Creates `cache_dir`.
  // REQUIRES: the calling thread outlives the worker (support/subprocess.h).
  static Result<std::unique_ptr<Worker>> Start(const WorkerOptions& options, int index,
                                               const std::string& cache_dir, Guardian* guardian,
                                               const std::function<bool()>& interrupted);
  ~Worker();  // ends the process and removes the cache folder

  using OnResult = std::function<void(size_t item, CaseResult result)>;
  // Runs `request`; `on_result` is called once per answered item, from this thread. After anything
  // but kDone the worker is of no more use: destroy it.
  BatchEnd Evaluate(const EvaluateRequest& request, const OnResult& on_result,
                    const std::function<bool()>& interrupted);

  // One question, one answer. Sets *lost when there was none because the worker is gone.
  Result<nlohmann::json> Ask(const nlohmann::json& request,
                             const std::function<bool()>& interrupted, bool* lost);

  bool Alive() const { return process_->Alive(); }
  int64_t RssBytes() const { return process_->Usage().rss_bytes; }
  // Requests answered so far that may leave something behind: a worker that ran nothing cannot be
  // spoilt by what it ran.
  int requests() const { return requests_; }
  int programs() const { return programs_; }
  pid_t pid() const { return process_->pid(); }
  const nlohmann::json& description() const { return description_; }

 private:
  Worker(const WorkerOptions& options, int index, std::string cache_dir,
         std::unique_ptr<Subprocess> process);
  FrameRead ReadUntil(const Deadline& deadline, const std::function<bool()>& interrupted,
                      bool* stopped);
  Loss Lose(const FrameRead& read, double allowed);
  double ItemSeconds(const EvaluateRequest& request, size_t answered) const;

  WorkerOptions options_;
  int index_;
  std::string cache_dir_;
  std::unique_ptr<Subprocess> process_;
  FrameReader reader_;
  nlohmann::json description_;
  int requests_ = 0;
  int programs_ = 0;
  bool busy_ = false;         // was left while it worked
  bool over_memory_ = false;  // exceeded memory_limit
};

}  // namespace gradfuzz::campaign
