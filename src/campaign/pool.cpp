// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/pool.h"

#include <signal.h>

#include <algorithm>
#include <map>

#include "gradfuzz/campaign/run_folder.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::campaign {
namespace {

using nlohmann::json;

constexpr int kStartTries = 3;
// How often an item may see an unspoilt worker killed by somebody else before it is blamed: once
// is chance (the kernel was short of memory because of others), twice in a row is not.
constexpr int kOutsiderLosses = 2;
// A client that has nothing for now is asked again after this time.
constexpr auto kLater = std::chrono::milliseconds(50);
constexpr auto kTick = std::chrono::milliseconds(200);

CaseResult NotRun(const WorkItem& item, const std::string& note) {
  CaseResult result;
  result.seed = item.seed;
  result.program = item.program;
  result.outcome.verdict = Verdict::kInvalid;
  result.outcome.note = note;
  return result;
}

std::string Describe(const WorkItem& item) {
  return item.seed ? "seed " + std::to_string(*item.seed) : "a program";
}

}  // namespace

const char* Name(PoolEvent::Kind kind) {
  switch (kind) {
    case PoolEvent::Kind::kStarted:
      return "started";
    case PoolEvent::Kind::kLost:
      return "lost";
    case PoolEvent::Kind::kBlamed:
      return "blamed";
    case PoolEvent::Kind::kRecycled:
      return "recycled";
    case PoolEvent::Kind::kStartFailed:
      return "start failed";
  }
  return "?";
}

// Either items to run or one question. The callbacks are called from the slot's thread.
struct WorkerPool::Job {
  Batch batch;
  std::function<void(size_t item, CaseResult)> deliver;
  std::function<void(size_t item, const std::string& why)> skip;  // was not run
  bool refusal_is_fatal = false;  // no use to go on when the worker refuses the options
  std::optional<json> question;
  std::function<void(Result<json>)> answer;
  std::function<void()> settled;
};

struct WorkerPool::Slot {
  int index = 0;
  std::unique_ptr<Worker> worker;
  std::thread thread;
};

WorkerPool::WorkerPool(PoolOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<WorkerPool>> WorkerPool::Create(PoolOptions options) {
  options.workers = std::max(options.workers, 1);
  options.batch = std::max(options.batch, 1);
  if (options.temp_folder.empty()) options.temp_folder = TempFolder();
  if (!options.interrupted) options.interrupted = [] { return false; };
  std::unique_ptr<WorkerPool> pool(new WorkerPool(std::move(options)));
  if (Status opened = pool->Open(); !opened) return opened.error();
  return pool;
}

Status WorkerPool::Open() {
  RemoveStaleRunFolders(options_.temp_folder);
  auto folder = MakeRunFolder(options_.temp_folder);
  if (!folder) return folder.error();
  folder_ = folder->path;
  folder_lock_ = std::move(folder->lock);
  auto guardian = Guardian::Start();
  if (!guardian) return guardian.error();
  guardian_ = std::move(*guardian);

  // Workers are started by the threads that own them, and by no other.
  std::unique_lock<std::mutex> lock(mutex_);
  for (int i = 0; i < options_.workers; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    Slot* slot = slots_.back().get();
    slot->index = i;
    slot->thread = std::thread([this, slot, i] { SlotMain(slot, i == 0); });
  }
  settled_.wait(lock, [&] { return opened_.has_value(); });
  return *opened_;
}

WorkerPool::~WorkerPool() {
  closing_ = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_.notify_all();
  }
  for (auto& slot : slots_) slot->thread.join();
  slots_.clear();
  guardian_.reset();
  if (!folder_.empty()) RemoveTree(folder_);
}

bool WorkerPool::Stopping() const { return closing_ || options_.interrupted(); }
bool WorkerPool::Interrupted() const { return options_.interrupted(); }

std::optional<Error> WorkerPool::Failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void WorkerPool::Fail(Error error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  has_failed_ = true;
  work_.notify_all();
  settled_.notify_all();
}

void WorkerPool::Event(PoolEvent::Kind kind, const Slot& slot, std::string detail) const {
  if (options_.on_event) options_.on_event({kind, slot.index, std::move(detail)});
}

void WorkerPool::SlotMain(Slot* slot, bool first) {
  // Signals are for the main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  if (first) {
    const std::string folder = JoinPath(folder_, "w" + std::to_string(generation_++));
    auto worker = Worker::Start(options_.worker, slot->index, folder, guardian_.get(),
                                [this] { return Stopping(); });
    const std::lock_guard<std::mutex> lock(mutex_);
    if (worker) {
      description_ = (*worker)->description();
      slot->worker = std::move(*worker);
      opened_ = Status();
    } else {
      opened_ = Status(worker.error());
    }
    settled_.notify_all();
  }
  while (std::unique_ptr<Job> job = NextJob()) {
    Execute(slot, job.get());
    const std::lock_guard<std::mutex> lock(mutex_);
    job->settled();
    settled_.notify_all();
  }
  slot->worker.reset();
}

std::unique_ptr<WorkerPool::Job> WorkerPool::NextJob() {
  std::unique_lock<std::mutex> lock(mutex_);
  const double since = MonotonicSeconds();
  for (;;) {
    if (closing_) return nullptr;
    if (!jobs_.empty()) {
      std::unique_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      return job;
    }
    if (stream_ == nullptr) {
      work_.wait(lock);
      continue;
    }
    if (failure_ || options_.interrupted()) {
      stream_ = nullptr;
      settled_.notify_all();
      continue;
    }
    Batch batch;
    const StreamClient::Next next = stream_->Pull(&batch, MonotonicSeconds() - since);
    if (next == StreamClient::Next::kEnd) {
      stream_ = nullptr;
      settled_.notify_all();
    } else if (next == StreamClient::Next::kLater) {
      work_.wait_for(lock, kLater);
    } else {
      ++stream_jobs_;
      auto job = std::make_unique<Job>();
      job->batch = std::move(batch);
      const RunOptions run = job->batch.run;
      job->deliver = [this, run](size_t, CaseResult result) {
        const std::lock_guard<std::mutex> inner(mutex_);
        stream_results_.emplace_back(run, std::move(result));
        settled_.notify_all();
      };
      job->skip = [](size_t, const std::string&) {};
      job->settled = [this] { --stream_jobs_; };
      job->refusal_is_fatal = true;
      return job;
    }
  }
}

void WorkerPool::Execute(Slot* slot, Job* job) {
  if (job->question) {
    ExecuteAsk(slot, job);
  } else {
    ExecuteItems(slot, job);
  }
  if (slot->worker == nullptr) return;
  const int64_t rss = slot->worker->RssBytes();
  for (int64_t peak = peak_rss_; peak < rss && !peak_rss_.compare_exchange_weak(peak, rss);) {
  }
  if (slot->worker->programs() >= options_.recycle_after || rss > options_.rss_limit) {
    Event(PoolEvent::Kind::kRecycled, *slot,
          "after " + std::to_string(slot->worker->programs()) + " programs at " +
              std::to_string(rss >> 20) + " MiB");
    slot->worker.reset();
  }
}

Result<Worker*> WorkerPool::EnsureWorker(Slot* slot, std::unique_ptr<Worker>* place) {
  if (*place != nullptr && !(*place)->Alive()) {
    Event(PoolEvent::Kind::kLost, *slot, "died while it had nothing to do");
    place->reset();
  }
  if (*place != nullptr) return place->get();
  Error error;
  for (int tries = 0; tries < kStartTries && !Stopping(); ++tries) {
    const std::string folder = JoinPath(folder_, "w" + std::to_string(generation_++));
    auto worker = Worker::Start(options_.worker, slot->index, folder, guardian_.get(),
                                [this] { return Stopping(); });
    if (worker) {
      *place = std::move(*worker);
      Event(PoolEvent::Kind::kStarted, *slot, "process " + std::to_string((*place)->pid()));
      return place->get();
    }
    error = worker.error();
    Event(PoolEvent::Kind::kStartFailed, *slot, error.message);
  }
  if (Stopping()) return EnvironmentError("interrupted");
  Fail(error);
  return error;
}

void WorkerPool::ExecuteItems(Slot* slot, Job* job) {
  // A confirmation must owe nothing to what ran before: a worker of its own, with empty caches.
  std::unique_ptr<Worker> fresh;
  std::unique_ptr<Worker>* place = job->batch.run.fresh_caches ? &fresh : &slot->worker;

  std::deque<size_t> left;
  for (size_t i = 0; i < job->batch.items.size(); ++i) left.push_back(i);
  bool one_at_a_time = false;
  std::map<size_t, int> outsider_losses;
  while (!left.empty()) {
    std::string why_not;
    if (Stopping()) {
      why_not = "interrupted";
    } else if (const auto failure = Failure()) {
      why_not = failure->message;
    }
    Worker* worker = nullptr;
    if (why_not.empty()) {
      auto ready = EnsureWorker(slot, place);
      if (ready) {
        worker = *ready;
      } else {
        why_not = ready.error().message;
      }
    }
    if (worker == nullptr) {
      for (size_t item : left) job->skip(item, why_not);
      return;
    }

    std::vector<size_t> sent(left.begin(), one_at_a_time ? left.begin() + 1 : left.end());
    EvaluateRequest request;
    for (size_t item : sent) request.items.push_back(job->batch.items[item]);
    request.generate = job->batch.generate;
    request.run = job->batch.run;
    if (one_at_a_time) request.run.pack = 1;
    const bool unspoilt = worker->requests() == 0 && worker->programs() == 0;
    const BatchEnd end = worker->Evaluate(
        request,
        [&](size_t i, CaseResult result) {
          left.erase(std::find(left.begin(), left.end(), sent[i]));
          job->deliver(sent[i], std::move(result));
        },
        [this] { return Stopping(); });

    switch (end.kind) {
      case BatchEnd::Kind::kDone:
        break;
      case BatchEnd::Kind::kRetired:
        Event(PoolEvent::Kind::kRecycled, *slot, "at its own wish");
        place->reset();
        break;
      case BatchEnd::Kind::kInterrupted:
        place->reset();
        break;
      case BatchEnd::Kind::kRefused:
        place->reset();
        if (end.error.kind == ErrorKind::kInternal && sent.size() == 1) {
          // gradfuzz's own fault with this one item; the others go on.
          left.erase(std::find(left.begin(), left.end(), sent[0]));
          job->deliver(sent[0], NotRun(job->batch.items[sent[0]],
                                       "internal error of the worker: " + end.error.message));
        } else if (end.error.kind == ErrorKind::kInternal) {
          one_at_a_time = true;
        } else if (job->refusal_is_fatal) {
          Fail(end.error);
        } else {
          for (size_t item : left) job->skip(item, end.error.message);
          return;
        }
        break;
      case BatchEnd::Kind::kLost: {
        const size_t suspect = sent[end.loss.item];
        Event(PoolEvent::Kind::kLost, *slot,
              end.loss.how + " on " + Describe(job->batch.items[suspect]) +
                  (end.loss.phase.empty() ? "" : " in phase " + end.loss.phase));
        place->reset();
        const auto at = std::find(left.begin(), left.end(), suspect);
        if (at == left.end()) {  // it answered that one and fell afterwards
          one_at_a_time = true;
          break;
        }
        left.erase(at);
        if (unspoilt && sent.size() == 1 &&
            (!end.loss.by_outsider || ++outsider_losses[suspect] >= kOutsiderLosses)) {
          Event(PoolEvent::Kind::kBlamed, *slot, Describe(job->batch.items[suspect]));
          job->deliver(suspect, Blame(slot, place, *job, job->batch.items[suspect], end.loss));
        } else {
          left.push_front(suspect);
          one_at_a_time = true;
        }
        break;
      }
    }
  }
}

CaseResult WorkerPool::Blame(Slot* slot, std::unique_ptr<Worker>* place, const Job& job,
                             const WorkItem& item, const Loss& loss) {
  CaseResult result;
  result.seed = item.seed;
  result.program = item.program ? item.program : loss.program;
  result.phase = loss.phase;
  result.worker = slot->index;
  Outcome& outcome = result.outcome;
  outcome.verdict = loss.verdict;
  outcome.note = "the worker " + loss.how;
  if (!loss.phase.empty()) outcome.note += " in phase " + loss.phase;
  const auto& rungs = job.batch.run.rungs;
  if (std::find(rungs.begin(), rungs.end(), loss.phase) != rungs.end()) {
    RungOutcome rung;
    rung.rung = loss.phase;
    rung.device = job.batch.run.device;
    rung.verdict = loss.verdict;
    rung.error = "the worker " + loss.how + (loss.output.empty() ? "" : "\n" + loss.output);
    // A process that dies in eager says nothing of the compiler.
    if (rung.rung != "eager") outcome.first_wrong_rung = rung.rung;
    outcome.rungs.push_back(std::move(rung));
  } else if (!loss.output.empty()) {
    outcome.note += "\n" + loss.output;
  }
  // Who died took the program along; another worker draws it again from the seed.
  if (!result.program && item.seed && loss.phase != "generate" && !loss.phase.empty()) {
    if (auto worker = EnsureWorker(slot, place)) {
      bool lost = false;
      const auto answer = (*worker)->Ask(
          {{"type", "generate"},
           {"items", json::array({{{"seed", *item.seed}}})},
           {"generate", ToJson(job.batch.generate)}},
          [this] { return Stopping(); }, &lost);
      if (lost) place->reset();
      if (answer && answer->contains("programs") && (*answer)["programs"].is_array() &&
          (*answer)["programs"].size() == 1) {
        if (auto program = program::FromJson((*answer)["programs"][0].value("program", json()))) {
          result.program = std::move(*program);
        }
      }
    }
  }
  return result;
}

void WorkerPool::ExecuteAsk(Slot* slot, Job* job) {
  for (;;) {
    auto worker = EnsureWorker(slot, &slot->worker);
    if (!worker) {
      job->answer(worker.error());
      return;
    }
    const bool unspoilt = (*worker)->requests() == 0 && (*worker)->programs() == 0;
    bool lost = false;
    auto answer = (*worker)->Ask(
        *job->question, [this] { return Stopping(); }, &lost);
    if (lost) {
      slot->worker.reset();
      if (!Stopping()) {
        Event(PoolEvent::Kind::kLost, *slot, answer.error().message);
        if (!unspoilt) continue;
      }
    }
    job->answer(std::move(answer));
    return;
  }
}

std::vector<CaseResult> WorkerPool::Run(const std::vector<WorkItem>& items,
                                        const GenerateOptions& generate, const RunOptions& run) {
  std::vector<CaseResult> results(items.size());
  // Small shares keep all workers busy to the end; a pack is never cut.
  size_t share = 1;
  if (!run.fresh_caches) {
    const auto workers = static_cast<size_t>(options_.workers);
    share = std::min(static_cast<size_t>(options_.batch), (items.size() + workers - 1) / workers);
    share = std::max({share, static_cast<size_t>(std::max(run.pack, 1)), size_t{1}});
  }
  std::unique_lock<std::mutex> lock(mutex_);
  size_t unsettled = 0;
  for (size_t start = 0; start < items.size(); start += share) {
    const size_t end = std::min(start + share, items.size());
    auto job = std::make_unique<Job>();
    job->batch.items.assign(items.begin() + static_cast<std::ptrdiff_t>(start),
                            items.begin() + static_cast<std::ptrdiff_t>(end));
    job->batch.generate = generate;
    job->batch.run = run;
    // Each result has its own place and `settled` comes under the lock: no lock needed here.
    job->deliver = [&results, start](size_t i, CaseResult result) {
      results[start + i] = std::move(result);
    };
    job->skip = [&results, &items, start](size_t i, const std::string& why) {
      results[start + i] = NotRun(items[start + i], why);
    };
    job->settled = [&unsettled] { --unsettled; };
    jobs_.push_back(std::move(job));
    ++unsettled;
  }
  work_.notify_all();
  settled_.wait(lock, [&] { return unsettled == 0; });
  return results;
}

Result<json> WorkerPool::Ask(const json& request) {
  std::optional<Result<json>> answer;
  bool settled = false;
  auto job = std::make_unique<Job>();
  job->question = request;
  job->answer = [&answer](Result<json> got) { answer = std::move(got); };
  job->settled = [&settled] { settled = true; };
  std::unique_lock<std::mutex> lock(mutex_);
  jobs_.push_back(std::move(job));
  work_.notify_all();
  settled_.wait(lock, [&] { return settled; });
  return *answer;
}

void WorkerPool::Stream(StreamClient* client) {
  std::unique_lock<std::mutex> lock(mutex_);
  stream_ = client;
  work_.notify_all();
  for (;;) {
    settled_.wait_for(lock, kTick, [&] {
      return !stream_results_.empty() || (stream_ == nullptr && stream_jobs_ == 0);
    });
    std::deque<std::pair<RunOptions, CaseResult>> results;
    results.swap(stream_results_);
    const bool over = stream_ == nullptr && stream_jobs_ == 0;
    // A stream that nobody pulls any more (all workers hang, say) must still notice Ctrl-C.
    if (failure_ || options_.interrupted()) stream_ = nullptr;
    lock.unlock();
    for (auto& [run, result] : results) client->OnResult(run, std::move(result));
    client->OnTick();
    if (over) return;
    lock.lock();
  }
}

}  // namespace gradfuzz::campaign
