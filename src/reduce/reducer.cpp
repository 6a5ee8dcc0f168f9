// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/reducer.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "gradfuzz/program/cost.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/check.h"
#include "gradfuzz/support/hash.h"

namespace gradfuzz::reduce {
namespace {

using program::Program;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t HashOf(const Program& program) { return Fnv1a(program::ToJson(program).dump()); }

// A candidate with the pass that proposed it; pass == nullptr: several changes at once.
struct Trial {
  const Pass* pass = nullptr;
  Candidate candidate;
};

class Reduction {
 public:
  Reduction(const Program& original, Tester& tester, const ReduceOptions& options)
      : tester_(tester), options_(options), current_(original) {
    seconds_ = options.seconds ? options.seconds : SteadySeconds;
    start_ = seconds_();
  }

  ReduceResult Run() {
    if (const auto status = CheckOriginal()) return Finish(*status);
    history_.push_back(current_);
    for (bool strict : {false, true}) {
      if (strict) {
        // The quick test erred. Back to the last program that holds, and on with strict tests.
        if (!GoBack()) {
          return Finish(tester_.Interrupted() ? Status::kInterrupted : Status::kFlaky);
        }
        tester_.BeStrict();
        tried_.clear();
      }
      const Status status = Search();
      const std::vector<Answer> answers = Confirm(current_);
      if (tester_.Interrupted()) return Finish(Status::kInterrupted);
      result_.confirmed = Count(answers, Answer::kYes);
      if (result_.confirmed == options_.confirmations) return Finish(status);
    }
    // Even strict tests do not agree with each other.
    GoBack();
    return Finish(Status::kFlaky);
  }

 private:
  static int Count(const std::vector<Answer>& answers, Answer answer) {
    return static_cast<int>(std::count(answers.begin(), answers.end(), answer));
  }

  std::vector<Answer> Tally(std::vector<Answer> answers) {
    result_.queries += static_cast<int>(answers.size());
    result_.unresolved += Count(answers, Answer::kUnresolved);
    result_.slipped += Count(answers, Answer::kSlipped);
    return answers;
  }
  std::vector<Answer> Test(const std::vector<Program>& programs) {
    return Tally(tester_.Test(programs));
  }
  std::vector<Answer> Confirm(const Program& program) {
    return Tally(tester_.Confirm(program, options_.confirmations));
  }

  // RETURNS: the status to end with, or nothing when the original shows the bug every time.
  std::optional<Status> CheckOriginal() {
    std::vector<Answer> answers = Test({current_, current_, current_});
    if (tester_.Interrupted()) return Status::kInterrupted;
    const int yes = Count(answers, Answer::kYes);
    if (yes == static_cast<int>(answers.size())) return std::nullopt;
    // The quick test may be what hides it.
    tester_.BeStrict();
    answers = Confirm(current_);
    if (tester_.Interrupted()) return Status::kInterrupted;
    const int strict_yes = Count(answers, Answer::kYes);
    if (strict_yes == options_.confirmations) return std::nullopt;
    return yes + strict_yes > 0 ? Status::kFlaky : Status::kLost;
  }

  // What must hold of every candidate; what need not be run is not counted as a query.
  bool WorthTrying(const Candidate& candidate, const program::Cost& cost) {
    if (candidate.program.statements.empty()) return false;  // no operator, no bug in one
    if (!(program::CostOf(candidate.program) < cost)) return false;
    if (!program::Validate(candidate.program).empty()) return false;
    return tried_.insert(HashOf(candidate.program)).second;
  }

  // Called for each new current_.
  void FindFacts() {
    facts_ = Facts();
    if (auto values = tester_.Shapes(current_)) facts_.values = std::move(*values);
    if (history_.size() == 1) {
      facts_.wrong_outputs = options_.wrong_outputs;
      facts_.wrong_leaves = options_.wrong_leaves;
    }
  }

  // The next untried candidates, at most `size`; the boldest first.
  std::vector<Trial> NextBatch(size_t size) {
    std::vector<Trial> batch;
    const program::Cost cost = program::CostOf(current_);
    for (Candidate& candidate : folded_) {
      if (batch.size() < size && WorthTrying(candidate, cost)) {
        batch.push_back({nullptr, std::move(candidate)});
      }
    }
    folded_.clear();
    std::vector<std::vector<Candidate>> proposals;
    for (const Pass& pass : options_.passes) proposals.push_back(pass.propose(current_, facts_));
    std::vector<size_t> next(proposals.size(), 0);
    for (bool more = true; more && batch.size() < size;) {
      more = false;
      for (size_t p = 0; p < proposals.size(); ++p) {
        for (int taken = 0; taken < options_.passes[p].share && batch.size() < size;) {
          if (next[p] == proposals[p].size()) break;
          Candidate& candidate = proposals[p][next[p]++];
          more = true;
          if (!WorthTrying(candidate, cost)) continue;
          batch.push_back({&options_.passes[p], std::move(candidate)});
          ++taken;
        }
      }
    }
    return batch;
  }

  // Makes the changes that showed the bug, but were not chosen, again in the new program.
  void Fold(const std::vector<Trial>& batch, const std::vector<Answer>& answers, size_t chosen) {
    std::vector<size_t> others;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (answers[i] == Answer::kYes && i != chosen && batch[i].pass != nullptr) {
        others.push_back(i);
      }
    }
    // All of them, then each half: enough to go on where some do not go together.
    const size_t n = others.size(), half = n / 2;
    for (const auto& [first, last] : {std::pair{size_t{0}, n}, {size_t{0}, half}, {half, n}}) {
      Program folded = current_;
      std::string changes;
      for (size_t k = first; k < last; ++k) {
        const Trial& trial = batch[others[k]];
        const program::Cost cost = program::CostOf(folded);
        // The facts are those of current_: a change that needs newer ones fails when tested.
        for (Candidate& again : trial.pass->propose(folded, facts_)) {
          if (again.change != trial.candidate.change) continue;
          if (program::CostOf(again.program) < cost && program::Validate(again.program).empty()) {
            folded = std::move(again.program);
            changes += (changes.empty() ? "" : "; ") + trial.candidate.change;
          }
          break;
        }
      }
      if (!changes.empty()) folded_.push_back({std::move(folded), std::move(changes)});
    }
  }

  // RETURNS: why the search ended.
  Status Search() {
    FindFacts();
    while (true) {
      if (tester_.Interrupted()) return Status::kInterrupted;
      if (seconds_() - start_ >= options_.max_seconds && result_.queries >= options_.min_queries) {
        return Status::kTimeBudget;
      }
      const int left = options_.max_queries - result_.queries;
      if (left <= 0) return Status::kQueryBudget;
      const size_t size =
          static_cast<size_t>(std::min(left, std::max(1, tester_.BatchSize(current_))));
      std::vector<Trial> batch = NextBatch(size);
      if (batch.empty()) return Status::kMinimal;
      std::vector<Program> programs;
      for (const Trial& trial : batch) programs.push_back(trial.candidate.program);
      const std::vector<Answer> answers = Test(programs);
      GF_CHECK(answers.size() == programs.size(), "one answer per candidate");
      size_t best = batch.size();
      program::Cost best_cost;
      for (size_t i = 0; i < batch.size(); ++i) {
        if (answers[i] != Answer::kYes) continue;
        const program::Cost cost = program::CostOf(programs[i]);
        if (best == batch.size() || cost < best_cost) {
          best = i;
          best_cost = cost;
        }
      }
      if (best == batch.size()) continue;
      GF_CHECK(best_cost < program::CostOf(current_), "the cost falls");
      result_.path.push_back({batch[best].pass ? batch[best].pass->name : "several",
                              batch[best].candidate.change, result_.queries});
      current_ = std::move(batch[best].candidate.program);
      history_.push_back(current_);
      FindFacts();
      Fold(batch, answers, best);
    }
  }

  // From the last program, which was not confirmed, back to one that is: the one before it, then
  // halfway to the original each time. RETURNS: false when not even the original is.
  bool GoBack() {
    for (size_t keep = history_.size() - 1; keep >= 1; keep /= 2) {
      history_.resize(keep);
      result_.path.resize(keep - 1);
      current_ = history_.back();
      if (tester_.Interrupted()) return false;
      result_.confirmed = Count(Confirm(current_), Answer::kYes);
      if (result_.confirmed == options_.confirmations) return true;
    }
    return false;
  }

  ReduceResult Finish(Status status) {
    result_.program = std::move(current_);
    result_.status = status;
    result_.seconds = seconds_() - start_;
    return std::move(result_);
  }

  Tester& tester_;
  const ReduceOptions& options_;
  std::function<double()> seconds_;
  double start_ = 0;
  Program current_;
  std::vector<Program> history_;  // the original, then each accepted program
  std::unordered_set<uint64_t> tried_;
  std::vector<Candidate> folded_;
  Facts facts_;
  ReduceResult result_;
};

}  // namespace

const char* Name(Status status) {
  switch (status) {
    case Status::kMinimal:
      return "minimal";
    case Status::kQueryBudget:
      return "query budget";
    case Status::kTimeBudget:
      return "time budget";
    case Status::kInterrupted:
      return "interrupted";
    case Status::kFlaky:
      return "flaky";
    case Status::kLost:
      return "lost";
  }
  return "";
}

ReduceResult Reduce(const Program& program, Tester& tester, const ReduceOptions& options) {
  GF_CHECK(program::Validate(program).empty(), "only a valid program can be reduced");
  return Reduction(program, tester, options).Run();
}

}  // namespace gradfuzz::reduce
