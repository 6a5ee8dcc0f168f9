// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gradfuzz/store/merge.h"
#include "gradfuzz/store/schema.h"
#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::store {
namespace {

program::Program SomeProgram(int relus) {
  program::Program p;
  p.storages.push_back({program::DType::kFloat32, 3, {}});
  p.leaves.push_back({0, {3}, {1}, 0, true});
  for (int i = 0; i < relus; ++i) {
    p.statements.push_back({"relu", {program::Arg::Value(i)}, {}, 1});
  }
  p.statements.push_back({"sum", {program::Arg::Value(relus)}, {}, 1});
  p.outputs.push_back({relus + 1, {}});
  return p;
}

CaseResult Case(uint64_t seed, Verdict verdict = Verdict::kAgree) {
  CaseResult result;
  result.seed = seed;
  result.program = SomeProgram(1);
  result.seconds = 0.5;
  result.cpu_seconds = 0.25;
  result.worker = 1;
  result.outcome.verdict = verdict;
  result.outcome.lane = "exact";
  result.outcome.stats = {{"features", {"op.relu", "op.sum", "dtype.float32"}}};
  for (const char* name : {"eager", "aot_eager", "inductor"}) {
    RungOutcome rung;
    rung.rung = name;
    rung.device = "cpu";
    rung.seconds = 0.125;
    for (const char* what : {"out0", "grad x0"}) {
      Comparison c;
      c.what = what;
      rung.comparisons.push_back(c);
    }
    result.outcome.rungs.push_back(rung);
  }
  if (IsFinding(verdict)) result.outcome.first_wrong_rung = "inductor";
  return result;
}

Finding SomeFinding(const std::string& id, int relus = 1) {
  Finding f;
  f.id = id;
  f.signature = "signature of " + id;
  f.title = "a title";
  f.device = "cpu";
  f.first_wrong_rung = "inductor";
  f.original = SomeProgram(3);
  f.reduced = SomeProgram(relus);
  f.first_seed = 5;
  return f;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = *MakeTempFolder(TempFolder(), "gradfuzz-store-test-");
    out_ = base_ + "/out";
  }
  void TearDown() override { RemoveTree(base_); }

  static CampaignRecord Record() {
    CampaignRecord record;
    record.gradfuzz_version = "0.1.0";
    record.command = "gradfuzz --programs 10";
    record.started = "2026-01-31T12:00:00Z";
    record.first_seed = 7;
    record.programs = 10;
    record.devices = {"cpu"};
    record.workers = 2;
    record.run.knobs = {{"inductor.cpp.simdlen", 1}};
    record.generate.weights = {{"op.amin", 2.0}};
    record.environment = {{"torch", "2.15.0"}};
    return record;
  }
  std::unique_ptr<Store> Create(const std::string& folder, const CampaignRecord& record) {
    auto store = Store::Create(folder, record);
    EXPECT_TRUE(store.ok()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  std::unique_ptr<Store> Create() { return Create(out_, Record()); }
  std::unique_ptr<Store> Reopen(const std::string& folder) {
    auto store = Store::Resume(folder);
    EXPECT_TRUE(store.ok()) << (store ? "" : store.error().message);
    return store ? std::move(*store) : nullptr;
  }
  // What SQLite itself thinks of the file.
  static std::string Integrity(const std::string& folder) {
    auto db = Database::Open(folder + "/" + kDatabaseName, Database::Mode::kRead);
    Statement check(db->get(), "PRAGMA integrity_check");
    return check.Step() ? check.Text(0) : "no answer";
  }

  std::string base_, out_;
};

TEST_F(StoreTest, TheCampaignComesBackAsItWas) {
  Create().reset();
  const auto store = Reopen(out_);
  const CampaignRecord expected = Record(), &got = store->record();
  EXPECT_EQ(got.gradfuzz_version, expected.gradfuzz_version);
  EXPECT_EQ(got.command, expected.command);
  EXPECT_EQ(got.started, expected.started);
  EXPECT_EQ(got.first_seed, expected.first_seed);
  EXPECT_EQ(got.programs, expected.programs);
  EXPECT_FALSE(got.duration.has_value());
  EXPECT_EQ(got.devices, expected.devices);
  EXPECT_EQ(got.workers, expected.workers);
  EXPECT_TRUE(got.run == expected.run);
  EXPECT_TRUE(got.generate == expected.generate);
  EXPECT_EQ(got.environment, expected.environment);
}

TEST_F(StoreTest, TheSchemaDocumentsItself) {
  Create().reset();
  auto db = Database::Open(out_ + "/campaign.db", Database::Mode::kRead);
  Statement text(db->get(), "SELECT sql FROM sqlite_master WHERE name = 'programs'");
  ASSERT_TRUE(text.Step());
  EXPECT_NE(text.Text(0).find("-- id of the finding"), std::string::npos);
}

TEST_F(StoreTest, RecordsAndCounts) {
  auto store = Create();
  ASSERT_TRUE(store->Record(Case(7), Record().run, false).ok());
  ASSERT_TRUE(store->Record(Case(9, Verdict::kGradientMismatch), Record().run, true).ok());
  ASSERT_TRUE(store->Record(Case(8, Verdict::kInvalid), Record().run, false).ok());
  ASSERT_TRUE(store->LogEvent("lost", 1, "was killed by SIGSEGV").ok());
  const auto summary = store->Summary();
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const report::RunTotals& t = summary->totals;
  EXPECT_EQ(t.programs, 3);
  EXPECT_EQ(t.invalid, 1);
  EXPECT_EQ(t.mismatches, 1);
  EXPECT_EQ(t.with_gradients, 3);
  const int64_t tensors = 3 * 2 * RunOptions().draws;  // programs, rungs above eager, draws
  EXPECT_EQ(t.gradients_compared, tensors);
  EXPECT_EQ(t.outputs_compared, tensors);
  EXPECT_EQ(t.workers_lost, 1);
  EXPECT_DOUBLE_EQ(t.worker_seconds, 1.5);
  EXPECT_DOUBLE_EQ(t.torch_seconds, 9 * 0.125);
  ASSERT_EQ(t.verdicts.size(), 3u);
  EXPECT_EQ(summary->end, "running");
  EXPECT_EQ(summary->rate.back().programs, 3);
  EXPECT_EQ(summary->rate.back().mismatches, 1);
  bool relu = false;
  for (const report::Yield& y : summary->yields) {
    if (y.axis != "op" || y.name != "relu") continue;
    relu = true;
    EXPECT_EQ(y.programs, 3);
    EXPECT_EQ(y.mismatches, 1);
  }
  EXPECT_TRUE(relu);
  EXPECT_EQ(*store->SeedsDone("cpu"), (std::vector<uint64_t>{7, 8, 9}));
  EXPECT_TRUE(store->SeedsDone("cuda")->empty());
}

// An operator's gradient counts where Inductor ran the whole program and a gradient was compared.
TEST_F(StoreTest, GradientYieldsAreOfWhatInductorRan) {
  auto store = Create();
  const auto with_feature = [](uint64_t seed) {
    CaseResult result = Case(seed);
    result.outcome.stats["features"].push_back("op_gradient.relu");
    return result;
  };
  CaseResult good = with_feature(1), broken = with_feature(2), refused = with_feature(3);
  broken.outcome.rungs.back().graph_breaks = 1;
  refused.outcome.rungs.back().comparisons.clear();
  for (const CaseResult* result : {&good, &broken, &refused}) {
    ASSERT_TRUE(store->Record(*result, {}, false).ok());
  }
  int64_t programs = 0;
  const auto summary = store->Summary();
  for (const report::Yield& y : summary->yields) {
    if (y.axis == "op_gradient" && y.name == "relu") programs = y.programs;
  }
  EXPECT_EQ(programs, 1);
}

TEST_F(StoreTest, ASeedIsRecordedOnce) {
  auto store = Create();
  ASSERT_TRUE(store->Record(Case(7), {}, false).ok());
  const Status again = store->Record(Case(7), {}, false);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::kEnvironment);
  EXPECT_NE(again.error().message.find(out_ + "/campaign.db"), std::string::npos);
  RunOptions cuda;
  cuda.device = "cuda";
  store.reset();
  EXPECT_TRUE(Reopen(out_)->Record(Case(7), cuda, false).ok());
}

TEST_F(StoreTest, FindingsAndHits) {
  auto store = Create();
  for (uint64_t seed : {5, 6, 7, 8}) {
    ASSERT_TRUE(store->Record(Case(seed, Verdict::kGradientMismatch), {}, true).ok());
  }
  ASSERT_EQ(store->Pending()->size(), 4u);
  EXPECT_TRUE(store->Pending()->at(0).program == SomeProgram(1));
  Judgement found{Judgement::Fate::kFinding, "", SomeFinding("abc")};
  ASSERT_TRUE(store->Settle(6, "cpu", found).ok());
  ASSERT_TRUE(store->Settle(5, "cpu", {Judgement::Fate::kRepeat, "abc", {}}).ok());
  ASSERT_TRUE(store->Settle(7, "cpu", {Judgement::Fate::kUnconfirmed, "", {}}).ok());
  ASSERT_TRUE(store->Settle(8, "cpu", {Judgement::Fate::kUndecided, "", {}}).ok());
  store.reset();

  store = Reopen(out_);
  EXPECT_EQ(store->Pending()->size(), 1u);
  EXPECT_EQ(store->Pending()->at(0).seed, 8u);
  const auto summary = store->Summary();
  ASSERT_EQ(summary->findings.size(), 1u);
  EXPECT_EQ(summary->findings[0].hits, 2);
  EXPECT_EQ(summary->findings[0].first_seed, 5u);
  EXPECT_EQ(summary->totals.muted, 1);
  EXPECT_EQ(summary->totals.unconfirmed, 1);
  EXPECT_EQ(summary->totals.waiting, 1);
  for (const report::Yield& y : summary->yields) {
    if (y.axis == "op" && y.name == "sum") {
      EXPECT_EQ(y.findings, 1);
    }
  }

  // A smaller program for the same bug replaces the finding and keeps the hits.
  ASSERT_TRUE(
      store->Settle(8, "cpu", {Judgement::Fate::kRepeat, "abc", SomeFinding("abc", 0)}).ok());
  const auto findings = store->Findings();
  EXPECT_EQ(findings->at(0).hits, 3);
  EXPECT_EQ(findings->at(0).reduced.statements.size(), 1u);
}

TEST_F(StoreTest, TimeGoesOnWhereItStopped) {
  auto store = Create();
  usleep(60'000);
  ASSERT_TRUE(store->Record(Case(1), {}, false).ok());
  ASSERT_TRUE(store->SetEnd("interrupted").ok());
  const double before = store->Elapsed();
  store.reset();
  usleep(100'000);
  store = Reopen(out_);
  EXPECT_GE(store->Elapsed(), 0.06);
  EXPECT_LT(store->Elapsed(), before + 0.09);
  EXPECT_EQ(store->Summary()->end, "running");
}

TEST_F(StoreTest, TwoWritersAreRefused) {
  const auto first = Create();
  const auto second = Store::Resume(out_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::kEnvironment);
  EXPECT_EQ(second.error().message,
            out_ + " is in use by another gradfuzz (process " + std::to_string(getpid()) + ")");
  EXPECT_FALSE(Store::Create(out_, Record()).ok());
  EXPECT_TRUE(Store::Read(out_).ok());
}

TEST_F(StoreTest, WrongFoldersGetOneSentence) {
  Create().reset();
  const auto again = Store::Create(out_, Record());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::kUsage);
  EXPECT_NE(again.error().message.find("--resume"), std::string::npos);

  const auto none = Store::Resume(base_ + "/none");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);

  ASSERT_TRUE(MakeWritableFolder(base_ + "/text").ok());
  ASSERT_TRUE(WriteFileAtomic(base_ + "/text/campaign.db", std::string(5000, 'x')).ok());
  EXPECT_FALSE(Store::Resume(base_ + "/text").ok());
  ASSERT_TRUE(MakeWritableFolder(base_ + "/empty").ok());
  ASSERT_TRUE(WriteFileAtomic(base_ + "/empty/campaign.db", "").ok());
  const auto empty = Store::Resume(base_ + "/empty");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message, base_ + "/empty/campaign.db is no database of gradfuzz");

  ASSERT_TRUE(WriteFileAtomic(base_ + "/file", "").ok());
  EXPECT_FALSE(Store::Create(base_ + "/file", Record()).ok());
}

TEST_F(StoreTest, AnotherSchemaVersionIsRefused) {
  Create().reset();
  {
    auto db = Database::Open(out_ + "/campaign.db", Database::Mode::kWrite);
    (*db)->Execute("PRAGMA user_version = 99");
  }
  const auto store = Store::Resume(out_);
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("schema version 99, this gradfuzz knows " +
                                       std::to_string(kSchemaVersion)),
            std::string::npos);
}

TEST_F(StoreTest, SigkillLosesNothingThatWasCommittedAndLeavesAWholeFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    auto store = Store::Create(out_, Record());
    for (uint64_t seed = 0;; ++seed) {
      if (!(*store)->Record(Case(seed), {}, false).ok()) _exit(1);
      if (write(ends[1], &seed, sizeof seed) != sizeof seed) _exit(1);
    }
  }
  close(ends[1]);
  uint64_t committed = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(read(ends[0], &committed, sizeof committed), static_cast<ssize_t>(sizeof committed));
  }
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  close(ends[0]);
  EXPECT_EQ(Integrity(out_), "ok");
  auto store = Reopen(out_);
  const auto seeds = store->SeedsDone("cpu");
  ASSERT_TRUE(seeds.ok());
  ASSERT_GT(seeds->size(), committed);
  for (uint64_t seed = 0; seed <= committed; ++seed) EXPECT_EQ(seeds->at(seed), seed);
}

TEST_F(StoreTest, AFullDiskIsOneSentenceAndLeavesAWholeFile) {
  const pid_t writer = fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    auto store = Store::Create(out_, Record());
    // A limit on the size of files stands in for a full disk: the write fails all the same.
    signal(SIGXFSZ, SIG_IGN);
    const Status status = [&] {
      for (uint64_t seed = 0; seed < 100'000; ++seed) {
        CaseResult big = Case(seed);
        big.outcome.note = std::string(20'000, 'n');
        if (seed == 200) {
          rlimit limit{};
          limit.rlim_cur = limit.rlim_max = 5'000'000;
          setrlimit(RLIMIT_FSIZE, &limit);
        }
        if (Status recorded = (*store)->Record(big, {}, false); !recorded) return recorded;
      }
      return Status();
    }();
    if (status.ok()) _exit(1);
    const bool named = status.error().message.find(out_ + "/campaign.db") != std::string::npos &&
                       status.error().message.find("disk") != std::string::npos;
    const bool refused = !(*store)->Record(Case(999'999), {}, false).ok();
    _exit(named && refused && status.error().kind == ErrorKind::kEnvironment ? 0 : 2);
  }
  int code = 0;
  waitpid(writer, &code, 0);
  ASSERT_TRUE(WIFEXITED(code));
  EXPECT_EQ(WEXITSTATUS(code), 0);
  EXPECT_EQ(Integrity(out_), "ok");
  auto store = Reopen(out_);
  EXPECT_GE(store->SeedsDone("cpu")->size(), 190u);
  EXPECT_TRUE(store->Record(Case(1'000'000), {}, false).ok());
}

TEST_F(StoreTest, ShardsMergeToOne) {
  CampaignRecord even = Record(), odd = Record();
  even.shard = "0/2";
  odd.shard = "1/2";
  odd.started = "2026-01-31T11:00:00Z";
  auto a = Create(base_ + "/a", even), b = Create(base_ + "/b", odd);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Store* store = seed % 2 == 0 ? a.get() : b.get();
    const bool wrong = seed == 4 || seed == 5 || seed == 7;
    const Verdict verdict = wrong ? Verdict::kGradientMismatch : Verdict::kAgree;
    ASSERT_TRUE(store->Record(Case(seed, verdict), {}, wrong).ok());
  }
  ASSERT_TRUE(MakeWritableFolder(b->FindingFolder("abc")).ok());
  ASSERT_TRUE(WriteFileAtomic(b->FindingFolder("abc") + "/repro.py", "small").ok());
  Finding small = SomeFinding("abc", 0);
  small.first_seed = 5;
  Finding large = SomeFinding("abc", 2);
  large.first_seed = 4;
  ASSERT_TRUE(a->Settle(4, "cpu", {Judgement::Fate::kFinding, "", large}).ok());
  ASSERT_TRUE(b->Settle(5, "cpu", {Judgement::Fate::kFinding, "", small}).ok());
  ASSERT_TRUE(b->Settle(7, "cpu", {Judgement::Fate::kFinding, "", SomeFinding("def")}).ok());
  ASSERT_TRUE(a->SetEnd("all programs done").ok());
  ASSERT_TRUE(b->SetEnd("all programs done").ok());
  a.reset();
  b.reset();

  const auto merged = Merge({base_ + "/a", base_ + "/b"}, out_);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(merged->programs, 10);
  EXPECT_EQ(merged->findings, 2);
  EXPECT_EQ(merged->overlaps, 0);
  EXPECT_TRUE(merged->warnings.empty());
  auto store = Store::Read(out_);
  const auto summary = (*store)->Summary();
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->totals.programs, 10);
  EXPECT_EQ(summary->totals.mismatches, 3);
  EXPECT_EQ(summary->started, "2026-01-31T11:00:00Z");
  EXPECT_EQ(summary->workers, 4);
  EXPECT_EQ(summary->shard, "");
  ASSERT_EQ(summary->findings.size(), 2u);
  for (const Finding& finding : summary->findings) {
    if (finding.id != "abc") continue;
    EXPECT_EQ(finding.hits, 2);
    EXPECT_EQ(finding.first_seed, 4u);
    EXPECT_EQ(finding.reduced.statements.size(), 1u);
  }
  EXPECT_EQ(*ReadFile((*store)->FindingFolder("abc") + "/repro.py"), "small");
  for (const report::Yield& y : summary->yields) {
    if (y.axis == "op" && y.name == "relu") {
      EXPECT_EQ(y.programs, 10);
    }
  }
}

TEST_F(StoreTest, MergeSaysWhenShardsOverlapOrDiffer) {
  CampaignRecord other = Record();
  other.environment = {{"torch", "2.11.0"}};
  auto a = Create(base_ + "/a", Record()), b = Create(base_ + "/b", other);
  for (uint64_t seed : {1, 2, 3}) ASSERT_TRUE(a->Record(Case(seed), {}, false).ok());
  for (uint64_t seed : {3, 4}) ASSERT_TRUE(b->Record(Case(seed), {}, false).ok());
  a.reset();
  b.reset();
  const auto merged = Merge({base_ + "/a", base_ + "/b"}, out_);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(merged->programs, 4);
  EXPECT_EQ(merged->overlaps, 1);
  ASSERT_EQ(merged->warnings.size(), 2u);
  EXPECT_EQ(merged->warnings[0],
            base_ + "/a and " + base_ + "/b differ in torch version: 2.15.0, 2.11.0");
  EXPECT_EQ((*Store::Read(out_))->Summary()->warnings.size(), 2u);
}

TEST_F(StoreTest, MergeLeavesNothingBehindWhenItCannot) {
  Create(base_ + "/a", Record()).reset();
  const auto merged = Merge({base_ + "/a", base_ + "/none"}, out_);
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().kind, ErrorKind::kUsage);
  EXPECT_FALSE(Exists(out_));
  // A store that is there is not touched.
  EXPECT_FALSE(Merge({base_ + "/a"}, base_ + "/a").ok());
  EXPECT_TRUE(Store::Read(base_ + "/a").ok());
}

}  // namespace
}  // namespace gradfuzz::store
