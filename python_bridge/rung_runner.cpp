// SPDX-License-Identifier: BSD-3-Clause
#include "rung_runner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "bridge.h"
#include "gradfuzz/evaluate/dispatched.h"
#include "gradfuzz/evaluate/host_check.h"
#include "gradfuzz/oracle/self_check.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/program/pack.h"

namespace gradfuzz::bridge {
namespace {

using evaluate::ExecuteOptions;
using evaluate::Observation;
using oracle::RungRun;
using program::Program;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What stands before the function in its text, and the function's first line.
constexpr std::string_view kPreamble = "import torch\n\n\n";
constexpr int kFirstLine = 1 + static_cast<int>(std::ranges::count(kPreamble, '\n'));

// Where the parts of one program lie within a pack.
struct Share {
  size_t storage = 0, leaf = 0, output = 0;
};

std::vector<Share> SharesOf(const std::vector<Program>& programs) {
  std::vector<Share> shares;
  Share next;
  for (const Program& program : programs) {
    shares.push_back(next);
    next.storage += program.storages.size();
    next.leaf += program.leaves.size();
    next.output += program.outputs.size();
  }
  return shares;
}

template <typename T>
std::vector<T> Cut(const std::vector<T>& all, size_t first, size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

// What the pack's observation says of one of its programs.
Observation Split(const Observation& packed, const Program& program, const Share& share) {
  Observation own;
  own.error = packed.error;
  own.error_kind = packed.error_kind;
  if (!packed.ok()) return own;
  const size_t outputs = program.outputs.size();
  own.outputs = Cut(packed.outputs, share.output, outputs);
  own.output_requires_grad = Cut(packed.output_requires_grad, share.output, outputs);
  own.gradients = Cut(packed.gradients, share.leaf, program.leaves.size());
  own.storages_after = Cut(packed.storages_after, share.storage, program.storages.size());
  for (int alias : Cut(packed.aliases_storage, share.output, outputs)) {
    own.aliases_storage.push_back(alias < 0 ? alias : alias - static_cast<int>(share.storage));
  }
  for (int alias : Cut(packed.aliases_output, share.output, outputs)) {
    own.aliases_output.push_back(alias - static_cast<int>(share.output));
  }
  return own;
}

std::optional<bool> DynamicFlag(const Program& program) {
  switch (program.call.dynamic) {
    case program::CallPlan::Dynamic::kYes:
      return true;
    case program::CallPlan::Dynamic::kNo:
      return false;
    case program::CallPlan::Dynamic::kDefault:
      break;
  }
  return std::nullopt;
}

// The program's own config, and on top of it what the request sets.
Knobs WithConfig(const Program& program, const Knobs& knobs) {
  Knobs all = program::ConfigKnobs(program.call);
  all.insert(all.end(), knobs.begin(), knobs.end());
  return all;
}

// One compiled function and the programs that it holds.
class Pack {
 public:
  Pack(std::vector<Program> programs, const RunOptions& options, std::string rung, Knobs knobs)
      : programs_(std::move(programs)),
        shares_(SharesOf(programs_)),
        packed_(program::Pack(programs_)),
        options_(options),
        rung_(std::move(rung)),
        knobs_(std::move(knobs)),
        device_(options.device) {}

  // Compiles and runs all draws. RETURNS: false when it raised, or nothing was compiled.
  bool Run() {
    const double start = Now();
    const bool done = CompileAndRun();
    seconds_ = Now() - start;
    return done;
  }

  Observation Execute(int draw, const std::vector<at::Tensor>* cotangents, bool second = false) {
    ExecuteOptions execute;
    execute.draw = draw;
    execute.device = device_;
    execute.cotangents = cotangents;
    return compiled_->Run(second ? program::SecondCall(packed_) : packed_, execute);
  }

  // With a law's cotangents: one run for all programs of the pack.
  Observation Rerun(size_t index, oracle::Law law, const std::vector<at::Tensor>& cotangents) {
    if (programs_.size() == 1) return Execute(0, &cotangents);
    auto run = under_law_.find(law);
    if (run == under_law_.end()) {
      const auto recipe = oracle::RecipeCotangents(packed_, draws_.front());
      const std::vector<at::Tensor> all = oracle::CotangentsUnder(law, recipe);
      run = under_law_.emplace(law, Execute(0, &all)).first;
    }
    return Split(run->second, programs_[index], shares_[index]);
  }

  // Where Run failed: for each program whether the error may be its own. The one whose line the
  // error names; without a line, those that come down to an operator that it names; where that
  // tells none or not one from another, the first half.
  // Some are suspects and some are not. REQUIRES: there are two or more.
  std::vector<bool> Suspects() const {
    std::vector<bool> suspects(size(), false);
    if (const std::optional<size_t> culprit = ProgramOfLine()) {
      suspects[*culprit] = true;
      return suspects;
    }
    const std::set<std::string> named = evaluate::OperatorsNamed(error_);
    if (!named.empty()) {
      for (size_t i = 0; i < size(); ++i) {
        const auto runs = evaluate::DispatchedOperators(programs_[i], device_);
        suspects[i] = std::ranges::any_of(named, [&](const auto& op) { return runs.contains(op); });
      }
    }
    const auto count = std::ranges::count(suspects, true);
    if (count == 0 || count == std::ssize(suspects)) {
      for (size_t i = 0; i < size(); ++i) suspects[i] = i < size() / 2;
    }
    return suspects;
  }

  size_t size() const { return programs_.size(); }
  double SecondsEach() const { return seconds_ / static_cast<double>(size()); }
  const Program& program(size_t index) const { return programs_[index]; }

  // REQUIRES: Run was called; `self` owns this.
  static RungRun Report(const std::shared_ptr<Pack>& self, size_t index) {
    RungRun run;
    run.rung = self->rung_;
    run.device = self->options_.device;
    run.seconds = self->SecondsEach();
    if (self->compiled_) {
      run.graphs = self->compiled_->graphs();
      run.graph_breaks = self->compiled_->graph_breaks();
    }
    if (!self->error_.empty()) {
      run.error = self->error_;
      run.error_verdict = self->error_kind_ == "compile"       ? Verdict::kCompileError
                          : self->error_kind_ == "unsupported" ? Verdict::kUnsupported
                                                               : Verdict::kRuntimeError;
      return run;
    }
    const Program& program = self->programs_[index];
    const Share& share = self->shares_[index];
    for (const Observation& draw : self->draws_) run.draws.push_back(Split(draw, program, share));
    for (const Observation& draw : self->second_draws_) {
      run.second_draws.push_back(Split(draw, program, share));
    }
    run.repeats.push_back(Split(self->repeat_, program, share));
    run.rerun = [self, index](oracle::Law law, const std::vector<at::Tensor>& cotangents) {
      return self->Rerun(index, law, cotangents);
    };
    run.recompile = [self, index](const Knobs& knobs) -> std::optional<RungRun> {
      Knobs all = self->knobs_;
      all.insert(all.end(), knobs.begin(), knobs.end());
      auto alone = std::make_shared<Pack>(std::vector<Program>{self->programs_[index]},
                                          self->options_, self->rung_, std::move(all));
      alone->Run();
      return Report(alone, 0);
    };
    return run;
  }

 private:
  std::optional<size_t> ProgramOfLine() const {
    const std::string where = "File \"" + name_ + "\", line ";
    const size_t at = error_.rfind(where);
    if (at == std::string::npos) return std::nullopt;
    const int line = std::atoi(error_.c_str() + at + where.size()) - kFirstLine;
    const std::vector<int> owners = program::StatementOfLine(packed_);
    if (line < 0 || line >= std::ssize(owners)) return std::nullopt;
    int statement = owners[static_cast<size_t>(line)];
    for (size_t i = 0; i < programs_.size() && statement >= 0; ++i) {
      statement -= static_cast<int>(programs_[i].statements.size());
      if (statement < 0) return i;
    }
    return std::nullopt;
  }

  bool CompileAndRun() {
    static uint64_t serial = 0;
    name_ = "<gradfuzz program " + std::to_string(serial++) + ">";
    auto made = CompiledRung::Make({std::string(kPreamble) + program::EmitFunction(packed_), name_,
                                    rung_, WithConfig(packed_, knobs_), DynamicFlag(packed_),
                                    options_.fault, options_.fast, size() > 1});
    if (!made) {
      error_ = made.error().message;
      error_kind_ = "runtime";
      return false;
    }
    compiled_ = std::move(*made);
    if (packed_.call.no_grad_first) {
      at::NoGradGuard no_grad;
      Program forward_only = packed_;
      forward_only.call.backward = program::CallPlan::Backward::kNone;
      ExecuteOptions execute;
      execute.device = device_;
      (void)compiled_->Run(forward_only, execute);
    }
    for (int draw = 0; draw < std::max(options_.draws, 1); ++draw) {
      draws_.push_back(Execute(draw, nullptr));
      if (!draws_.back().ok()) {
        error_ = draws_.back().error;
        error_kind_ = draws_.back().error_kind;
        return false;
      }
    }
    // The same values once more: a rung that differs from itself is nondeterministic. Before the
    // second call, whose sizes and floats may have the first ones run by another graph.
    repeat_ = Execute(0, nullptr);
    if (!packed_.call.second_leaves.empty()) {
      for (int draw = 0; draw < std::max(options_.draws, 1); ++draw) {
        second_draws_.push_back(Execute(draw, nullptr, true));
        if (!second_draws_.back().ok()) {
          error_ = "second call: " + second_draws_.back().error;
          error_kind_ = second_draws_.back().error_kind;
          return false;
        }
      }
    }
    if (rung_ != "eager" && compiled_->graphs() == 0) {
      // To compare it with eager would be to compare eager with itself.
      error_ = "nothing was compiled: Dynamo runs the program as it is";
      error_kind_ = "unsupported";
      return false;
    }
    return true;
  }

  std::vector<Program> programs_;
  std::vector<Share> shares_;
  Program packed_;
  RunOptions options_;
  std::string rung_;
  Knobs knobs_;
  std::string name_;  // of its text, in tracebacks
  at::Device device_;
  std::unique_ptr<CompiledRung> compiled_;
  std::vector<Observation> draws_, second_draws_;
  Observation repeat_;
  std::map<oracle::Law, Observation> under_law_;
  std::string error_, error_kind_;
  double seconds_ = 0;
};

// One rung for the programs at `members`, compiled together; appends one RungRun to each of `runs`.
// When that fails, the suspects together, and the others: the one that does not compile or run must
// not cost the others their pack.
// `lost`: what attempts that failed took before, in seconds for each program.
void RunTogether(const std::vector<Program>& programs, const std::vector<size_t>& members,
                 const RunOptions& options, const std::string& rung,
                 std::vector<std::vector<RungRun>>* runs, double lost = 0) {
  std::vector<Program> packed;
  for (size_t i : members) packed.push_back(programs[i]);
  auto together = std::make_shared<Pack>(std::move(packed), options, rung, options.knobs);
  if (together->Run() || members.size() == 1) {
    for (size_t k = 0; k < members.size(); ++k) {
      (*runs)[members[k]].push_back(Pack::Report(together, k));
      (*runs)[members[k]].back().seconds += lost;
    }
    return;
  }
  lost += together->SecondsEach();
  const std::vector<bool> suspected = together->Suspects();
  together.reset();
  std::vector<size_t> suspects, others;
  for (size_t k = 0; k < members.size(); ++k) {
    (suspected[k] ? suspects : others).push_back(members[k]);
  }
  RunTogether(programs, others, options, rung, runs, lost);
  RunTogether(programs, suspects, options, rung, runs, lost);
}

// The whole ladder. What eager rejects goes no further; what another rung rejects is alone from
// there on.
void Climb(const std::vector<Program>& programs, std::vector<size_t> members,
           const RunOptions& options, const OnPhase& on_phase,
           std::vector<std::vector<RungRun>>* runs) {
  std::vector<size_t> alone;
  for (const std::string& rung : options.rungs) {
    on_phase(rung);
    if (!members.empty()) RunTogether(programs, members, options, rung, runs);
    for (size_t i : alone) RunTogether(programs, {i}, options, rung, runs);
    std::vector<size_t> still;
    for (size_t i : members) {
      if ((*runs)[i].back().error.empty()) {
        still.push_back(i);
      } else if (rung != "eager") {
        alone.push_back(i);
      }
    }
    members = std::move(still);
  }
}

// Eager's error, of a program that must not be tried on a GPU; none where it may.
std::optional<RungRun> RefusedForGpu(const Program& program, const RunOptions& options) {
  if (!at::Device(options.device).is_cuda()) return std::nullopt;
  RungRun run;
  run.error = evaluate::OutOfRange(program, std::max(options.draws, 1));
  if (run.error.empty()) return std::nullopt;
  run.rung = "eager";
  run.device = options.device;
  run.error_verdict = Verdict::kRuntimeError;
  return run;
}

}  // namespace

std::vector<std::vector<RungRun>> RunRungs(const std::vector<Program>& programs,
                                           const RunOptions& options, const OnPhase& on_phase) {
  Reset();
  std::vector<std::vector<RungRun>> runs(programs.size());
  std::vector<std::vector<size_t>> packs;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (auto refused = RefusedForGpu(programs[i], options)) {
      runs[i].push_back(std::move(*refused));
      continue;
    }
    if (!program::IsPackable(programs[i])) {
      Climb(programs, {i}, options, on_phase, &runs);
      continue;
    }
    const auto pack = std::ranges::find_if(packs, [&](const std::vector<size_t>& members) {
      return program::PackTogether(programs[members.front()], programs[i]);
    });
    if (pack == packs.end()) {
      packs.push_back({i});
    } else {
      pack->push_back(i);
    }
  }
  for (const std::vector<size_t>& pack : packs) Climb(programs, pack, options, on_phase, &runs);
  return runs;
}

}  // namespace gradfuzz::bridge
