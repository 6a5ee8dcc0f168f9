// SPDX-License-Identifier: BSD-3-Clause
// The guardian: a tiny child that outlives us by one system call.
//
// PR_SET_PDEATHSIG makes the kernel kill a worker when gradfuzz dies, but not the worker's own
// children: a compiler that hangs would stay for ever. The guardian holds the reading end of a
// pipe; when gradfuzz ends in any way, SIGKILL included, the pipe closes and the guardian kills
// the process groups that it was told of, then ends.
#pragma once

#include <sys/types.h>

#include <memory>

#include "gradfuzz/support/fd.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

class Guardian {
 public:
  static Result<std::unique_ptr<Guardian>> Start();
  ~Guardian();  // ends the guardian; what it still watches is killed

  // From the moment that Watch returns the group dies with us. Thread-safe.
  void Watch(pid_t group);
  // REQUIRES: called before the leader of the group is reaped, as its number may be reused then.
  void Forget(pid_t group);

  pid_t pid() const { return pid_; }

 private:
  Guardian(Fd pipe, pid_t pid) : pipe_(std::move(pipe)), pid_(pid) {}
  void Send(int what, pid_t group);

  Fd pipe_;
  pid_t pid_;
};

}  // namespace gradfuzz
