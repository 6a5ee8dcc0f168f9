// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/campaign.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gradfuzz/campaign/confirming_sink.h"
#include "gradfuzz/campaign/run_folder.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::campaign {
namespace {

using store::Store;

class CampaignTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = *MakeTempFolder(TempFolder(), "gradfuzz-campaign-test-");
    ASSERT_TRUE(MakeWritableFolder(base_ + "/temp").ok());
    ASSERT_TRUE(MakeWritableFolder(base_ + "/once").ok());
    out_ = base_ + "/out";
  }
  void TearDown() override { RemoveTree(base_); }

  struct Setup {
    std::string plan;
    uint64_t programs = 40;
    int workers = 2;
    std::optional<double> duration;
    Shard shard;
    bool resume = false;
    std::function<bool()> interrupted = [] { return false; };
    FindingSink* sink = nullptr;
    std::string out;
  };

  std::unique_ptr<WorkerPool> MakePool(const Setup& setup, EventQueue* events) {
    PoolOptions options;
    options.worker.path = std::string(GRADFUZZ_BIN_DIR) + "/fake_worker";
    options.worker.arguments = {"--plan", setup.plan,      "--log",      base_ + "/log",
                                "--once", base_ + "/once", "--pid-file", base_ + "/pids"};
    options.worker.machine_cache = base_ + "/machine";
    options.worker.item_deadline = 0.5;
    options.worker.first_item_deadline = 1;
    options.workers = setup.workers;
    options.batch = 3;
    options.temp_folder = base_ + "/temp";
    options.interrupted = setup.interrupted;
    options.on_event = [events](const PoolEvent& event) { events->Push(event); };
    auto pool = WorkerPool::Create(std::move(options));
    EXPECT_TRUE(pool.ok()) << (pool ? "" : pool.error().message);
    return pool ? std::move(*pool) : nullptr;
  }

  CampaignEnd Run(const Setup& setup) {
    const std::string out = setup.out.empty() ? out_ : setup.out;
    CampaignOptions options;
    options.programs = setup.programs;
    options.duration = setup.duration;
    options.shard = setup.shard;
    options.batch = 3;
    store::CampaignRecord record;
    record.first_seed = options.first_seed;
    record.devices = options.devices;
    record.shard = setup.shard.Text();
    auto store = setup.resume ? Store::Resume(out) : Store::Create(out, record);
    EXPECT_TRUE(store.ok()) << (store ? "" : store.error().message);
    EventQueue events;
    auto pool = MakePool(setup, &events);
    ConfirmingSink confirming;
    FindingSink* sink = setup.sink != nullptr ? setup.sink : &confirming;
    return Campaign(options, pool.get(), store->get(), sink, &events, nullptr).Run();
  }

  report::RunSummary Summary(const std::string& out) {
    auto store = Store::Read(out);
    EXPECT_TRUE(store.ok()) << (store ? "" : store.error().message);
    auto summary = (*store)->Summary();
    EXPECT_TRUE(summary.ok()) << (summary ? "" : summary.error().message);
    return *summary;
  }
  std::vector<uint64_t> Done(const std::string& out) {
    return *(*Store::Read(out))->SeedsDone("cpu");
  }
  // Seeds that a worker was asked to run, with repeats.
  std::vector<uint64_t> Asked() {
    std::ifstream file(base_ + "/log");
    std::vector<uint64_t> seeds;
    for (std::string line; std::getline(file, line);) seeds.push_back(std::stoull(line));
    return seeds;
  }
  void ExpectAllDone(uint64_t count) {
    const auto done = Done(out_);
    ASSERT_EQ(done.size(), count);
    for (uint64_t seed = 0; seed < count; ++seed) EXPECT_EQ(done[seed], seed);
  }

  std::string base_, out_;
};

TEST_F(CampaignTest, RecordsEverythingOnce) {
  Setup setup;
  setup.plan = "5=gradient,7=abort,11=hang,14=flaky,20=die-generating,22=forward,24=hang-eager";
  const CampaignEnd end = Run(setup);
  EXPECT_EQ(end.how, "all programs done");
  EXPECT_FALSE(end.error.has_value());
  ExpectAllDone(40);
  const auto summary = Summary(out_);
  EXPECT_EQ(summary.totals.programs, 40);
  EXPECT_EQ(summary.totals.mismatches, 7);
  EXPECT_EQ(summary.totals.unconfirmed, 1);  // the flaky one
  EXPECT_GE(summary.totals.workers_lost, 4);
  // 5, 7, 11, 22: a death while generating and a hang in eager blame no rung above eager.
  ASSERT_EQ(summary.findings.size(), 4u);
  std::set<std::string> verdicts;
  for (const Finding& finding : summary.findings) {
    verdicts.insert(Name(finding.verdict));
    EXPECT_EQ(finding.confirmed, 3);
    EXPECT_EQ(finding.first_wrong_rung, "inductor");
    for (const char* name : {"repro.py", "report.md", "program.json", "finding.json"}) {
      EXPECT_TRUE(Exists(out_ + "/findings/" + finding.id + "/" + name)) << name;
    }
  }
  EXPECT_EQ(verdicts,
            (std::set<std::string>{"gradient_mismatch", "crash", "timeout", "forward_mismatch"}));
  EXPECT_EQ(summary.end, "all programs done");
}

TEST_F(CampaignTest, RepeatsAreHitsOfOneFinding) {
  Setup setup;
  setup.plan = "1=gradient,3=gradient,5=gradient,8=gradient";  // odd seeds share their operators
  EXPECT_FALSE(Run(setup).error.has_value());
  const auto summary = Summary(out_);
  ASSERT_EQ(summary.findings.size(), 2u);
  int hits = 0;
  for (const Finding& finding : summary.findings) {
    hits += finding.hits;
    if (finding.hits == 3) {
      EXPECT_EQ(finding.first_seed, 1u);
    }
  }
  EXPECT_EQ(hits, 4);
  EXPECT_EQ(summary.totals.muted, 2);
}

TEST_F(CampaignTest, InterruptAndResumeNeitherRepeatNorSkip) {
  std::atomic<bool> stop{false};
  Setup setup;
  setup.plan = "9=gradient,30=slow,31=slow";
  setup.programs = 60;
  setup.workers = 3;
  setup.interrupted = [&] {
    if (Asked().size() >= 25) stop = true;
    return stop.load();
  };
  const CampaignEnd end = Run(setup);
  EXPECT_TRUE(end.interrupted);
  EXPECT_EQ(Summary(out_).end, "interrupted");
  const auto before = Done(out_);
  EXPECT_LT(before.size(), 60u);
  EXPECT_GT(before.size(), 5u);

  std::filesystem::remove(base_ + "/log");
  setup.interrupted = [] { return false; };
  setup.resume = true;
  EXPECT_EQ(Run(setup).how, "all programs done");
  ExpectAllDone(60);
  for (uint64_t seed : Asked()) {
    // A pending mismatch is run again to be judged; nothing else.
    if (seed == 9) continue;
    EXPECT_FALSE(std::binary_search(before.begin(), before.end(), seed)) << seed;
  }
  EXPECT_EQ(Summary(out_).findings.size(), 1u);
}

TEST_F(CampaignTest, SigkillLosesNothingRecordedAndResumeCompletes) {
  Setup setup;
  setup.plan = "4=gradient,17=hang-with-child";
  setup.programs = 3000;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)Run(setup);
    _exit(0);
  }
  for (int i = 0; i < 1000 && Asked().size() < 300; ++i) usleep(10'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto before = Done(out_);
  EXPECT_GT(before.size(), 10u);

  RemoveStaleRunFolders(base_ + "/temp", -1);
  EXPECT_TRUE(std::filesystem::is_empty(base_ + "/temp"));
  std::filesystem::remove(base_ + "/log");
  setup.resume = true;
  setup.programs = 400;
  EXPECT_FALSE(Run(setup).error.has_value());
  const auto done = Done(out_);
  ASSERT_GE(done.size(), 400u);
  for (uint64_t seed = 0; seed < 400; ++seed) EXPECT_EQ(done[seed], seed);
  for (uint64_t seed : Asked()) {
    if (seed == 4 || seed == 17) continue;
    EXPECT_FALSE(std::binary_search(before.begin(), before.end(), seed)) << seed;
  }
  EXPECT_EQ(Summary(out_).findings.size(), 2u);
}

// Never decides: as if the user stopped every time.
class UndecidedSink : public FindingSink {
 public:
  void Remember(const Finding&) override {}
  Judgement Judge(const CaseResult&, const GenerateOptions&, const RunOptions&,
                  ProgramRunner&) override {
    return {};
  }
};

TEST_F(CampaignTest, WhatWasNotJudgedIsJudgedOnResume) {
  UndecidedSink undecided;
  Setup setup;
  setup.plan = "3=gradient,4=gradient-once";
  setup.programs = 10;
  setup.sink = &undecided;
  EXPECT_FALSE(Run(setup).error.has_value());
  EXPECT_TRUE(Summary(out_).findings.empty());
  EXPECT_EQ((*Store::Read(out_))->Pending()->size(), 2u);

  setup.sink = nullptr;
  setup.resume = true;
  EXPECT_FALSE(Run(setup).error.has_value());
  const auto summary = Summary(out_);
  ASSERT_EQ(summary.findings.size(), 1u);
  EXPECT_EQ(summary.findings[0].first_seed, 3u);
  EXPECT_EQ(summary.totals.unconfirmed, 1);
  EXPECT_EQ(summary.totals.programs, 10);
  EXPECT_TRUE((*Store::Read(out_))->Pending()->empty());
}

// Knows some seeds; slow enough that all mismatches wait when it chooses the second.
class Orders : public FindingSink {
 public:
  explicit Orders(std::function<bool(uint64_t)> knows) : knows_(std::move(knows)) {}
  void Remember(const Finding&) override {}
  bool Recognises(const CaseResult& mismatch) const override { return knows_(*mismatch.seed); }
  Judgement Judge(const CaseResult& mismatch, const GenerateOptions&, const RunOptions&,
                  ProgramRunner&) override {
    if (order.empty()) usleep(2'000'000);
    order.push_back(*mismatch.seed);
    return {Judgement::Fate::kUnconfirmed, "", {}};
  }
  std::vector<uint64_t> order;

 private:
  std::function<bool(uint64_t)> knows_;
};

TEST_F(CampaignTest, AFrequentKindOfWrongKeepsNoOtherWaiting) {
  Orders sink([](uint64_t) { return false; });
  Setup setup;
  setup.plan = "1=gradient,3=gradient,4=gradient,5=gradient,8=forward";
  setup.programs = 10;
  setup.sink = &sink;
  EXPECT_FALSE(Run(setup).error.has_value());
  ASSERT_EQ(sink.order.size(), 5u);
  EXPECT_TRUE(sink.order[0] == 8 || sink.order[1] == 8);
}

TEST_F(CampaignTest, WhatIsRecognisedNeedNotWaitForReductions) {
  Orders sink([](uint64_t seed) { return seed % 2 == 0; });
  Setup setup;
  setup.plan = "1=gradient,3=gradient,4=gradient,5=gradient,8=gradient";
  setup.programs = 10;
  setup.sink = &sink;
  EXPECT_FALSE(Run(setup).error.has_value());
  ASSERT_EQ(sink.order.size(), 5u);
  // Whatever came first, the two that are recognised did not wait for all others.
  EXPECT_EQ(sink.order[3] % 2, 1u);
  EXPECT_EQ(sink.order[4] % 2, 1u);
}

TEST_F(CampaignTest, DurationEndsIt) {
  Setup setup;
  setup.programs = 1'000'000;
  setup.duration = 0.5;
  const double start = MonotonicSeconds();
  EXPECT_EQ(Run(setup).how, "time is up");
  EXPECT_LT(MonotonicSeconds() - start, 10);
  EXPECT_GT(Done(out_).size(), 3u);
  // The time is that of all parts.
  setup.resume = true;
  EXPECT_EQ(Run(setup).how, "time is up");
}

// Judges slowly, as a reduction does.
class SlowSink : public FindingSink {
 public:
  void Remember(const Finding&) override {}
  Judgement Judge(const CaseResult&, const GenerateOptions&, const RunOptions&,
                  ProgramRunner&) override {
    usleep(300'000);
    ++judged;
    return {Judgement::Fate::kUnconfirmed, "", {}};
  }
  int judged = 0;
};

TEST_F(CampaignTest, DurationHoldsWhateverWaitsToBeJudged) {
  SlowSink sink;
  Setup setup;
  setup.programs = 1'000'000;
  setup.duration = 1;
  for (int seed = 0; seed < 40; ++seed) setup.plan += std::to_string(seed) + "=gradient,";
  setup.plan.pop_back();
  setup.sink = &sink;
  const double start = MonotonicSeconds();
  EXPECT_EQ(Run(setup).how, "time is up");
  EXPECT_LT(MonotonicSeconds() - start, 8);  // 40 of them would take 12
  const auto waiting = (*Store::Read(out_))->Pending()->size();
  EXPECT_GT(waiting, 0u);
  // The part that goes on has them all judged.
  setup.resume = true;
  sink.judged = 0;
  EXPECT_EQ(Run(setup).how, "time is up");
  EXPECT_EQ(static_cast<size_t>(sink.judged), waiting);
  EXPECT_TRUE((*Store::Read(out_))->Pending()->empty());
}

TEST_F(CampaignTest, ShardsAreDisjointAndComplete) {
  std::multiset<uint64_t> all;
  for (int i = 0; i < 3; ++i) {
    Setup setup;
    setup.programs = 20;
    setup.shard = {i, 3};
    setup.out = base_ + "/shard" + std::to_string(i);
    EXPECT_FALSE(Run(setup).error.has_value());
    for (uint64_t seed : Done(setup.out)) all.insert(seed);
  }
  EXPECT_EQ(all.size(), 20u);
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(all.count(seed), 1u);
}

TEST_F(CampaignTest, ARefusalIsAnErrorAndKeepsWhatWasRecorded) {
  Setup setup;
  setup.plan = "12=usage";
  setup.workers = 1;
  const CampaignEnd end = Run(setup);
  ASSERT_TRUE(end.error.has_value());
  EXPECT_EQ(end.error->message, "cannot do seed 12");
  EXPECT_EQ(Done(out_).size(), 12u);
}

TEST_F(CampaignTest, AFullDiskEndsItWithOneSentence) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 150'000;  // room for the schema and some rows
    setrlimit(RLIMIT_FSIZE, &limit);
    Setup setup;
    setup.programs = 100'000;
    const CampaignEnd end = Run(setup);
    const bool named = end.error && end.error->kind == ErrorKind::kEnvironment &&
                       end.error->message.find("campaign.db") != std::string::npos &&
                       end.error->message.find("disk") != std::string::npos;
    _exit(named ? 0 : 1);
  }
  int code = 0;
  waitpid(child, &code, 0);
  EXPECT_TRUE(WIFEXITED(code) && WEXITSTATUS(code) == 0);
  const size_t before = Done(out_).size();
  EXPECT_GT(before, 0u);
  Setup setup;
  setup.resume = true;
  setup.programs = before + 10;
  EXPECT_FALSE(Run(setup).error.has_value());
  EXPECT_EQ(Done(out_).size(), before + 10);
}

TEST(ProgressTest, OneLine) {
  ProgressState state;
  state.seconds = 723;
  state.programs = 1234;
  state.fraction = 0.612;
  state.per_second = 4.21;
  state.mismatches = 1;
  state.findings = 3;
  state.known = 2;
  state.waiting = 1;
  EXPECT_EQ(ProgressLine(state),
            "12 min 03 s  1,234 programs (61 %)  4.2/s  1 mismatch  3 findings (2 known)  1 to "
            "judge");
}

TEST(ProgressTest, PlainLinesAreRareAndLiveOnesRewritten) {
  const auto shown = [](Progress::Style style) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    {
      Progress progress(out, style, 40);
      for (int i = 0; i < 10; ++i) progress.Show({});
      progress.Note("new finding\nabc");
    }
    std::fclose(out);
    const std::string result(text, size);
    free(text);
    return result;
  };
  EXPECT_EQ(shown(Progress::Style::kSilent), "");
  EXPECT_EQ(shown(Progress::Style::kPlain), "new finding abc\n");
  const std::string live = shown(Progress::Style::kLive);
  EXPECT_EQ(live.rfind("\r", 0), 0u);
  EXPECT_TRUE(live.ends_with("\r\x1b[Knew finding abc\n")) << live;
}

}  // namespace
}  // namespace gradfuzz::campaign
