// SPDX-License-Identifier: BSD-3-Clause
// The pool against the fake worker: every fault, and that it costs only what it must.
#include "gradfuzz/campaign/pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gradfuzz/campaign/run_folder.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::campaign {
namespace {

bool Gone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    if (text.at(text.rfind(')') + 2) == 'Z') return true;
    usleep(10'000);
  }
  return false;
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class PoolTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *MakeTempFolder(TempFolder(), "gradfuzz-pool-test-");
    ASSERT_TRUE(MakeWritableFolder(folder_ + "/once").ok());
    ASSERT_TRUE(MakeWritableFolder(folder_ + "/temp").ok());
  }
  void TearDown() override {
    pool_.reset();
    // The run's own folder is gone with the pool.
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/temp"));
    RemoveTree(folder_);
  }

  PoolOptions Options(const std::string& plan) {
    PoolOptions options;
    options.worker.path = std::string(GRADFUZZ_BIN_DIR) + "/fake_worker";
    options.worker.arguments = {
        "--plan",          plan,     "--log",          folder_ + "/log", "--pid-file",
        folder_ + "/pids", "--once", folder_ + "/once"};
    options.worker.machine_cache = folder_ + "/machine";
    options.worker.start_deadline = 20;
    options.worker.item_deadline = 0.4;
    options.worker.first_item_deadline = 0.8;
    options.worker.ask_deadline = 0.8;
    options.temp_folder = folder_ + "/temp";
    options.interrupted = [this] { return interrupted_.load(); };
    options.on_event = [this](const PoolEvent& event) {
      const std::lock_guard<std::mutex> lock(mutex_);
      events_.push_back(event);
    };
    return options;
  }
  void Start(PoolOptions options) {
    auto pool = WorkerPool::Create(std::move(options));
    ASSERT_TRUE(pool.ok()) << pool.error().message;
    pool_ = std::move(*pool);
  }
  void Start(const std::string& plan, int workers = 1) {
    PoolOptions options = Options(plan);
    options.workers = workers;
    Start(std::move(options));
  }

  static std::vector<WorkItem> Seeds(uint64_t first, int count) {
    std::vector<WorkItem> items;
    for (int i = 0; i < count; ++i) items.push_back({first + static_cast<uint64_t>(i), {}});
    return items;
  }
  std::vector<CaseResult> Run(uint64_t first, int count, RunOptions run = {}) {
    return pool_->Run(Seeds(first, count), {}, run);
  }
  int Events(PoolEvent::Kind kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int n = 0;
    for (const PoolEvent& event : events_) n += event.kind == kind;
    return n;
  }
  // All of seeds 0..7 agree except 3, which is `verdict`.
  void ExpectOnlyThreeIs(const std::vector<CaseResult>& results, Verdict verdict) {
    ASSERT_EQ(results.size(), 8u);
    for (uint64_t seed = 0; seed < 8; ++seed) {
      EXPECT_EQ(results[seed].seed, seed);
      EXPECT_EQ(results[seed].outcome.verdict, seed == 3 ? verdict : Verdict::kAgree) << seed;
      EXPECT_TRUE(results[seed].program.has_value()) << seed;
    }
  }

  std::string folder_;
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::vector<PoolEvent> events_;
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(PoolTest, ResultsComeInOrderWithAnyNumberOfWorkers) {
  for (int workers : {1, 2, 3}) {
    Start("3=gradient,5=slow", workers);
    const auto results = Run(0, 20);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(results[seed].seed, seed);
      EXPECT_EQ(results[seed].outcome.verdict,
                seed == 3 ? Verdict::kGradientMismatch : Verdict::kAgree);
      EXPECT_GE(results[seed].worker, 0);
    }
    EXPECT_EQ(results[3].outcome.first_wrong_rung, "inductor");
    pool_.reset();
  }
}

TEST_F(PoolTest, NoItemsAndOneItem) {
  Start("");
  EXPECT_TRUE(Run(0, 0).empty());
  EXPECT_EQ(Run(9, 1).at(0).outcome.verdict, Verdict::kAgree);
  EXPECT_EQ(pool_->description().at("torch"), "2.15.0+fake");
}

TEST_F(PoolTest, AbortIsBlamedOnItsItemOnly) {
  Start("3=abort");
  const auto results = Run(0, 8);
  ExpectOnlyThreeIs(results, Verdict::kCrash);
  EXPECT_EQ(results[3].phase, "inductor");
  EXPECT_EQ(results[3].outcome.first_wrong_rung, "inductor");
  ASSERT_EQ(results[3].outcome.rungs.size(), 1u);
  const std::string& error = results[3].outcome.rungs[0].error;
  EXPECT_NE(error.find("was killed by SIGABRT"), std::string::npos) << error;
  EXPECT_NE(error.find("terminate called: seed 3"), std::string::npos) << error;
  // Lost once in the batch, once alone; nobody else ran twice but those after it in the batch.
  EXPECT_EQ(Events(PoolEvent::Kind::kLost), 2);
  EXPECT_EQ(Events(PoolEvent::Kind::kBlamed), 1);
}

TEST_F(PoolTest, OtherWaysToDie) {
  const std::pair<const char*, const char*> acts[] = {
      {"segv", "was killed by SIGSEGV"},      {"kill", "was killed by SIGKILL"},
      {"exit", "ended with exit code 3"},     {"truncated", "in the middle of an answer"},
      {"garbage", "sent a broken answer"},    {"too-large", "sent a broken answer"},
      {"done-early", "sent a broken answer"}, {"leave", "closed its channel without ending"},
  };
  for (const auto& [act, words] : acts) {
    Start(std::string("3=") + act);
    const auto results = Run(0, 8);
    ExpectOnlyThreeIs(results, Verdict::kCrash);
    EXPECT_NE(results[3].outcome.note.find(words), std::string::npos) << results[3].outcome.note;
    pool_.reset();
  }
}

TEST_F(PoolTest, HangIsATimeoutAndItsChildrenAreKilled) {
  Start("3=hang-with-child");
  ExpectOnlyThreeIs(Run(0, 8), Verdict::kTimeout);
  const auto pids = LinesOf(folder_ + "/pids");
  EXPECT_EQ(pids.size(), 4u);  // worker and child, in the batch and alone
  for (const std::string& pid : pids) EXPECT_TRUE(Gone(std::stoi(pid))) << pid;
}

TEST_F(PoolTest, HangInEagerIsNoFaultOfTheCompiler) {
  Start("3=hang-eager");
  const auto results = Run(0, 8);
  ExpectOnlyThreeIs(results, Verdict::kTimeout);
  EXPECT_EQ(results[3].outcome.first_wrong_rung, "");
  EXPECT_EQ(results[3].phase, "eager");
}

TEST_F(PoolTest, DeathWhileGeneratingHasNoProgram) {
  Start("3=die-generating");
  const auto results = Run(0, 4);
  EXPECT_EQ(results[3].outcome.verdict, Verdict::kCrash);
  EXPECT_EQ(results[3].phase, "generate");
  EXPECT_FALSE(results[3].program.has_value());
  EXPECT_EQ(results[3].outcome.first_wrong_rung, "");
}

TEST_F(PoolTest, OneThatDiesOnlyOnceIsNotBlamed) {
  for (const char* act : {"abort-once", "hang-once"}) {
    RemoveTree(folder_ + "/once");
    ASSERT_TRUE(MakeWritableFolder(folder_ + "/once").ok());
    Start(std::string("3=") + act);
    ExpectOnlyThreeIs(Run(0, 8), Verdict::kAgree);
    pool_.reset();
  }
  EXPECT_EQ(Events(PoolEvent::Kind::kLost), 2);
  EXPECT_EQ(Events(PoolEvent::Kind::kBlamed), 0);
}

TEST_F(PoolTest, ManyFaultsInOneBatch) {
  Start("0=abort,1=exit,3=hang,6=segv,7=garbage", 2);
  const auto results = Run(0, 9);
  const Verdict expected[] = {Verdict::kCrash,   Verdict::kCrash, Verdict::kAgree,
                              Verdict::kTimeout, Verdict::kAgree, Verdict::kAgree,
                              Verdict::kCrash,   Verdict::kCrash, Verdict::kAgree};
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(results[i].outcome.verdict, expected[i]) << i;
}

TEST_F(PoolTest, DeathAfterTheResultCostsNothing) {
  Start("3=die-after");
  const auto results = Run(0, 8);
  ExpectOnlyThreeIs(results, Verdict::kGradientMismatch);
  std::multiset<std::string> seeds;
  for (const std::string& line : LinesOf(folder_ + "/log")) {
    seeds.insert(line.substr(0, line.find(' ')));
  }
  EXPECT_EQ(seeds.count("3"), 1u);
}

TEST_F(PoolTest, LotsOfOutputIsNoProblemAndNeverReachesOurStdout) {
  PoolOptions options = Options("3=chatty,4=big");
  options.worker.item_deadline = options.worker.first_item_deadline = 20;
  Start(std::move(options));
  testing::internal::CaptureStdout();
  const auto results = Run(0, 8);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ExpectOnlyThreeIs(results, Verdict::kAgree);
  EXPECT_EQ(results[4].outcome.note.size(), 6'000'000u);
}

TEST_F(PoolTest, APackIsSplitWhenItsWorkerIsLost) {
  RunOptions run;
  run.pack = 4;
  Start("2=abort");
  const auto results = Run(0, 8, run);
  EXPECT_EQ(results[2].outcome.verdict, Verdict::kCrash);
  bool packed = false, alone = false;
  for (const std::string& line : LinesOf(folder_ + "/log")) {
    if (line.rfind("2 ", 0) != 0) continue;
    packed |= line.find("pack=4") != std::string::npos;
    alone |= line.find("pack=1 items=1") != std::string::npos;
  }
  EXPECT_TRUE(packed && alone);
}

TEST_F(PoolTest, RetiringWorkerIsReplaced) {
  Start("2=retire");
  const auto results = Run(0, 8);
  for (const CaseResult& r : results) EXPECT_EQ(r.outcome.verdict, Verdict::kAgree);
  EXPECT_EQ(Events(PoolEvent::Kind::kRecycled), 1);
  EXPECT_EQ(Events(PoolEvent::Kind::kLost), 0);
  EXPECT_EQ(LinesOf(folder_ + "/log").size(), 8u);
}

TEST_F(PoolTest, WorkersAreRecycled) {
  PoolOptions options = Options("");
  options.recycle_after = 4;
  options.batch = 2;
  Start(std::move(options));
  Run(0, 12);
  EXPECT_EQ(Events(PoolEvent::Kind::kRecycled), 3);
  pool_.reset();

  options = Options("");
  options.rss_limit = 1;  // nobody is that small
  options.batch = 2;
  Start(std::move(options));
  Run(0, 6);
  EXPECT_EQ(Events(PoolEvent::Kind::kRecycled), 6);
}

TEST_F(PoolTest, FreshCachesMeansANewProcessAndAnEmptyFolderEach) {
  Start("");
  RunOptions run;
  run.fresh_caches = true;
  const WorkItem item{7, {}};
  pool_->Run({item, item, item}, {}, run);
  std::set<std::string> pids, folders;
  for (const std::string& line : LinesOf(folder_ + "/log")) {
    std::stringstream words(line);
    std::string seed, pid, pack, items, act, folder;
    words >> seed >> pid >> pack >> items >> act >> folder;
    pids.insert(pid);
    folders.insert(folder);
    EXPECT_FALSE(Exists(folder));  // removed at the end
  }
  EXPECT_EQ(pids.size(), 3u);
  EXPECT_EQ(folders.size(), 3u);
}

TEST_F(PoolTest, ProgramsKeepTheirProvenance) {
  Start("");
  const auto first = Run(11, 1);
  const WorkItem item{11, first[0].program};
  const auto again = pool_->Run({item}, {}, {});
  EXPECT_EQ(again[0].seed, 11u);
  EXPECT_TRUE(again[0].program == first[0].program);
}

TEST_F(PoolTest, Questions) {
  Start("");
  const auto answer = pool_->Ask({{"type", "describe"}});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ((*answer)["python"], "3.11.7");
  const auto refused = pool_->Ask({{"type", "nonsense"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(refused.error().message, "unknown request nonsense");
  for (const char* fault : {"abort", "hang"}) {
    const auto lost = pool_->Ask({{"type", fault}});
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().kind, ErrorKind::kInternal);
  }
  EXPECT_TRUE(pool_->Ask({{"type", "describe"}}).ok());
}

TEST_F(PoolTest, AWorkerThatDiesIdleIsReplaced) {
  Start("");
  Run(0, 1);
  std::stringstream line(LinesOf(folder_ + "/log").at(0));
  int seed, pid;
  line >> seed >> pid;
  kill(pid, SIGKILL);
  usleep(50'000);
  EXPECT_EQ(Run(1, 1)[0].outcome.verdict, Verdict::kAgree);
  EXPECT_EQ(Events(PoolEvent::Kind::kBlamed), 0);
}

TEST_F(PoolTest, StartFaultsAreTheWorkersOwnWords) {
  const std::pair<const char*, const char*> starts[] = {
      {"error", "no torch in this Python"},
      {"die", "ended with exit code 4 before it was ready: ImportError: libtorch.so"},
      {"garbage", "sent a broken answer"},
      {"slow", "did not answer within 0.3 s before it was ready"},
  };
  for (const auto& [start, words] : starts) {
    PoolOptions options = Options("");
    options.worker.arguments.insert(options.worker.arguments.end(), {"--start", start});
    options.worker.start_deadline = 0.3;
    const auto pool = WorkerPool::Create(std::move(options));
    ASSERT_FALSE(pool.ok());
    EXPECT_EQ(pool.error().kind, ErrorKind::kEnvironment);
    EXPECT_NE(pool.error().message.find(words), std::string::npos) << pool.error().message;
  }
  PoolOptions options = Options("");
  options.worker.path = "/no/such/worker";
  const auto pool = WorkerPool::Create(std::move(options));
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().message, "cannot start /no/such/worker: No such file or directory");
}

TEST_F(PoolTest, RefusedOptionsAreSaidInTheResult) {
  Start("");
  RunOptions run;
  run.device = "cuda";
  const auto results = Run(0, 3, run);
  for (const CaseResult& r : results) {
    EXPECT_EQ(r.outcome.verdict, Verdict::kInvalid);
    EXPECT_EQ(r.outcome.note, "no device cuda");
  }
}

TEST_F(PoolTest, AnInternalErrorCostsItsItemOnly) {
  Start("3=refuse");
  const auto results = Run(0, 8);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(results[seed].outcome.verdict, seed == 3 ? Verdict::kInvalid : Verdict::kAgree);
  }
  EXPECT_EQ(results[3].outcome.note, "internal error of the worker: cannot do seed 3");
}

TEST_F(PoolTest, InterruptEndsTheRunSoon) {
  PoolOptions options = Options("3=hang");
  options.worker.first_item_deadline = options.worker.item_deadline = 60;
  Start(std::move(options));
  std::thread user([this] {
    usleep(300'000);
    interrupted_ = true;
  });
  const double start = MonotonicSeconds();
  const auto results = Run(0, 8);
  user.join();
  EXPECT_LT(MonotonicSeconds() - start, 5);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_EQ(results[seed].outcome.verdict, Verdict::kAgree);
  }
  for (uint64_t seed = 3; seed < 8; ++seed) {
    EXPECT_EQ(results[seed].outcome.verdict, Verdict::kInvalid);
    EXPECT_EQ(results[seed].outcome.note, "interrupted");
  }
}

// Hands out `count` seeds in batches of three.
class CountingClient : public StreamClient {
 public:
  explicit CountingClient(uint64_t count) : count_(count) {}
  Next Pull(Batch* batch, double idle) override {
    if (hold_) return Next::kLater;
    if (idle < patience) return Next::kLater;
    if (next_ == count_) return Next::kEnd;
    while (next_ < count_ && batch->items.size() < 3) batch->items.push_back({next_++, {}});
    return Next::kBatch;
  }
  void OnResult(const RunOptions&, CaseResult result) override {
    ++seen[*result.seed];
    if (on_result) on_result(result);
  }
  void OnTick() override { ++ticks; }

  std::map<uint64_t, int> seen;
  std::function<void(const CaseResult&)> on_result;
  int ticks = 0;
  std::atomic<bool> hold_{false};
  double patience = 0;

 private:
  uint64_t count_;
  uint64_t next_ = 0;
};

TEST_F(PoolTest, AStreamDeliversEverythingOnceWhateverHappens) {
  Start("10=abort,21=hang,22=retire,40=garbage", 3);
  CountingClient client(60);
  pool_->Stream(&client);
  EXPECT_EQ(client.seen.size(), 60u);
  for (const auto& [seed, times] : client.seen) EXPECT_EQ(times, 1) << seed;
  EXPECT_GT(client.ticks, 0);
}

TEST_F(PoolTest, AClientIsToldHowLongAWorkerHasBeenIdle) {
  Start("", 2);
  CountingClient client(6);
  client.patience = 0.3;
  const double start = MonotonicSeconds();
  pool_->Stream(&client);
  EXPECT_EQ(client.seen.size(), 6u);
  EXPECT_GE(MonotonicSeconds() - start, 0.3);
}

TEST_F(PoolTest, KillingWorkersDuringAStreamLosesNothing) {
  PoolOptions options = Options("");
  options.workers = 2;
  Start(std::move(options));
  CountingClient client(120);
  int kills = 0;
  client.on_result = [&](const CaseResult& result) {
    EXPECT_EQ(result.outcome.verdict, Verdict::kAgree) << *result.seed;
    if (*result.seed % 20 != 7) return;
    std::stringstream last(LinesOf(folder_ + "/log").back());
    int seed, pid;
    last >> seed >> pid;
    kills += kill(pid, SIGKILL) == 0;
  };
  pool_->Stream(&client);
  EXPECT_GT(kills, 2);
  EXPECT_GT(Events(PoolEvent::Kind::kLost), 0);
  EXPECT_EQ(client.seen.size(), 120u);
  EXPECT_EQ(Events(PoolEvent::Kind::kBlamed), 0);
}

TEST_F(PoolTest, RunGoesBetweenTheBatchesOfAStream) {
  Start("", 2);
  CountingClient client(200);
  std::atomic<int> confirmed{0};
  std::thread judge;
  client.on_result = [&](const CaseResult& result) {
    if (*result.seed != 5) return;
    judge = std::thread([&] {
      for (int i = 0; i < 3; ++i) {
        confirmed += Run(1000, 2)[1].outcome.verdict == Verdict::kAgree;
      }
    });
  };
  pool_->Stream(&client);
  judge.join();
  EXPECT_EQ(confirmed, 3);
  EXPECT_EQ(client.seen.size(), 200u);
}

TEST_F(PoolTest, AClientMayHoldTheStreamBack) {
  Start("");
  CountingClient client(6);
  client.hold_ = true;
  std::thread later([&] {
    usleep(200'000);
    client.hold_ = false;
  });
  pool_->Stream(&client);
  later.join();
  EXPECT_EQ(client.seen.size(), 6u);
}

TEST_F(PoolTest, AnInterruptedStreamReturnsSoonAndDeliversNoMadeUpResults) {
  PoolOptions options = Options("9=hang");
  options.worker.first_item_deadline = options.worker.item_deadline = 60;
  Start(std::move(options));
  CountingClient client(1000);
  client.on_result = [&](const CaseResult& result) {
    EXPECT_EQ(result.outcome.verdict, Verdict::kAgree);
    if (*result.seed == 8) interrupted_ = true;
  };
  pool_->Stream(&client);
  EXPECT_LT(client.seen.size(), 20u);
  EXPECT_EQ(client.seen.count(9), 0u);
}

TEST_F(PoolTest, ARefusalEndsTheStreamWithAFailure) {
  Start("4=usage");
  CountingClient client(50);
  pool_->Stream(&client);
  ASSERT_TRUE(pool_->Failure().has_value());
  EXPECT_EQ(pool_->Failure()->kind, ErrorKind::kUsage);
  EXPECT_EQ(pool_->Failure()->message, "cannot do seed 4");
}

TEST_F(PoolTest, RunsOfOthersAreLeftAloneAndStaleOnesRemoved) {
  const std::string temp = folder_ + "/temp";
  auto alive = MakeRunFolder(temp);
  ASSERT_TRUE(alive.ok());
  std::string stale;
  {
    auto dead = MakeRunFolder(temp);
    ASSERT_TRUE(dead.ok());
    stale = dead->path;
  }
  RemoveStaleRunFolders(temp);  // both are young
  EXPECT_TRUE(Exists(stale));
  RemoveStaleRunFolders(temp, -1);
  EXPECT_FALSE(Exists(stale));
  EXPECT_TRUE(Exists(alive->path));
  RemoveTree(alive->path);
}

// SIGKILL of the parent in the middle of a hang with a grandchild: nobody is left.
TEST_F(PoolTest, NoOrphansWhenTheParentIsKilled) {
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    PoolOptions options = Options("0=hang-with-child");
    options.worker.first_item_deadline = 100;
    auto pool = WorkerPool::Create(std::move(options));
    if (pool) (*pool)->Run({WorkItem{0, {}}}, {}, {});
    _exit(1);
  }
  std::vector<std::string> pids;
  for (int i = 0; i < 500 && pids.size() < 2; ++i) {
    usleep(20'000);
    pids = LinesOf(folder_ + "/pids");
  }
  ASSERT_EQ(pids.size(), 2u);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (const std::string& pid : pids) EXPECT_TRUE(Gone(std::stoi(pid))) << pid;
  RemoveStaleRunFolders(folder_ + "/temp", -1);
}

}  // namespace
}  // namespace gradfuzz::campaign
