// SPDX-License-Identifier: BSD-3-Clause
// A ProgramRunner that runs nothing: a predicate says which programs Inductor has wrong.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/message/runner.h"
#include "gradfuzz/program/json.h"
#include "unit/reduce/mini_eager.h"

namespace gradfuzz::testing {

class FakeRunner : public ProgramRunner {
 public:
  // What the rung "inductor" makes of a program: kAgree, or a verdict for a comparison of `what`.
  struct Result {
    Verdict verdict = Verdict::kAgree;
    std::string what = "grad x0";
    std::string error;
  };
  using Behaviour = std::function<Result(const program::Program&, const RunOptions&)>;

  explicit FakeRunner(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}

  std::vector<CaseResult> Run(const std::vector<WorkItem>& items, const GenerateOptions&,
                              const RunOptions& run) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++calls;
    std::vector<CaseResult> results;
    for (const WorkItem& item : items) {
      ++programs;
      if (run.fresh_caches) ++fresh;
      if (run.fast) ++fast;
      results.push_back(One(*item.program, run));
      results.back().seed = item.seed;
    }
    return results;
  }

  int Parallelism() const override { return 2; }

  gradfuzz::Result<nlohmann::json> Ask(const nlohmann::json& request) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string type = request.value("type", "");
    if (type == "describe") {
      nlohmann::json knobs = nlohmann::json::object();
      for (const std::string& name : request.value("knobs", std::vector<std::string>())) {
        knobs[name] = name != "inductor.online_softmax";  // an older torch
      }
      return nlohmann::json{{"type", "answer"},
                            {"torch", "2.11.0+cu130"},
                            {"devices", {"cpu"}},
                            {"rungs",
                             {"eager", "dynamo", "aot_eager", "aot_eager_decomp_partition",
                              "inductor_fallback", "inductor"}},
                            {"knobs", knobs}};
    }
    if (type == "shapes") {
      const auto program = program::FromJson(request.at("program"));
      const auto infos = program ? MiniEager(*program) : std::nullopt;
      if (!infos) return UsageError("eager rejects it");
      nlohmann::json values = nlohmann::json::array();
      for (const reduce::ValueInfo& info : *infos) {
        values.push_back({{"dtype", std::string(program::Info(info.dtype).name)},
                          {"sizes", info.sizes},
                          {"strides", info.strides},
                          {"offset", info.offset}});
      }
      return nlohmann::json{{"type", "answer"}, {"values", values}};
    }
    return InternalError("unknown request");
  }

  bool Interrupted() const override { return interrupted; }

  int calls = 0, programs = 0, fresh = 0, fast = 0;
  bool interrupted = false;

 private:
  CaseResult One(const program::Program& p, const RunOptions& run) {
    CaseResult result;
    result.program = p;
    Outcome& outcome = result.outcome;
    outcome.rungs.push_back({"eager", run.device});
    if (!MiniEager(p)) {
      outcome.verdict = outcome.rungs[0].verdict = Verdict::kInvalid;
      outcome.note = "eager rejects the program: sizes do not fit";
      return result;
    }
    for (const std::string& name : run.rungs) {
      if (name == "eager") continue;
      RungOutcome rung{name, run.device};
      if (name == "inductor") {
        const Result made = behaviour_(p, run);
        rung.verdict = made.verdict;
        rung.error = made.error;
        if (IsFinding(made.verdict) && made.error.empty()) {
          Comparison c;
          c.what = made.what;
          c.verdict = made.verdict;
          c.numel = c.wrong = 4;
          c.pattern = "all zero";
          rung.comparisons.push_back(c);
        }
        outcome.verdict = Graver(outcome.verdict, made.verdict);
        if (IsFinding(made.verdict)) outcome.first_wrong_rung = name;
      }
      outcome.rungs.push_back(std::move(rung));
    }
    return result;
  }

  Behaviour behaviour_;
  std::mutex mutex_;
};

inline FakeRunner::Result WrongIf(bool wrong) {
  return {wrong ? Verdict::kGradientMismatch : Verdict::kAgree};
}

// Wrong when diagonal_scatter feeds sum directly.
inline FakeRunner::Result ScatterSum(const program::Program& p, const RunOptions&) {
  return WrongIf(Feeds(p, "diagonal_scatter", "sum"));
}
// A setting that helps one operator by chance is neither the cause nor the workaround.
// Wrong when atan2 or another transcendental feeds amin or amax, unless the code is scalar.
inline FakeRunner::Result Extremum(const program::Program& p, const RunOptions& run) {
  for (const auto& [name, value] : run.knobs) {
    if (name == "inductor.cpp.simdlen" && value == 1) return WrongIf(false);
    if (name == "inductor.max_fusion_size") return WrongIf(false);
    if (name == "inductor.unroll_reductions_threshold" && Feeds(p, "sin", "amax") &&
        p.leaves[0].sizes.size() == 1 && p.leaves[0].sizes[0] < 3) {
      return WrongIf(false);
    }
  }
  bool wrong = false;
  for (const char* op : {"atan2", "asinh", "tanh", "sin", "exp", "hypot"}) {
    for (const char* extremum : {"amin", "amax"}) wrong = wrong || Feeds(p, op, extremum);
  }
  return WrongIf(wrong);
}

inline CaseResult Seen(FakeRunner& runner, const program::Program& p, uint64_t seed) {
  CaseResult result = runner.Run({{seed, p}}, {}, {})[0];
  result.seed = seed;
  return result;
}

}  // namespace gradfuzz::testing
