// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/campaign.h"

#include <signal.h>

#include <algorithm>

#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/support/clock.h"

namespace gradfuzz::campaign {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr double kRateSeconds = 60;
constexpr double kIdlePatience =
    3;  // seconds; between two requests of the judge it is milliseconds
constexpr double kMemorySeconds = 20;
// Of the duration: how much longer what waits is judged when the time is up. --resume does the
// rest.
constexpr double kJudgingShare = 0.05;
// Every so many batches, one is neither packed nor compiled with quick flags: what screening hides
// shows there. At 2.2 s against 0.35 s a program it costs a sixth of the throughput.
constexpr int kPlainShare = 32;
// Towards the end batches shrink, down to this, so that all workers have work to the last.
constexpr uint64_t kSmallBatch = 8;

}  // namespace

void EventQueue::Push(const PoolEvent& event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(event);
}

std::vector<PoolEvent> EventQueue::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(events_, {});
}

bool IsMismatch(const CaseResult& result) {
  const Outcome& outcome = result.outcome;
  return IsFinding(outcome.verdict) && !outcome.first_wrong_rung.empty() &&
         outcome.first_wrong_rung != "eager" && result.program.has_value();
}

// Ends the sink's work when the campaign has failed, as an interrupt would.
class Campaign::Runner : public ProgramRunner {
 public:
  explicit Runner(Campaign* campaign) : campaign_(campaign) {}
  std::vector<CaseResult> Run(const std::vector<WorkItem>& items, const GenerateOptions& generate,
                              const RunOptions& run) override {
    return campaign_->pool_->Run(items, generate, run);
  }
  int Parallelism() const override { return campaign_->pool_->Parallelism(); }
  Result<nlohmann::json> Ask(const nlohmann::json& request) override {
    return campaign_->pool_->Ask(request);
  }
  bool Interrupted() const override {
    // Takes no lock: it is asked under ours, and the pool asks us (Pull) under its own.
    return campaign_->Failed() || campaign_->pool_->Interrupted() ||
           campaign_->pool_->HasFailed() || MonotonicSeconds() > campaign_->judge_until_;
  }

 private:
  Campaign* campaign_;
};

Campaign::Campaign(CampaignOptions options, WorkerPool* pool, store::Store* store,
                   FindingSink* sink, EventQueue* events, Progress* progress)
    : options_(std::move(options)),
      pool_(pool),
      store_(store),
      sink_(sink),
      events_(events),
      progress_(progress) {}

Campaign::~Campaign() = default;

void Campaign::Fail(Error error) {
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

size_t Campaign::WaitingCount() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size() + (judging_ ? 1 : 0);
}

Status Campaign::Prepare() {
  std::map<std::string, std::vector<uint64_t>> done;
  for (const std::string& device : options_.devices) {
    auto seeds = store_->SeedsDone(device);
    if (!seeds) return seeds.error();
    done[device] = std::move(*seeds);
  }
  plan_.emplace(options_.first_seed, options_.programs, options_.shard, options_.devices,
                std::move(done));
  auto pending = store_->Pending();
  if (!pending) return pending.error();
  if (!options_.judge) pending->clear();
  for (store::PendingMismatch& mismatch : *pending) {
    Waiting waiting;
    waiting.seed = mismatch.seed;
    waiting.run = options_.run;
    waiting.run.device = mismatch.device;
    waiting.mismatch.seed = mismatch.seed;
    waiting.mismatch.program = std::move(mismatch.program);
    waiting.again = true;
    waiting_.push_back(std::move(waiting));
  }
  began_late_ = options_.duration && store_->Elapsed() >= *options_.duration;
  auto summary = store_->Summary();
  if (!summary) return summary.error();
  for (const Finding& finding : summary->findings) {
    sink_->Remember(finding);
    state_.known += !finding.known_issue.empty();
  }
  state_.programs = summary->totals.programs;
  handed_out_ = static_cast<uint64_t>(state_.programs);
  state_.mismatches = summary->totals.mismatches;
  state_.findings = static_cast<int64_t>(summary->findings.size());
  return {};
}

size_t Campaign::BatchSize() const {
  const auto whole = static_cast<uint64_t>(std::max(options_.batch, options_.run.pack));
  const std::optional<uint64_t> total = plan_->Total();
  if (!total) return whole;
  const uint64_t left = *total - std::min(*total, handed_out_);
  const auto workers = static_cast<uint64_t>(std::max(pool_->Parallelism(), 1));
  return std::clamp((left + workers - 1) / workers, std::min(kSmallBatch, whole), whole);
}

StreamClient::Next Campaign::Pull(Batch* batch, double idle) {
  if (Failed() || time_is_up_) return Next::kEnd;
  // What waits to be judged comes first, but one slow program under judgement stops nobody else.
  const bool behind = options_.judge && WaitingCount() > static_cast<size_t>(options_.max_waiting);
  if (behind && idle < kIdlePatience) return Next::kLater;
  // The judge's next request may come any moment: it waits for no long batch.
  const size_t size = BatchSize();
  auto [device, seeds] = plan_->Next(behind ? std::min<size_t>(size, kSmallBatch) : size);
  if (seeds.empty()) return Next::kEnd;
  handed_out_ += seeds.size();
  for (uint64_t seed : seeds) batch->items.push_back({seed, std::nullopt});
  batch->generate = options_.generate;
  batch->run = options_.run;
  batch->run.device = device;
  if (++batches_ % kPlainShare == 0) {
    batch->run.pack = 1;
    batch->run.fast = false;
  }
  return Next::kBatch;
}

void Campaign::OnResult(const RunOptions& run, CaseResult result) {
  if (Failed()) return;
  const bool mismatch = IsMismatch(result);
  if (Status recorded = store_->Record(result, run, mismatch); !recorded) {
    Fail(recorded.error());
    return;
  }
  ++state_.programs;
  state_.mismatches += IsFinding(result.outcome.verdict);
  if (!mismatch || !options_.judge) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  Waiting waiting;
  waiting.seed = *result.seed;
  waiting.run = run;
  waiting.mismatch = std::move(result);
  waiting_.push_back(std::move(waiting));
  wake_.notify_all();
}

void Campaign::OnTick() {
  if (options_.duration && store_->Elapsed() >= *options_.duration && !time_is_up_) {
    time_is_up_ = true;
    // A part that begins after the end is there to judge.
    if (!began_late_) judge_until_ = MonotonicSeconds() + kJudgingShare * *options_.duration;
  }
  if (events_ != nullptr && !Failed()) {
    for (const PoolEvent& event : events_->Take()) {
      if (Status logged = store_->LogEvent(Name(event.kind), event.worker, event.detail); !logged) {
        Fail(logged.error());
        return;
      }
    }
  }
  if (!Failed() && store_->Elapsed() >= next_memory_) {
    next_memory_ = store_->Elapsed() + kMemorySeconds;
    if (const int64_t rss = pool_->TakePeakRss(); rss > 0) {
      if (Status logged = store_->LogEvent("memory", -1, std::to_string(rss >> 20)); !logged) {
        Fail(logged.error());
      }
    }
  }
  TakeJudgements();
  ShowProgress();
}

void Campaign::TakeJudgements() {
  std::vector<Judged> judged;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    judged.swap(judged_);
  }
  for (Judged& one : judged) {
    if (Failed()) return;
    Judgement& judgement = one.judgement;
    // The folder first: what the store names is there.
    if (judgement.finding) {
      const std::string folder = store_->FindingFolder(judgement.finding->id);
      if (Status written = report::WriteFindingFolder(folder, *judgement.finding); !written) {
        Fail(written.error());
        return;
      }
    }
    if (Status settled = store_->Settle(one.seed, one.device, judgement); !settled) {
      Fail(settled.error());
      return;
    }
    if (judgement.fate != Judgement::Fate::kFinding) continue;
    const Finding& finding = *judgement.finding;
    const bool known = !finding.known_issue.empty();
    ++state_.findings;
    state_.known += known;
    if (progress_ != nullptr) {
      progress_->Note(std::string(known ? "known bug " : "new finding ") + finding.id + ": " +
                      report::Title(finding) + " (seed " + std::to_string(one.seed) + ")");
    }
  }
}

void Campaign::ShowProgress() {
  if (progress_ == nullptr) return;
  state_.seconds = store_->Elapsed();
  state_.waiting = static_cast<int64_t>(WaitingCount());
  recent_.emplace_back(state_.seconds, state_.programs);
  while (recent_.size() > 2 && recent_.front().first < state_.seconds - kRateSeconds) {
    recent_.pop_front();
  }
  const double span = state_.seconds - recent_.front().first;
  state_.per_second =
      span > 1 ? static_cast<double>(state_.programs - recent_.front().second) / span : 0;
  state_.fraction.reset();
  double fraction = 0;
  if (const auto total = plan_->Total(); total && *total > 0) {
    fraction = static_cast<double>(state_.programs) / static_cast<double>(*total);
  }
  if (options_.duration) fraction = std::max(fraction, state_.seconds / *options_.duration);
  if (options_.duration || plan_->Total()) state_.fraction = std::min(fraction, 1.0);
  progress_->Show(state_);
}

Judgement Campaign::JudgeOne(Waiting waiting) {
  Runner runner(this);
  if (waiting.again) {
    RunOptions run = waiting.run;
    run.pack = 1;
    auto results =
        runner.Run({WorkItem{waiting.seed, waiting.mismatch.program}}, options_.generate, run);
    if (runner.Interrupted()) return {};
    waiting.mismatch = std::move(results.at(0));
    if (!IsMismatch(waiting.mismatch)) return {Judgement::Fate::kUnconfirmed, "", std::nullopt};
  }
  return sink_->Judge(waiting.mismatch, options_.generate, waiting.run, runner);
}

std::string Campaign::KindOf(const Waiting& waiting) {
  if (waiting.again) return "";  // not known before it is run
  const Outcome& outcome = waiting.mismatch.outcome;
  return std::string(Name(outcome.verdict)) + " " + outcome.first_wrong_rung;
}

// What is recognised costs little. Of the rest, the kind of wrong that was judged least often: one
// frequent bug must not keep the others waiting. Within a kind the shortest, which are reduced
// soon.
std::deque<Campaign::Waiting>::iterator Campaign::NextToJudge() {
  const auto recognised = std::ranges::find_if(waiting_, [this](const Waiting& one) {
    return !one.again && sink_->Recognises(one.mismatch);
  });
  if (recognised != waiting_.end()) return recognised;
  return std::ranges::min_element(waiting_, {}, [this](const Waiting& one) {
    const auto kind = judged_kinds_.find(KindOf(one));
    return std::pair(kind == judged_kinds_.end() ? 0 : kind->second,
                     one.mismatch.program ? one.mismatch.program->statements.size() : 0);
  });
}

void Campaign::SinkMain() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const Runner runner(this);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    while (waiting_.empty() && !no_more_) wake_.wait_for(lock, kTick);
    if (waiting_.empty() || runner.Interrupted()) return;
    const auto next = NextToJudge();
    ++judged_kinds_[KindOf(*next)];
    Waiting waiting = std::move(*next);
    waiting_.erase(next);
    judging_ = true;
    const uint64_t seed = waiting.seed;
    const std::string device = waiting.run.device;
    lock.unlock();
    Judgement judgement = JudgeOne(std::move(waiting));
    lock.lock();
    judging_ = false;
    judged_.push_back({seed, device, std::move(judgement)});
    wake_.notify_all();
  }
}

CampaignEnd Campaign::Run() {
  CampaignEnd end;
  if (Status prepared = Prepare(); !prepared) {
    end.how = "failed";
    end.error = prepared.error();
    return end;
  }
  std::thread sink([this] { SinkMain(); });
  pool_->Stream(this);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    no_more_ = true;
    wake_.notify_all();
    const Runner runner(this);
    while ((!waiting_.empty() && !runner.Interrupted()) || judging_) {
      wake_.wait_for(lock, kTick);
      lock.unlock();
      OnTick();
      lock.lock();
    }
  }
  sink.join();
  OnTick();
  if (progress_ != nullptr) progress_->Clear();

  if (const auto failure = pool_->Failure(); failure && !error_) Fail(*failure);
  end.error = error_;
  end.interrupted = pool_->Interrupted();
  if (error_) {
    end.how = error_->message;
  } else if (end.interrupted) {
    end.how = "interrupted";
  } else if (time_is_up_) {
    end.how = "time is up";
  } else {
    end.how = "all programs done";
  }
  if (Status set = store_->SetEnd(end.how); !set && !end.error) end.error = set.error();
  return end;
}

}  // namespace gradfuzz::campaign
