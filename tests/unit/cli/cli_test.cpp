// SPDX-License-Identifier: BSD-3-Clause
// The built program against the fake worker: what it prints where, exit codes, files on disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/store/store.h"
#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int code = -1;
  std::string out, err;
};

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = *MakeTempFolder(TempFolder(), "gradfuzz-cli-test-");
    for (const char* sub : {"/temp", "/once", "/scratch"}) {
      ASSERT_TRUE(MakeWritableFolder(base_ + sub).ok());
    }
  }
  void TearDown() override { RemoveTree(base_); }

  std::string Fake(const std::string& plan) const {
    return "--log " + base_ + "/log --once " + base_ + "/once --pid-file " + base_ + "/pids" +
           (plan.empty() ? "" : " --plan " + plan);
  }

  // Starts the program in the folder "work"; its output goes to files.
  pid_t Start(const std::vector<std::string>& words, const std::string& fake,
              rlim_t file_limit = RLIM_INFINITY) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    for (const auto& [file, fd] : {std::pair("/out.txt", 1), std::pair("/err.txt", 2)}) {
      const int to = open((base_ + file).c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
      dup2(to, fd);
    }
    if (chdir((base_ + "/scratch").c_str()) != 0) _exit(99);
    setenv("FAKE_WORKER", fake.c_str(), 1);
    setenv("GRADFUZZ_WORKER", (std::string(GRADFUZZ_BIN_DIR) + "/fake_worker").c_str(), 0);
    setenv("XDG_CACHE_HOME", (base_ + "/cache").c_str(), 1);
    setenv("TMPDIR", (base_ + "/temp").c_str(), 1);
    if (file_limit != RLIM_INFINITY) {
      const rlimit limit{file_limit, file_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<std::string> all = {std::string(GRADFUZZ_BIN_DIR) + "/gradfuzz"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(98);
  }
  Outcome Finish(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    outcome.out = *ReadFile(base_ + "/out.txt");
    outcome.err = *ReadFile(base_ + "/err.txt");
    return outcome;
  }
  Outcome Run(const std::vector<std::string>& words, const std::string& plan = "") {
    return Finish(Start(words, Fake(plan)));
  }
  void ExpectUsage(const std::vector<std::string>& words, const std::string& sentence,
                   int code = kExitUsage) {
    const Outcome o = Run(words);
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_THAT(o.err, HasSubstr(sentence));
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(std::filesystem::is_empty(base_ + "/scratch"));
  }
  std::vector<uint64_t> Asked() {
    std::ifstream file(base_ + "/log");
    std::vector<uint64_t> seeds;
    for (std::string line; std::getline(file, line);) seeds.push_back(std::stoull(line));
    return seeds;
  }
  // No worker of this test is alive (a worker's command line names our folders).
  bool NobodyLeft() {
    for (int i = 0; i < 300; ++i) {
      bool left = false;
      for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream file(entry.path() / "cmdline");
        std::string text((std::istreambuf_iterator<char>(file)), {});
        left |=
            text.find("/fake_worker") != std::string::npos && text.find(base_) != std::string::npos;
      }
      if (!left) return true;
      usleep(20'000);
    }
    return false;
  }

  std::string base_;
};

TEST_F(CliTest, HelpAndVersion) {
  for (const char* word : {"--help", "help", "-h"}) {
    const Outcome o = Run({word});
    EXPECT_EQ(o.code, 0);
    for (const Command& command : Commands()) EXPECT_THAT(o.out, HasSubstr(command.name));
  }
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("gradfuzz 0."));
  for (const Command& command : Commands()) {
    const Outcome o = Run({command.name, "--help"});
    EXPECT_EQ(o.code, 0) << command.name;
    EXPECT_THAT(o.out, HasSubstr("--help")) << command.name;
    EXPECT_EQ(o.err, "");
  }
}

TEST_F(CliTest, BadInputIsOneSentenceAndLeavesNothing) {
  ExpectUsage({"frobnicate"}, "there is no command 'frobnicate'");
  ExpectUsage({"--seed", "7", "--device", "tpu"}, "unknown device 'tpu'");
  ExpectUsage({"--seed", "seven"}, "'seven' is no whole number from 0 to 9223372036854775807");
  ExpectUsage({"--programs", "0"}, "'0' is no whole number from 1 to");
  ExpectUsage({"--seed", "1", "--deadline", "-3"}, "'-3' is no number above 0");
  ExpectUsage({"--seed", "-1"}, "--seed");
  ExpectUsage({"--seed", "9223372036854775808"},
              "is no whole number from 0 to 9223372036854775807");
  ExpectUsage({"--seed", "9223372036854775800", "--programs", "100"}, "seeds go up to");
  ExpectUsage({"--programs", "0"}, "--programs");
  ExpectUsage({"--duration", "soon"}, "'soon' is no duration");
  ExpectUsage({"--shard", "4/4", "--programs", "3"}, "there is no shard 4/4");
  ExpectUsage({"--weight", "op.sum", "--seed", "1"}, "a weight is NAME=FACTOR");
  ExpectUsage({"--seed", "1", "--knob", "x"}, "a knob is NAME=VALUE");
  ExpectUsage({"--seed", "1", "--rungs", "outductor"}, "unknown rung 'outductor'");
  ExpectUsage({"--seed", "1", "--workers", "0"}, "--workers");
  ExpectUsage({"--fail-on", "mondays", "--programs", "1"}, "mondays");
  ExpectUsage({"--no-such-option"}, "--no-such-option");
  ExpectUsage({"--resume", base_ + "/none"}, base_ + "/none holds no campaign");
  ExpectUsage({"--resume", base_ + "/none", "--seed", "3"}, "--seed");
  ExpectUsage({"replay", "none.py"}, "there is no file none.py");
  ExpectUsage({"reduce", "none.py"}, "there is no file none.py");
  ExpectUsage({"replay"}, "files");
  ExpectUsage({"report", base_ + "/none"}, "holds no campaign");
  ExpectUsage({"merge", base_ + "/none", "--into", base_ + "/into"}, "holds no campaign");
}

TEST_F(CliTest, WhatTheMachineLacksIsExitThree) {
  ExpectUsage({"--seed", "7", "--device", "cuda"}, "sees no device 'cuda'", kExitEnvironment);
  ExpectUsage({"--seed", "7", "--worker", "/no/worker"}, "there is no worker at /no/worker",
              kExitEnvironment);
  ASSERT_TRUE(WriteFileAtomic(base_ + "/file", "").ok());
  ExpectUsage({"--programs", "3", "--out", base_ + "/file/out"},
              "cannot create folder " + base_ + "/file/out: Not a directory", kExitEnvironment);
  Outcome o = Finish(Start({"--seed", "7"}, "--start error"));
  EXPECT_EQ(o.code, kExitEnvironment);
  EXPECT_EQ(o.err, "gradfuzz: no torch in this Python\n");
  o = Finish(Start({"--programs", "7", "--out", "out"}, "--start die"));
  EXPECT_EQ(o.code, kExitEnvironment);
  EXPECT_THAT(o.err, HasSubstr("before it was ready: ImportError: libtorch.so"));
  EXPECT_FALSE(Exists(base_ + "/scratch/out"));
}

TEST_F(CliTest, OneSeed) {
  const Outcome right = Run({"--seed", "6"});
  EXPECT_EQ(right.code, kExitClean) << right.err;
  EXPECT_THAT(right.out, HasSubstr("torch.sum"));
  EXPECT_THAT(right.out, HasSubstr("inductor"));
  EXPECT_TRUE(std::filesystem::is_empty(base_ + "/scratch"));
  // Plain `fuzz` is the same, and so is a second time.
  const auto without_times = [](std::string text) {
    std::string kept;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(" s") == std::string::npos) kept += line + "\n";
    }
    return kept;
  };
  EXPECT_EQ(without_times(Run({"fuzz", "--seed", "6", "--workers", "2"}).out),
            without_times(right.out));

  const Outcome wrong = Run({"--seed", "5", "--out", "out"}, "5=gradient");
  EXPECT_EQ(wrong.code, kExitFindings) << wrong.err;
  EXPECT_THAT(wrong.out, HasSubstr("wrong gradient"));
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base_ + "/scratch/out/findings")) {
    ++folders;
    EXPECT_TRUE(Exists((entry.path() / "repro.py").string()));
    EXPECT_TRUE(Exists((entry.path() / "report.md").string()));
    EXPECT_THAT(wrong.out, HasSubstr(entry.path().filename().string()));
  }
  EXPECT_EQ(folders, 1);
  EXPECT_EQ(Run({"--seed", "5", "--fail-on", "never"}, "5=gradient").code, kExitClean);

  // Right whenever it is confirmed.
  const Outcome flaky = Run({"--seed", "5", "--out", "other"}, "5=flaky");
  EXPECT_EQ(flaky.code, kExitClean);
  EXPECT_FALSE(Exists(base_ + "/scratch/other/findings"));

  const Outcome json = Run({"--seed", "5", "--json"}, "5=gradient");
  const auto parsed = nlohmann::json::parse(json.out, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << json.out;
  EXPECT_EQ(parsed["outcome"]["verdict"], "gradient_mismatch");
  EXPECT_EQ(parsed["finding"]["first_wrong_rung"], "inductor");
}

TEST_F(CliTest, ACampaign) {
  const Outcome o = Run({"--programs", "40", "--out", "out", "--workers", "2", "--deadline", "1"},
                        "5=gradient,7=gradient,9=abort");
  EXPECT_EQ(o.code, kExitFindings) << o.err;
  EXPECT_THAT(o.err, HasSubstr("new finding"));
  EXPECT_THAT(o.err, Not(HasSubstr("\r")));  // no terminal: plain lines
  for (const char* name : {"campaign.db", "report.html", "junit.xml", "summary.md"}) {
    EXPECT_TRUE(Exists(base_ + "/scratch/out/" + name)) << name;
  }
  auto store = store::Store::Read(base_ + "/scratch/out");
  ASSERT_TRUE(store.ok());
  const auto summary = (*store)->Summary();
  EXPECT_EQ(summary->totals.programs, 40);
  EXPECT_EQ(summary->end, "all programs done");
  EXPECT_EQ(summary->findings.size(), 2u);
  EXPECT_TRUE(NobodyLeft());
  EXPECT_TRUE(std::filesystem::is_empty(base_ + "/temp"));

  // The same folder again is refused; the reports can be made anew; a resume has nothing to do.
  const Outcome again = Run({"--programs", "40", "--out", "out"});
  EXPECT_EQ(again.code, kExitUsage);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  std::filesystem::remove(base_ + "/scratch/out/report.html");
  EXPECT_EQ(Run({"report", "out"}).code, kExitClean);
  EXPECT_TRUE(Exists(base_ + "/scratch/out/report.html"));
  std::filesystem::remove(base_ + "/log");
  EXPECT_EQ(Run({"--resume", "out"}).code, kExitFindings);  // they are still new
  EXPECT_TRUE(Asked().empty());
}

TEST_F(CliTest, ACleanCampaignIsZeroAndPrintsJson) {
  const Outcome o = Run({"--seed", "100", "--programs", "10", "--json", "--out", "out"});
  EXPECT_EQ(o.code, kExitClean) << o.err;
  const auto parsed = nlohmann::json::parse(o.out, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << o.out;
  EXPECT_EQ(parsed["totals"]["programs"], 10);
  auto seeds = Asked();
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(seeds.front(), 100u);
  EXPECT_EQ(seeds.back(), 109u);
}

TEST_F(CliTest, WhatIsNotJudgedIsNoFindingYet) {
  const Outcome o = Run({"--programs", "10", "--no-judge", "--out", "out"}, "3=gradient");
  EXPECT_EQ(o.code, kExitClean) << o.err;
  EXPECT_THAT(o.out, HasSubstr("1 mismatch not judged yet"));
  EXPECT_THAT(o.out, HasSubstr("No finding yet."));
  EXPECT_EQ(Run({"--resume", "out"}, "3=gradient").code, kExitFindings);
}

TEST_F(CliTest, WithoutAFolderEachRunGetsItsOwn) {
  EXPECT_EQ(Run({"--programs", "2"}).code, kExitClean);
  sleep(1);
  EXPECT_EQ(Run({"--programs", "2"}).code, kExitClean);
  int folders = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(base_ + "/scratch/gradfuzz-out")) {
    ++folders;
  }
  EXPECT_EQ(folders, 2);
}

TEST_F(CliTest, CtrlCSavesTheStateAndResumeCompletes) {
  const pid_t pid =
      Start({"--programs", "300", "--out", "out", "--workers", "2", "--batch", "2", "--pack", "1"},
            Fake("40=slow,60=slow,80=slow"));
  for (int i = 0; i < 1000 && Asked().size() < 50; ++i) usleep(10'000);
  kill(pid, SIGINT);
  const Outcome o = Finish(pid);
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_THAT(o.err, HasSubstr("gradfuzz --resume out"));
  EXPECT_TRUE(NobodyLeft());
  const auto before = *(*store::Store::Read(base_ + "/scratch/out"))->SeedsDone("cpu");
  EXPECT_GT(before.size(), 20u);
  EXPECT_LT(before.size(), 300u);

  std::filesystem::remove(base_ + "/log");
  EXPECT_EQ(Run({"--resume", "out"}).code, kExitClean);
  EXPECT_EQ((*store::Store::Read(base_ + "/scratch/out"))->SeedsDone("cpu")->size(), 300u);
  for (uint64_t seed : Asked()) {
    EXPECT_FALSE(std::binary_search(before.begin(), before.end(), seed)) << seed;
  }
  // More of the same campaign.
  EXPECT_EQ(Run({"--resume", "out", "--programs", "310"}).code, kExitClean);
  EXPECT_EQ((*store::Store::Read(base_ + "/scratch/out"))->SeedsDone("cpu")->size(), 310u);
}

TEST_F(CliTest, ASecondCtrlCEndsAtOnceAndLeavesNoOrphans) {
  const pid_t pid = Start({"--seed", "3", "--deadline", "100"}, Fake("3=hang-with-child"));
  for (int i = 0; i < 1000 && !Exists(base_ + "/pids"); ++i) usleep(10'000);
  kill(pid, SIGTERM);
  usleep(1000);
  kill(pid, SIGTERM);
  const double start = MonotonicSeconds();
  EXPECT_EQ(Finish(pid).code, 130);
  EXPECT_LT(MonotonicSeconds() - start, 5);
  EXPECT_TRUE(NobodyLeft());
}

TEST_F(CliTest, SigkillLeavesNoOrphansAndAWholeStore) {
  const pid_t pid =
      Start({"--programs", "100000", "--out", "out", "--workers", "2", "--deadline", "50"},
            Fake("30=hang-with-child"));
  // The worker that hangs has a child, and the store has results to lose.
  const auto stored = [&]() -> size_t {
    const auto store = store::Store::Read(base_ + "/scratch/out");
    if (!store.ok()) return 0;
    const auto seeds = (*store)->SeedsDone("cpu");
    return seeds.ok() ? seeds->size() : 0;
  };
  size_t before = 0;
  for (int i = 0; i < 1000 && (!Exists(base_ + "/pids") || before <= 5); ++i) {
    usleep(10'000);
    before = stored();
  }
  EXPECT_GT(before, 5u);
  kill(pid, SIGKILL);
  EXPECT_EQ(Finish(pid).code, 1000 + SIGKILL);
  EXPECT_TRUE(NobodyLeft());
  EXPECT_GE(stored(), before);
  // A second writer could come now: the lock died with its owner.
  EXPECT_EQ(Run({"--resume", "out", "--programs", "20"}).code, kExitClean);
}

TEST_F(CliTest, AFolderInUseIsSaid) {
  const pid_t pid = Start({"--programs", "100000", "--out", "out"}, Fake(""));
  for (int i = 0; i < 1000 && Asked().size() < 5; ++i) usleep(10'000);
  const std::string other = base_ + "/other.txt";
  // Its output must not mix with that of the first.
  const pid_t second = fork();
  if (second == 0) {
    dup2(open(other.c_str(), O_CREAT | O_WRONLY, 0644), 2);
    setenv("GRADFUZZ_WORKER", (std::string(GRADFUZZ_BIN_DIR) + "/fake_worker").c_str(), 1);
    const std::string program = std::string(GRADFUZZ_BIN_DIR) + "/gradfuzz";
    const std::string out = base_ + "/scratch/out";
    execl(program.c_str(), program.c_str(), "--resume", out.c_str(), nullptr);
    _exit(98);
  }
  int status = 0;
  waitpid(second, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kExitEnvironment);
  EXPECT_THAT(*ReadFile(other),
              HasSubstr("is in use by another gradfuzz (process " + std::to_string(pid) + ")"));
  kill(pid, SIGINT);
  EXPECT_EQ(Finish(pid).code, 130);
}

TEST_F(CliTest, AFullDiskIsOneSentence) {
  const Outcome o = Finish(Start({"--programs", "100000", "--out", "out"}, Fake(""), 200'000));
  EXPECT_EQ(o.code, kExitEnvironment);
  EXPECT_THAT(o.err, HasSubstr("campaign.db"));
  EXPECT_THAT(o.err, HasSubstr("disk"));
  const size_t before = (*store::Store::Read(base_ + "/scratch/out"))->SeedsDone("cpu")->size();
  EXPECT_GT(before, 0u);
  EXPECT_EQ(Run({"--resume", "out", "--programs", std::to_string(before + 5)}).code, kExitClean);
}

TEST_F(CliTest, AnotherTorchCannotGoOn) {
  EXPECT_EQ(Run({"--programs", "4", "--out", "out"}).code, kExitClean);
  const Outcome o = Finish(Start({"--resume", "out", "--programs", "9"}, "--torch 2.11.0"));
  EXPECT_EQ(o.code, kExitUsage);
  EXPECT_EQ(o.err,
            "gradfuzz: the campaign was begun with torch 2.15.0+fake, this is torch 2.11.0\n");
}

TEST_F(CliTest, ShardsMergeToTheWhole) {
  for (const char* i : {"0", "1", "2"}) {
    EXPECT_EQ(
        Run({"--programs", "20", "--shard", std::string(i) + "/3", "--out", std::string("s") + i},
            "5=gradient,7=gradient")
            .code,
        std::string(i) == "0" ? kExitClean : kExitFindings);
  }
  const Outcome merged = Run({"merge", "s0", "s1", "s2", "--into", "all"});
  EXPECT_EQ(merged.code, kExitFindings) << merged.err;
  EXPECT_EQ(Run({"--programs", "20", "--out", "one"}, "5=gradient,7=gradient").code, kExitFindings);
  const auto all = (*store::Store::Read(base_ + "/scratch/all"))->Summary();
  const auto one = (*store::Store::Read(base_ + "/scratch/one"))->Summary();
  EXPECT_EQ(all->totals.programs, one->totals.programs);
  EXPECT_EQ(all->totals.mismatches, one->totals.mismatches);
  ASSERT_EQ(all->findings.size(), one->findings.size());
  EXPECT_EQ(all->findings[0].id, one->findings[0].id);
  EXPECT_EQ(all->findings[0].hits, one->findings[0].hits);
  EXPECT_TRUE(Exists(base_ + "/scratch/all/report.html"));
}

TEST_F(CliTest, ReplayAndItsExpectations) {
  const auto write = [&](const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(base_ + "/scratch/" + name, text).ok());
  };
  write("right.py", "# expect: * cpu inductor agree\n4\n");
  write("wrong.py",
        "# expect: 2.15.* cpu inductor gradient_mismatch\n"
        "# expect: 2.11.* cpu inductor agree\n5\n");
  write("surprise.py", "# expect: * cpu inductor agree\n5\n");
  write("none.py", "no program\n");
  write("bad.py", "# expect: * cpu inductor purple\n4\n");
  const std::string plan = "5=gradient";
  EXPECT_EQ(Run({"replay", "right.py"}, plan).code, kExitClean);
  const Outcome both = Run({"replay", "right.py", "wrong.py"}, plan);
  EXPECT_EQ(both.code, kExitFindings);
  EXPECT_THAT(both.out, HasSubstr("right.py"));
  EXPECT_THAT(both.out, HasSubstr("wrong.py"));
  EXPECT_EQ(Run({"replay", "--expect", "right.py", "wrong.py"}, plan).code, kExitClean);
  const Outcome surprise = Run({"replay", "--expect", "surprise.py"}, plan);
  EXPECT_EQ(surprise.code, kExitFindings);
  EXPECT_THAT(surprise.out, HasSubstr("surprise.py"));
  const Outcome none = Run({"replay", "none.py"});
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_THAT(none.err, HasSubstr("none.py does not parse: line 1"));
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(Run({"replay", "--expect", "bad.py"}).code, kExitUsage);

  // What eager does not know is no program: one sentence, and the others are run all the same.
  const Outcome rejected = Run({"replay", "wrong.py", "right.py"}, "5=invalid");
  EXPECT_EQ(rejected.code, kExitUsage);
  EXPECT_EQ(rejected.err,
            "gradfuzz: wrong.py: eager rejects the program: AttributeError: no attribute 'x'\n");
  EXPECT_THAT(rejected.out, HasSubstr("right.py"));
  EXPECT_THAT(rejected.out, Not(HasSubstr("wrong.py")));
  EXPECT_EQ(Run({"reduce", "wrong.py"}, "5=invalid").code, kExitUsage);

  write("broken.json", "{\"statements\": ");
  EXPECT_THAT(Run({"replay", "broken.json"}).err, HasSubstr("broken.json is not JSON"));
  write("other.json", "{\"a\": 1}");
  const Outcome other = Run({"replay", "other.json"});
  EXPECT_EQ(other.code, kExitUsage);
  EXPECT_THAT(other.err, HasSubstr("other.json"));

  // A finding's folder, its program and its finding replay, too.
  EXPECT_EQ(Run({"--seed", "5", "--out", "out"}, plan).code, kExitFindings);
  for (const auto& entry : std::filesystem::directory_iterator(base_ + "/scratch/out/findings")) {
    for (const std::string& path : {entry.path().string(), (entry.path() / "program.json").string(),
                                    (entry.path() / "finding.json").string()}) {
      EXPECT_EQ(Run({"replay", path}, plan).code, kExitFindings) << path;
    }
  }
}

TEST_F(CliTest, ReduceWritesAFolder) {
  ASSERT_TRUE(WriteFileAtomic(base_ + "/scratch/p.py", "5\n").ok());
  const Outcome o = Run({"reduce", "p.py", "--out", "out"}, "5=gradient");
  EXPECT_EQ(o.code, kExitFindings) << o.err;
  EXPECT_FALSE(std::filesystem::is_empty(base_ + "/scratch/out/findings"));
  const Outcome right = Run({"reduce", "p.py", "--out", "other"});
  EXPECT_EQ(right.code, kExitClean);
  EXPECT_FALSE(Exists(base_ + "/scratch/other"));
}

TEST_F(CliTest, OpsAndDoctor) {
  const Outcome ops = Run({"ops"});
  EXPECT_EQ(ops.code, kExitClean) << ops.err;
  EXPECT_THAT(ops.out, HasSubstr("sum"));
  EXPECT_THAT(ops.out, HasSubstr("aggregation"));
  EXPECT_EQ(nlohmann::json::parse(Run({"ops", "--json"}).out).size(), 1u);
  const Outcome doctor = Run({"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("2.15.0+fake"));
}

TEST_F(CliTest, OpsCoverageSaysWhatACampaignMissed) {
  ASSERT_EQ(Run({"--seed", "100", "--programs", "4", "--out", "out"}).code, kExitClean);
  const Outcome text = Run({"ops", "--coverage", "out"});
  EXPECT_EQ(text.code, kExitClean) << text.err;
  EXPECT_THAT(text.out, HasSubstr("left out: random"));
  EXPECT_THAT(text.out, HasSubstr("not yet"));
  EXPECT_THAT(text.out, HasSubstr("1 of 3 operators"));
  const auto json = nlohmann::json::parse(Run({"ops", "--coverage", "out", "--json"}).out);
  EXPECT_EQ(json["covered"], nlohmann::json({"sum"}));
  EXPECT_EQ(json["missing"].size(), 2u);
  EXPECT_EQ(Run({"ops", "--coverage", "nowhere"}).code, kExitUsage);
}

TEST(Durations, AreOneSentenceWhenWrong) {
  EXPECT_EQ(*ParseDuration("1h30m"), 5400);
  const auto bad = ParseDuration("soon");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(bad.error().message, HasSubstr("'soon'"));
}

}  // namespace
}  // namespace gradfuzz::cli
