// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

namespace gradfuzz {
namespace {

enum : int { kWatch = 1, kForget = 2 };
struct Message {
  int what;
  int group;
};
static_assert(sizeof(Message) <= 512, "a write of this size to a pipe is atomic (POSIX PIPE_BUF)");

// One worker per core twice over, on the largest machine.
constexpr int kMaxGroups = 4096;

void CloseAllBut(int keep) {
  // The second half reaches beyond any limit, the first must stop short of `keep`.
  if (syscall(SYS_close_range, keep + 1, ~0U, 0) == 0 &&
      (keep == 0 || syscall(SYS_close_range, 0, keep - 1, 0) == 0)) {
    return;
  }
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int fd = 0; fd < (limit > 0 ? limit : 65536); ++fd) {
    if (fd != keep) close(fd);
  }
}

// Runs in the child of a possibly multi-threaded process: async-signal-safe calls only.
[[noreturn]] void GuardianMain(int pipe) {
  setsid();  // not in the terminal's foreground group, so Ctrl-C does not end it first
  prctl(PR_SET_NAME, "gf-guardian");
  CloseAllBut(pipe);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  static int groups[kMaxGroups];
  int count = 0;
  for (;;) {
    Message message{};
    const ssize_t got = read(pipe, &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof message)) break;  // closed: gradfuzz is gone
    if (message.what == kWatch && count < kMaxGroups) {
      groups[count++] = message.group;
    } else if (message.what == kForget) {
      for (int i = 0; i < count; ++i) {
        if (groups[i] == message.group) groups[i--] = groups[--count];
      }
    }
  }
  for (int i = 0; i < count; ++i) kill(-groups[i], SIGKILL);
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<Guardian>> Guardian::Start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  Fd reading(ends[0]), writing(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) {
    return EnvironmentError(std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (pid == 0) GuardianMain(reading.get());
  return std::unique_ptr<Guardian>(new Guardian(std::move(writing), pid));
}

Guardian::~Guardian() {
  pipe_.Reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::Watch(pid_t group) { Send(kWatch, group); }
void Guardian::Forget(pid_t group) { Send(kForget, group); }

void Guardian::Send(int what, pid_t group) {
  const Message message{what, group};
  // A guardian that somebody killed must not take gradfuzz with it.
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ssize_t sent;
  do {
    sent = write(pipe_.get(), &message, sizeof message);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EPIPE) {
    const timespec now{0, 0};
    sigtimedwait(&pipe_signal, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace gradfuzz
