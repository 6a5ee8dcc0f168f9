// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/ablation.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "gradfuzz/report/repro.h"

namespace gradfuzz::isolate {
namespace {

using nlohmann::json;

bool Exists(const json& description, const char* knob) {
  const auto knobs = description.find("knobs");
  // A worker that was not asked has not said no.
  return knobs == description.end() || !knobs->contains(knob) || knobs->at(knob) == true;
}

// Calls `work(i)` for i in [0, count), on `threads` threads.
void InParallel(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> pool;
  for (int t = 1; t < threads && static_cast<size_t>(t) < count; ++t) pool.emplace_back(loop);
  loop();
  for (std::thread& thread : pool) thread.join();
}

struct Trial {
  const Knob* knob;
  KnobResult* result;
  int neighbours = 0;  // in which it removes the bug, too
};

// Only a program that ran and is right says that the bug is gone: a setting under which it does not
// compile removes nothing.
bool IsRight(Verdict verdict) {
  return !IsFinding(verdict) && verdict != Verdict::kInvalid && verdict != Verdict::kUnsupported &&
         verdict != Verdict::kIllConditioned;
}

void Try(ProgramRunner& runner, const program::Program& program, const RunOptions& run,
         const Trial& trial) {
  RunOptions with = run;
  with.pack = 1;
  with.knobs.emplace_back(trial.knob->name, ValueOf(*trial.knob));
  const auto results = runner.Run({{std::nullopt, program}}, {}, with);
  if (results.empty()) return;
  const Outcome& outcome = results.front().outcome;
  trial.result->verdict = outcome.verdict;
  trial.result->removes = IsRight(outcome.verdict);
}

// How many of the neighbours are right under the setting.
int CountRight(ProgramRunner& runner, const std::vector<program::Program>& neighbours,
               const RunOptions& run, const Knob& knob) {
  RunOptions with = run;
  with.knobs.emplace_back(knob.name, ValueOf(knob));
  std::vector<WorkItem> items;
  for (const program::Program& p : neighbours) items.push_back({std::nullopt, p});
  const auto results = runner.Run(items, {}, with);
  return static_cast<int>(std::count_if(results.begin(), results.end(), [](const CaseResult& r) {
    return IsRight(r.outcome.verdict);
  }));
}

}  // namespace

Ablation Ablate(ProgramRunner& runner, const program::Program& program,
                const std::vector<program::Program>& neighbours, const Target& target,
                const RunOptions& run, const json& description) {
  Ablation ablation;
  const std::vector<const Knob*> knobs = KnobsFor(target.rung, target.device);
  for (const Knob* knob : knobs) {
    KnobResult result;
    result.knob = knob->name;
    result.value = ValueOf(*knob);
    result.meaning = knob->meaning;
    result.exists = Exists(description, knob->name);
    ablation.results.push_back(std::move(result));
  }
  std::vector<Trial> trials;
  for (size_t i = 0; i < knobs.size(); ++i) {
    if (ablation.results[i].exists) trials.push_back({knobs[i], &ablation.results[i]});
  }
  const int threads = std::max(1, runner.Parallelism());
  InParallel(trials.size(), threads, [&](size_t i) { Try(runner, program, run, trials[i]); });
  if (run.fast) {
    std::erase_if(trials, [](const Trial& trial) { return !trial.result->removes; });
    RunOptions plain = run;
    plain.fast = false;
    InParallel(trials.size(), threads, [&](size_t i) { Try(runner, program, plain, trials[i]); });
  }
  std::erase_if(trials, [](const Trial& trial) { return !trial.result->removes; });
  if (trials.size() > 1 && !neighbours.empty()) {
    InParallel(trials.size(), threads, [&](size_t i) {
      trials[i].neighbours = CountRight(runner, neighbours, run, *trials[i].knob);
    });
  }
  int most = 0;
  for (const Trial& trial : trials) most = std::max(most, trial.neighbours);
  const Knob* mildest = nullptr;
  for (const Trial& trial : trials) {
    if (trial.neighbours < most) continue;
    if (ablation.cause.empty()) ablation.cause = trial.knob->cause;
    if (mildest == nullptr || trial.knob->invasiveness < mildest->invasiveness) {
      mildest = trial.knob;
    }
  }
  if (mildest != nullptr) {
    ablation.workaround = report::KnobStatement(mildest->name, ValueOf(*mildest));
    ablation.cure = {mildest->name, ValueOf(*mildest)};
  }
  std::stable_partition(ablation.results.begin(), ablation.results.end(),
                        [](const KnobResult& result) { return result.exists; });
  return ablation;
}

}  // namespace gradfuzz::isolate
