// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/subprocess.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "gradfuzz/support/check.h"

extern char** environ;

namespace gradfuzz {
namespace {

// CLOSE_RANGE_CLOEXEC of <linux/close_range.h>, which older headers lack.
constexpr unsigned kCloseRangeCloexec = 1u << 2;

std::string ErrnoText(const char* what) { return std::string(what) + ": " + strerror(errno); }

// What the child must set up before exec, prepared in full by the parent: after fork in a process
// with threads only async-signal-safe calls are allowed, so no allocation.
struct ChildPlan {
  std::vector<char*> argv, envp;
  int channel, output, null, failure;  // sources, all close-on-exec and above channel_fd
  int channel_fd;
  pid_t parent;
};

[[noreturn]] void ChildMain(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the parent died before prctl could see it
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // dup2 leaves close-on-exec off.
  if (dup2(plan.null, 0) >= 0 && dup2(plan.output, 1) >= 0 && dup2(plan.output, 2) >= 0 &&
      dup2(plan.channel, plan.channel_fd) >= 0) {
    // What we inherited ourselves without the flag, a CI's pipe say, stays out as well.
    syscall(SYS_close_range, plan.channel_fd + 1, ~0U, kCloseRangeCloexec);
    if (plan.channel_fd > 3) {
      syscall(SYS_close_range, 3, plan.channel_fd - 1, kCloseRangeCloexec);
    }
    execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  }
  const int number = errno;
  [[maybe_unused]] const ssize_t sent = write(plan.failure, &number, sizeof number);
  _exit(127);
}

// A copy of `fd` that is out of the way of the child's fixed descriptors.
Fd MoveUp(Fd fd, int above) { return Fd(fcntl(fd.get(), F_DUPFD_CLOEXEC, above + 1)); }

std::vector<std::string> MergedEnvironment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(changes.begin(), changes.end(),
                                      [&](const auto& change) { return change.first == name; });
    if (!replaced) out.push_back(text);
  }
  for (const auto& [name, value] : changes) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

struct StatLine {
  pid_t parent = 0;
  char state = '?';
  double cpu_seconds = 0;
  int64_t rss_pages = 0;
};

// /proc/<pid>/stat: the command, in parentheses, may hold anything, so count from the last ')'.
std::optional<StatLine> ReadStat(const std::string& pid) {
  Fd fd(open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  char text[2048];
  const ssize_t got = read(fd.get(), text, sizeof text - 1);
  if (got <= 0) return std::nullopt;
  text[got] = '\0';
  const char* after = strrchr(text, ')');
  if (after == nullptr) return std::nullopt;
  StatLine line;
  long long utime = 0, stime = 0, cutime = 0, cstime = 0, rss = 0;
  const int fields = sscanf(after + 1,
                            " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d "
                            "%*d %*d %*d %*u %*u %lld",
                            &line.state, &line.parent, &utime, &stime, &cutime, &cstime, &rss);
  if (fields != 7) return std::nullopt;
  line.cpu_seconds = static_cast<double>(utime + stime + cutime + cstime) /
                     static_cast<double>(sysconf(_SC_CLK_TCK));
  line.rss_pages = rss;
  return line;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string ExitInfo::Text() const {
  if (signal != 0) return "was killed by " + SignalName(signal);
  return "ended with exit code " + std::to_string(code);
}

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<std::pair<pid_t, pid_t>> all;  // child, parent
  if (DIR* proc = opendir("/proc")) {
    while (const dirent* entry = readdir(proc)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      if (auto stat = ReadStat(entry->d_name)) {
        all.emplace_back(static_cast<pid_t>(atol(entry->d_name)), stat->parent);
      }
    }
    closedir(proc);
  }
  std::vector<pid_t> found = {root};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [child, parent] : all) {
      if (parent == found[i]) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

Result<std::unique_ptr<Subprocess>> Subprocess::Spawn(const SpawnOptions& options,
                                                      Guardian* guardian) {
  GF_CHECK(!options.argv.empty() && options.channel_fd > 2, "spawn options");
  const int above = std::max(options.channel_fd, 9);
  int pair[2], output[2], failure[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return EnvironmentError(ErrnoText("cannot make a socket pair"));
  }
  Fd channel(pair[0]), child_channel = MoveUp(Fd(pair[1]), above);
  if (pipe2(output, O_CLOEXEC) != 0) return EnvironmentError(ErrnoText("cannot make a pipe"));
  Fd output_reading(output[0]), child_output = MoveUp(Fd(output[1]), above);
  if (pipe2(failure, O_CLOEXEC) != 0) return EnvironmentError(ErrnoText("cannot make a pipe"));
  Fd failure_reading(failure[0]), child_failure = MoveUp(Fd(failure[1]), above);
  Fd null = MoveUp(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)), above);
  if (!child_channel.valid() || !child_output.valid() || !child_failure.valid() || !null.valid()) {
    return EnvironmentError(ErrnoText("cannot open files for a child process"));
  }

  const std::vector<std::string> environment = MergedEnvironment(options.env);
  ChildPlan plan;
  plan.argv = Pointers(options.argv);
  plan.envp = Pointers(environment);
  plan.channel = child_channel.get();
  plan.output = child_output.get();
  plan.null = null.get();
  plan.failure = child_failure.get();
  plan.channel_fd = options.channel_fd;
  plan.parent = getpid();

  const pid_t pid = fork();
  if (pid < 0) return EnvironmentError(ErrnoText("cannot start a process"));
  if (pid == 0) ChildMain(plan);
  setpgid(pid, pid);  // both sides do it: whoever is first, the group exists from here on
  if (guardian != nullptr) guardian->Watch(pid);
  child_channel.Reset();
  child_output.Reset();
  child_failure.Reset();

  int number = 0;
  ssize_t got;
  do {
    got = read(failure_reading.get(), &number, sizeof number);
  } while (got < 0 && errno == EINTR);
  std::unique_ptr<Subprocess> process(
      new Subprocess(pid, std::move(channel), std::move(output_reading), guardian));
  if (got > 0) {
    return EnvironmentError("cannot start " + options.argv[0] + ": " + strerror(number));
  }
  return process;
}

Subprocess::Subprocess(pid_t pid, Fd channel, Fd output, Guardian* guardian)
    : pid_(pid), channel_(std::move(channel)), output_(std::move(output)), guardian_(guardian) {
  int stop[2];
  GF_CHECK(pipe2(stop, O_CLOEXEC) == 0, "no pipe for the drain thread");
  stop_reading_ = Fd(stop[0]);
  stop_writing_ = Fd(stop[1]);
  drain_ = std::thread([this] { Drain(); });
}

Subprocess::~Subprocess() { Kill(); }

void Subprocess::Drain() {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  bool stopping = false;
  for (;;) {
    pollfd entries[2] = {{output_.get(), POLLIN, 0}, {stop_reading_.get(), POLLIN, 0}};
    const int ready = poll(entries, stopping ? 1 : 2, stopping ? 0 : -1);
    if (ready < 0 && errno != EINTR) return;
    // Once told to stop, take what is there and go: an escaped grandchild may hold the pipe open.
    if (ready == 0 && stopping) return;
    if (!stopping && entries[1].revents != 0) stopping = true;
    if (entries[0].revents == 0) continue;
    char chunk[16 * 1024];
    const ssize_t got = read(output_.get(), chunk, sizeof chunk);
    if (got == 0) return;
    if (got < 0) {
      if (errno == EINTR) continue;
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    tail_.append(chunk, static_cast<size_t>(got));
    // Trim in large steps, so that endless output costs a copy only now and then.
    if (tail_.size() > 2 * kStderrTail) tail_.erase(0, tail_.size() - kStderrTail);
  }
}

std::string Subprocess::StderrTail() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tail_.size() > kStderrTail ? tail_.substr(tail_.size() - kStderrTail) : tail_;
}

bool Subprocess::Alive() const {
  if (reaped_) return false;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  return info.si_pid == 0;
}

ProcessUsage Subprocess::Usage() const {
  if (reaped_) return {exit_.cpu_seconds, 0};
  const auto stat = ReadStat(std::to_string(pid_));
  if (!stat) return {};
  return {stat->cpu_seconds, stat->rss_pages * sysconf(_SC_PAGESIZE)};
}

ExitInfo Subprocess::Kill() {
  if (reaped_) return exit_;
  // Stop the leader before looking, so that nothing is started behind our back; while it is not
  // reaped its number, and so the group's, cannot be reused.
  if (Alive()) kill(pid_, SIGSTOP);
  const std::vector<pid_t> descendants = Descendants(pid_);
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  for (pid_t descendant : descendants) kill(descendant, SIGKILL);
  if (guardian_ != nullptr) guardian_->Forget(pid_);

  int status = 0;
  rusage usage{};
  pid_t got;
  do {
    got = wait4(pid_, &status, 0, &usage);
  } while (got < 0 && errno == EINTR);
  reaped_ = true;
  if (got == pid_) {
    exit_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit_.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
    exit_.peak_rss_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  }
  stop_writing_.Reset();
  drain_.join();
  return exit_;
}

ExitInfo Subprocess::Stop(const Deadline& deadline) {
  if (!reaped_) {
    channel_.Reset();
    while (Alive() && !deadline.Passed()) {
      const timespec pause{0, 5'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  return Kill();
}

}  // namespace gradfuzz
