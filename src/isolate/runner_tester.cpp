// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/runner_tester.h"

#include <algorithm>

#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/program/pack.h"

namespace gradfuzz::isolate {
namespace {

using program::Program;
using reduce::Answer;

// Programs compiled together: 0.40 s of CPU time a program at 16, 0.67 at 8, 2.2 alone; beyond 16
// it is no less.
constexpr int kPack = 16;

std::vector<WorkItem> Items(const std::vector<Program>& programs) {
  std::vector<WorkItem> items;
  for (const Program& p : programs) items.push_back({std::nullopt, p});
  return items;
}

}  // namespace

Answer AnswerFor(const Target& target, const std::set<std::string>& kinds,
                 const CaseResult& result) {
  const Target shown = TargetOf(result.outcome);
  if (shown == target) {
    const std::set<std::string> now = WrongKinds(result.outcome);
    const bool more = !kinds.empty() && !std::ranges::includes(kinds, now);
    return more ? Answer::kSlipped : Answer::kYes;
  }
  if (shown.bug == BugClass::kCrash || shown.bug == BugClass::kTimeout) return Answer::kUnresolved;
  if (shown.bug != BugClass::kNone) return Answer::kSlipped;
  if (result.outcome.verdict == Verdict::kIllConditioned || result.outcome.note == "interrupted") {
    return Answer::kUnresolved;
  }
  return Answer::kNo;
}

std::optional<std::vector<reduce::ValueInfo>> ValueInfosFrom(const nlohmann::json& answer) {
  std::vector<reduce::ValueInfo> infos;
  try {
    for (const nlohmann::json& value : answer.at("values")) {
      reduce::ValueInfo info;
      info.is_tensor = !value.is_null();
      if (info.is_tensor) {
        const auto dtype = program::DTypeFromName(value.at("dtype").get<std::string>());
        if (!dtype) return std::nullopt;
        info.dtype = *dtype;
        info.sizes = value.at("sizes").get<std::vector<int64_t>>();
        info.strides = value.at("strides").get<std::vector<int64_t>>();
        info.offset = value.value("offset", int64_t{0});
      }
      infos.push_back(std::move(info));
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return infos;
}

RunnerTester::RunnerTester(ProgramRunner& runner, Target target, RunOptions run,
                           nlohmann::json description)
    : runner_(runner),
      target_(std::move(target)),
      run_(std::move(run)),
      description_(std::move(description)) {
  run_.rungs = RungsAround(target_.rung, description_);
  run_.self_checks = target_.bug == BugClass::kSelfCheck;
}

RunOptions RunnerTester::SearchOptions() const {
  RunOptions run = run_;
  run.fresh_caches = false;
  run.fast = !strict_;
  // One program that does not compile costs its whole pack a second compilation.
  run.pack = strict_ || IsError(target_.bug) ? 1 : kPack;
  return run;
}

RunOptions RunnerTester::ConfirmOptions() const {
  RunOptions run = run_;
  run.fresh_caches = true;
  run.fast = false;
  run.pack = 1;
  return run;
}

std::vector<Answer> RunnerTester::Test(const std::vector<Program>& candidates) {
  return Answers(runner_.Run(Items(candidates), {}, SearchOptions()));
}

std::vector<Answer> RunnerTester::Confirm(const Program& program, int times) {
  const std::vector<Program> same(static_cast<size_t>(times), program);
  confirmations_ = runner_.Run(Items(same), {}, ConfirmOptions());
  return Answers(confirmations_);
}

std::vector<Answer> RunnerTester::Answers(const std::vector<CaseResult>& results) {
  if (kinds_.empty()) {  // what is asked first is the program to reduce
    for (const CaseResult& result : results) {
      if (TargetOf(result.outcome) == target_) kinds_.merge(WrongKinds(result.outcome));
    }
  }
  std::vector<Answer> answers;
  for (const CaseResult& result : results) answers.push_back(AnswerFor(target_, kinds_, result));
  return answers;
}

int RunnerTester::BatchSize(const Program& program) const {
  const bool packs = SearchOptions().pack > 1 && program::IsPackable(program);
  // What compiles alone is still spread over the workers; two each, so that none waits for long.
  return std::max(1, runner_.Parallelism()) * (packs ? kPack : 2);
}

std::optional<std::vector<reduce::ValueInfo>> RunnerTester::Shapes(const Program& program) {
  const auto answer = runner_.Ask({{"type", "shapes"}, {"program", program::ToJson(program)}});
  if (!answer) return std::nullopt;
  auto infos = ValueInfosFrom(*answer);
  // Fewer than values: a worker that does not list those of lists, say. Better none than wrong
  // ones.
  if (infos && infos->size() != static_cast<size_t>(program::ValueCount(program))) {
    return std::nullopt;
  }
  return infos;
}

}  // namespace gradfuzz::isolate
