// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "gradfuzz/support/frame.h"

namespace gradfuzz {
namespace {

SpawnOptions Shell(const std::string& script) {
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", script};
  return options;
}

// True when the process is gone (a zombie counts as gone) within a few seconds.
bool Gone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (kill(pid, 0) != 0) return true;
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[512] = {};
    if (!fd.valid() || read(fd.get(), text, sizeof text - 1) <= 0) return true;
    const char* after = strrchr(text, ')');
    if (after != nullptr && after[2] == 'Z') return true;
    usleep(10'000);
  }
  return false;
}

// Reads one JSON number that the child wrote with `frame`.
std::string FrameOf(const char* expression) {
  // The length of a number below 10^7 fits one byte: pad to seven digits.
  return std::string("printf '\\007\\000\\000\\000%7d' ") + expression + " >&3;";
}

TEST(Subprocess, TalksOverTheChannel) {
  auto child = Subprocess::Spawn(Shell("exec cat <&3 >&3"), nullptr);
  ASSERT_TRUE(child.ok()) << child.error().message;
  ASSERT_TRUE(WriteFrame((*child)->channel(), "hello").ok());
  FrameReader reader((*child)->channel());
  EXPECT_EQ(reader.Read(Deadline::After(10)).frame, "hello");
  EXPECT_TRUE((*child)->Alive());
}

TEST(Subprocess, ExitCodeAndSignal) {
  auto child = Subprocess::Spawn(Shell("exit 7"), nullptr);
  ASSERT_TRUE(child.ok());
  ExitInfo info = (*child)->Stop(Deadline::After(10));
  EXPECT_EQ(info.code, 7);
  EXPECT_EQ(info.signal, 0);
  EXPECT_EQ(info.Text(), "ended with exit code 7");
  EXPECT_FALSE((*child)->Alive());

  auto crash = Subprocess::Spawn(Shell("kill -SEGV $$; sleep 10"), nullptr);
  ASSERT_TRUE(crash.ok());
  info = (*crash)->Stop(Deadline::After(10));
  EXPECT_EQ(info.signal, SIGSEGV);
  EXPECT_EQ(info.Text(), "was killed by SIGSEGV");
  EXPECT_EQ((*crash)->Kill().signal, SIGSEGV);
}

TEST(Subprocess, MissingProgramIsNamed) {
  SpawnOptions options;
  options.argv = {"/no/such/program"};
  const auto child = Subprocess::Spawn(options, nullptr);
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(child.error().message, "cannot start /no/such/program: No such file or directory");
}

TEST(Subprocess, OutputIsDrainedAndItsTailKept) {
  // Far more than a pipe holds: an undrained child would block for ever.
  auto child = Subprocess::Spawn(
      Shell("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); "
            "printf '%0999d\\n' $i >&2; done; echo to stdout; echo last words >&2"),
      nullptr);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ((*child)->Stop(Deadline::After(60)).code, 0);
  const std::string tail = (*child)->StderrTail();
  EXPECT_EQ(tail.size(), kStderrTail);
  EXPECT_TRUE(tail.ends_with("to stdout\nlast words\n"));
}

TEST(Subprocess, EnvironmentIsAddedAndReplaced) {
  setenv("GRADFUZZ_TEST_KEPT", "kept", 1);
  setenv("GRADFUZZ_TEST_REPLACED", "old", 1);
  SpawnOptions options =
      Shell("echo $GRADFUZZ_TEST_KEPT $GRADFUZZ_TEST_REPLACED $GRADFUZZ_TEST_ADDED");
  options.env = {{"GRADFUZZ_TEST_REPLACED", "new"}, {"GRADFUZZ_TEST_ADDED", "added"}};
  auto child = Subprocess::Spawn(options, nullptr);
  ASSERT_TRUE(child.ok());
  (*child)->Stop(Deadline::After(10));
  EXPECT_EQ((*child)->StderrTail(), "kept new added\n");
}

TEST(Subprocess, InheritsNothingButTheChannel) {
  // Opened as everything in gradfuzz is; the child's own copies for its set-up must go too.
  const Fd ours(open("/dev/null", O_WRONLY | O_CLOEXEC));
  SpawnOptions options;
  options.argv = {"/bin/ls", "-l", "/proc/self/fd"};
  auto child = Subprocess::Spawn(options, nullptr);
  ASSERT_TRUE(child.ok());
  (*child)->Stop(Deadline::After(10));
  const std::string list = (*child)->StderrTail();
  auto count = [&](const std::string& word) {
    int n = 0;
    for (size_t at = list.find(word); at != std::string::npos; at = list.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("-> socket:"), 1) << list;
  EXPECT_EQ(count("-> pipe:"), 2) << list;      // stdout and stderr
  EXPECT_EQ(count("-> /dev/null"), 1) << list;  // stdin
}

TEST(Subprocess, KillTakesChildrenAndEscapedGrandchildren) {
  // One child in the group, one grandchild in a session of its own.
  auto child = Subprocess::Spawn(
      Shell("sleep 1000 & " + FrameOf("$!") + " setsid sleep 1001 & " + FrameOf("$!") + " wait"),
      nullptr);
  ASSERT_TRUE(child.ok());
  FrameReader reader((*child)->channel());
  const FrameRead first = reader.Read(Deadline::After(10));
  const FrameRead second = reader.Read(Deadline::After(10));
  ASSERT_EQ(first.status, FrameStatus::kFrame) << first.error;
  ASSERT_EQ(second.status, FrameStatus::kFrame) << second.error;
  usleep(50'000);  // let setsid(1) exec
  const auto found = Descendants((*child)->pid());
  EXPECT_TRUE(std::find(found.begin(), found.end(), first.frame.get<int>()) != found.end());
  EXPECT_EQ((*child)->Kill().signal, SIGKILL);
  EXPECT_TRUE(Gone(first.frame.get<int>()));
  EXPECT_TRUE(Gone(second.frame.get<int>()));
}

TEST(Subprocess, WhatADeadLeaderLeftBehindIsKilled) {
  auto child = Subprocess::Spawn(Shell("sleep 1000 & " + FrameOf("$!") + " exit 3"), nullptr);
  ASSERT_TRUE(child.ok());
  FrameReader reader((*child)->channel());
  const FrameRead left = reader.Read(Deadline::After(10));
  ASSERT_EQ(left.status, FrameStatus::kFrame);
  EXPECT_EQ((*child)->Stop(Deadline::After(10)).code, 3);
  EXPECT_TRUE(Gone(left.frame.get<int>()));
}

TEST(Subprocess, CpuAndMemoryAreMeasuredWithChildren) {
  auto child = Subprocess::Spawn(
      Shell("(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); echo done >&3; read x <&3"),
      nullptr);
  ASSERT_TRUE(child.ok());
  char text[8];
  ASSERT_GT(read((*child)->channel(), text, sizeof text), 0);
  const ProcessUsage usage = (*child)->Usage();
  EXPECT_GT(usage.cpu_seconds, 0.01);
  EXPECT_GT(usage.rss_bytes, 100'000);
  const ExitInfo info = (*child)->Stop(Deadline::After(10));
  EXPECT_GT(info.cpu_seconds, 0.01);
  EXPECT_GT(info.peak_rss_bytes, 100'000);
}

// A process that spawns a child with a hanging grandchild, then dies of SIGKILL.
TEST(Guardian, NothingSurvivesSigkillOfTheParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    close(ends[0]);
    auto guardian = Guardian::Start();
    auto child =
        Subprocess::Spawn(Shell("sleep 1000 & " + FrameOf("$!") + " wait"), guardian->get());
    FrameReader reader((*child)->channel());
    const FrameRead read = reader.Read(Deadline::After(10));
    const int pids[3] = {(*guardian)->pid(), (*child)->pid(), read.frame.get<int>()};
    if (write(ends[1], pids, sizeof pids) != sizeof pids) _exit(1);
    pause();
    _exit(1);
  }
  close(ends[1]);
  int pids[3];
  ASSERT_EQ(read(ends[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  close(ends[0]);
  EXPECT_EQ(kill(pids[2], 0), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (int pid : pids) EXPECT_TRUE(Gone(pid)) << pid;
}

TEST(Guardian, EndsWithItsOwnerAndForgetsWhatItIsToldToForget) {
  auto guardian = Guardian::Start();
  ASSERT_TRUE(guardian.ok());
  const pid_t pid = (*guardian)->pid();
  auto kept = Subprocess::Spawn(Shell("sleep 1000"), nullptr);
  auto watched = Subprocess::Spawn(Shell("sleep 1000"), nullptr);
  ASSERT_TRUE(kept.ok() && watched.ok());
  (*guardian)->Watch((*kept)->pid());
  (*guardian)->Watch((*watched)->pid());
  (*guardian)->Forget((*kept)->pid());
  guardian->reset();
  EXPECT_TRUE(Gone(pid));
  EXPECT_TRUE(Gone((*watched)->pid()));
  EXPECT_TRUE((*kept)->Alive());
}

}  // namespace
}  // namespace gradfuzz
