// SPDX-License-Identifier: BSD-3-Clause
// A child process with a channel, in a process group of its own, that never outlives us.
//
//  1. The child gets one end of a socket pair on a fixed file descriptor, /dev/null as its input,
//     and nothing else of ours. What it writes to stdout or stderr is drained all the time and the
//     last kStderrTail bytes are kept: stdout of gradfuzz is for results only.
//  2. The child leads its own process group and is a subreaper, so whatever it starts, a compiler
//     say, is found and killed with it.
//  3. The kernel kills the child when the *thread* that spawned it ends (PR_SET_PDEATHSIG): spawn
//     from a thread that outlives the child. The rest of the group is the guardian's business.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/fd.h"
#include "gradfuzz/support/guardian.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

inline constexpr size_t kStderrTail = 64 * 1024;

struct SpawnOptions {
  std::vector<std::string> argv;                         // argv[0] is a path, not searched for
  std::vector<std::pair<std::string, std::string>> env;  // added to ours, or replacing
  int channel_fd = 3;                                    // the child's end; > 2
};

struct ExitInfo {
  int code = 0;                // exit code; meaningless when `signal` is set
  int signal = 0;              // that ended it, 0 = none
  double cpu_seconds = 0;      // its own and of the children that it waited for
  int64_t peak_rss_bytes = 0;  // the largest of it and of those children

  // "ended with exit code 3", "was killed by SIGSEGV".
  std::string Text() const;
};

// "SIGSEGV"
std::string SignalName(int signal);

struct ProcessUsage {
  double cpu_seconds = 0;  // own and of waited-for children
  int64_t rss_bytes = 0;   // now
};

class Subprocess {
 public:
  // RETURNS: an EnvironmentError that names argv[0] when it cannot be started.
  // `guardian` may be null and must outlive the child.
  static Result<std::unique_ptr<Subprocess>> Spawn(const SpawnOptions& options, Guardian* guardian);
  ~Subprocess();  // Kill()
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  int channel() const { return channel_.get(); }

  // True while the child runs. NEVER blocks.
  bool Alive() const;

  // SIGKILL to the process group and to every descendant that left it; waits for the end.
  // Called again, RETURNS the same.
  ExitInfo Kill();

  // Closes the channel, which asks a well-behaved child to leave, and waits; Kill() at the end in
  // any case, for what the child left behind.
  ExitInfo Stop(const Deadline& deadline);

  // The last bytes that the child wrote to stderr or stdout; valid UTF-8 is not promised.
  std::string StderrTail() const;

  ProcessUsage Usage() const;

 private:
  Subprocess(pid_t pid, Fd channel, Fd output, Guardian* guardian);
  void Drain();

  pid_t pid_;
  Fd channel_;
  Fd output_;
  Fd stop_reading_, stop_writing_;  // a pipe: closing the writing end stops the drain thread
  Guardian* guardian_;
  mutable std::mutex mutex_;  // guards tail_
  std::string tail_;
  std::thread drain_;
  bool reaped_ = false;
  ExitInfo exit_;
};

// Every process that descends from `root`, which is not included. Best effort: processes come and
// go while /proc is read.
std::vector<pid_t> Descendants(pid_t root);

}  // namespace gradfuzz
