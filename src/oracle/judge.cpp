// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/judge.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "gradfuzz/oracle/compare.h"
#include "gradfuzz/oracle/decide.h"
#include "gradfuzz/oracle/pattern.h"
#include "gradfuzz/oracle/refusals.h"
#include "gradfuzz/oracle/self_check.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {
namespace {

using evaluate::Observation;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One execution of a rung: which draw, which call of the plan.
struct RunKey {
  bool second = false;
  size_t draw = 0;

  auto operator<=>(const RunKey&) const = default;
};

// How bad, within one verdict.
double Excess(const Comparison& c) { return c.max_error / std::max(c.tolerance, 1e-300); }

bool Worse(const Comparison& a, const Comparison& b) {
  if (a.verdict != b.verdict) return Graver(a.verdict, b.verdict) == a.verdict;
  return Excess(a) > Excess(b);
}

// The layout of a tangent is autograd's choice, as that of a gradient is.
bool HasTangents(const program::Program& program) {
  const program::Region* transform = program::TransformOf(program);
  return transform != nullptr && transform->kind == program::Region::Kind::kJvp;
}

class Judgement {
 public:
  Judgement(const program::Program& program, const std::string& lane, std::vector<RungRun>& rungs,
            const JudgeOptions& options)
      : program_(program),
        second_program_(program.call.second_leaves.empty()
                            ? std::nullopt
                            : std::optional(program::SecondCall(program))),
        exact_(lane == "exact"),
        compare_strides_(options.compare_strides && !HasTangents(program)),
        rungs_(rungs),
        options_(options),
        precision_(PrecisionOf(program)),
        quantities_(Quantities(program)) {
    outcome_.lane = lane;
  }

  Outcome Run();

 private:
  const Observation* EagerAt(const RunKey& key) const { return At(rungs_.front(), key); }
  static const Observation* At(const RungRun& run, const RunKey& key) {
    const auto& draws = key.second ? run.second_draws : run.draws;
    return key.draw < draws.size() ? &draws[key.draw] : nullptr;
  }
  std::vector<RunKey> Keys() const;

  // What an execution ran.
  const program::Program& ProgramAt(const RunKey& key) const {
    return key.second ? *second_program_ : program_;
  }
  // The decider of one execution; nullptr when the reference cannot be computed.
  Decider* DeciderAt(const RunKey& key);
  Envelope* EnvelopeAt(const RunKey& key);

  bool RungError(const RungRun& run, RungOutcome* out) const;
  std::vector<Comparison> Repeats(const RungRun& run);
  std::vector<Comparison> CompareRun(const RungRun& run, const RunKey& key);
  std::vector<Comparison> CompareRung(const RungRun& run);
  Comparison Measure(const Quantity& quantity, const RunKey& key, const at::Tensor& eager,
                     const at::Tensor& got, const ElementReport* report);
  // What PyTorch's own rules say of two results; `fp64` may be null.
  void AskPyTorch(const at::Tensor& expected, const at::Tensor& got, const at::Tensor* fp64,
                  Comparison* c) const;
  void TryEmulatedCasts(const RungRun& run, RungOutcome* out);
  void RunSelfChecks(const RungRun& run, std::vector<Comparison>* comparisons);
  RungOutcome JudgeRung(const RungRun& run, bool is_eager);
  void Conclude();

  const program::Program& program_;
  const std::optional<program::Program> second_program_;  // set where there is a second call
  const bool exact_;
  const bool compare_strides_;
  std::vector<RungRun>& rungs_;
  const JudgeOptions& options_;
  const Precision precision_;
  const std::vector<Quantity> quantities_;
  struct Calibration {
    std::unique_ptr<Envelope> envelope;
    std::unique_ptr<Decider> decider;  // absent when the reference raised
  };
  std::map<RunKey, Calibration> calibrations_;
  Outcome outcome_;
  int64_t compared_ = 0, calibrated_ = 0, eager_off_ = 0, self_checks_ = 0, replays_ = 0;
};

std::vector<RunKey> Judgement::Keys() const {
  std::vector<RunKey> keys;
  for (size_t d = 0; d < rungs_.front().draws.size(); ++d) keys.push_back({false, d});
  for (size_t d = 0; d < rungs_.front().second_draws.size(); ++d) keys.push_back({true, d});
  return keys;
}

Envelope* Judgement::EnvelopeAt(const RunKey& key) {
  Calibration& calibration = calibrations_[key];
  if (!calibration.envelope) {
    ReplayOptions base;
    base.draw = static_cast<int>(key.draw);
    for (const at::Tensor& output : EagerAt(key)->outputs) {
      base.cotangent_types.push_back(output.scalar_type());
    }
    const uint64_t seed = Rng(options_.seed).Fork(key.second ? "second" : "first", key.draw).Next();
    calibration.envelope =
        std::make_unique<Envelope>(ProgramAt(key), precision_, std::move(base), seed);
    if (calibration.envelope->ok()) {
      calibration.decider = std::make_unique<Decider>(*calibration.envelope, exact_);
    }
  }
  return calibration.envelope->ok() ? calibration.envelope.get() : nullptr;
}

Decider* Judgement::DeciderAt(const RunKey& key) {
  return EnvelopeAt(key) == nullptr ? nullptr : calibrations_[key].decider.get();
}

bool Judgement::RungError(const RungRun& run, RungOutcome* out) const {
  std::string error = run.error;
  Verdict verdict = run.error_verdict;
  for (const auto* draws : {&run.draws, &run.second_draws, &run.repeats}) {
    for (const Observation& draw : *draws) {
      if (!error.empty() || draw.ok()) continue;
      error = draw.error;
      verdict = draw.error_kind == "compile"       ? Verdict::kCompileError
                : draw.error_kind == "unsupported" ? Verdict::kUnsupported
                                                   : Verdict::kRuntimeError;
    }
  }
  if (error.empty()) return false;
  out->error = error;
  out->verdict = verdict == Verdict::kAgree ? Verdict::kRuntimeError : verdict;
  if (FindRefusal(error) != nullptr) out->verdict = Verdict::kUnsupported;
  return true;
}

// Differences of a rung from itself that no order of additions explains.
std::vector<Comparison> Judgement::Repeats(const RungRun& run) {
  std::vector<Comparison> found;
  for (const Observation& repeat : run.repeats) {
    for (const Quantity& quantity : quantities_) {
      const at::Tensor* a = Find(run.draws[0], quantity);
      const at::Tensor* b = Find(repeat, quantity);
      if (a == nullptr && b == nullptr) continue;
      Comparison c;
      c.what = "repeat " + NameOf(program_, quantity);
      c.verdict = Verdict::kNondeterministic;
      if (a == nullptr || b == nullptr || a->sizes() != b->sizes() ||
          a->scalar_type() != b->scalar_type()) {
        c.note = "the same call gives another kind of result";
        found.push_back(std::move(c));
        continue;
      }
      if (a->numel() == 0 || SameValues(*a, *b)) continue;
      const Elements first = Flatten(*a), second = Flatten(*b);
      Envelope* envelope = exact_ ? nullptr : EnvelopeAt({});
      if (envelope != nullptr) envelope->Sample(kMaxSamples);
      std::vector<uint8_t> wrong(first.size(), 0);
      for (size_t i = 0; i < first.size(); ++i) {
        // Both lie within the tolerance of the reference if only the order differs.
        const double allowed =
            envelope == nullptr || first.discrete ? 0 : 2 * envelope->Tolerance(quantity, i);
        const bool same_class = first.Class(i) == second.Class(i);
        if (same_class && first.Class(i) != ValueClass::kFinite) continue;
        if (same_class && Distance(first, second, i) <= allowed) continue;
        wrong[i] = 1;
        ++c.wrong;
        const double error = Distance(first, second, i);
        if (std::isfinite(error)) c.max_error = std::max(c.max_error, error);
        c.tolerance = std::max(c.tolerance, allowed);
      }
      if (c.wrong == 0) continue;
      c.sizes = first.sizes;
      c.numel = static_cast<int64_t>(first.size());
      c.reference_scale = Scale(first);
      c.pattern = DescribePattern(first.sizes, first.Values(), second.Values(), wrong);
      c.wrong_at = SampledPositions(wrong);
      c.eager = c.reference = first.Values(kMaxSample);
      c.got = second.Values(kMaxSample);
      AskPyTorch(*a, *b,
                 envelope == nullptr ? nullptr : Find(envelope->reference().observation, quantity),
                 &c);
      c.note = "the same call on the same values gives another result";
      found.push_back(std::move(c));
    }
  }
  return found;
}

void Judgement::AskPyTorch(const at::Tensor& expected, const at::Tensor& got,
                           const at::Tensor* fp64, Comparison* c) const {
  c->assert_close = AssertClose(expected, got);
  if (!options_.same) return;
  c->pytorch_same =
      options_.same(expected, got, fp64 != nullptr ? fp64->to(expected.device()) : expected);
}

Comparison Judgement::Measure(const Quantity& quantity, const RunKey& key, const at::Tensor& eager,
                              const at::Tensor& got, const ElementReport* report) {
  Comparison c;
  const Elements expected = Flatten(eager), values = Flatten(got);
  Envelope* envelope = EnvelopeAt(key);
  const Elements* found = envelope == nullptr ? nullptr : envelope->Reference(quantity);
  const bool usable = found != nullptr && found->size() == values.size();
  const Elements& reference = usable ? *found : expected;
  AskPyTorch(eager, got, usable ? Find(envelope->reference().observation, quantity) : nullptr, &c);
  c.reference_scale = Scale(reference);
  c.reference = reference.Values(kMaxSample);
  c.eager = expected.Values(kMaxSample);
  c.got = values.Values(kMaxSample);
  std::vector<uint8_t> wrong(values.size(), 0);
  if (report != nullptr) {
    c.verdict = report->verdict;
    c.wrong = report->count;
    c.max_error = report->error;
    c.tolerance = report->tolerance;
    c.eager_error = report->eager_error;
    c.note = report->note;
    wrong = report->wrong;
  } else {
    // No reference: PyTorch's own default tolerances are all there is.
    const CloseTolerance close = AssertCloseDefaults(eager.scalar_type());
    for (size_t i = 0; i < values.size(); ++i) {
      const double error = Distance(values, expected, i);
      const double allowed = close.atol + close.rtol * expected.Modulus(i);
      const bool same_class = values.Class(i) == expected.Class(i);
      if (same_class && (values.Class(i) != ValueClass::kFinite || error <= allowed)) continue;
      wrong[i] = 1;
      ++c.wrong;
      c.verdict = Graver(c.verdict, same_class ? MismatchOf(quantity) : Verdict::kNanMismatch);
      if (same_class && error >= c.max_error) {
        c.max_error = error;
        c.tolerance = allowed;
      }
    }
    c.note = "no float64 reference: judged by assert_close's default tolerances";
  }
  if (c.wrong > 0) {
    c.pattern = DescribePattern(values.sizes, expected.Values(), values.Values(), wrong);
  }
  c.wrong_at = SampledPositions(wrong);
  return c;
}

std::vector<Comparison> Judgement::CompareRun(const RungRun& run, const RunKey& key) {
  const Observation& eager = *EagerAt(key);
  const Observation& got = *At(run, key);
  std::vector<Comparison> comparisons;
  std::vector<Quantity> suspicious;
  for (const Quantity& quantity : quantities_) {
    const CheapResult cheap =
        CompareCheaply(program_, quantity, eager, got, {exact_, compare_strides_});
    const at::Tensor* a = Find(eager, quantity);
    if (a != nullptr || Find(got, quantity) != nullptr) ++compared_;
    if (cheap.suspicious) {
      suspicious.push_back(quantity);
      continue;
    }
    Comparison c;
    c.what = NameOf(program_, quantity);
    c.verdict = cheap.verdict;
    c.note = cheap.note;
    if (a != nullptr) {
      c.sizes = a->sizes().vec();
      c.numel = a->numel();
    }
    comparisons.push_back(std::move(c));
  }
  if (!suspicious.empty()) {
    outcome_.calibrated = true;
    calibrated_ += static_cast<int64_t>(suspicious.size());
    const double start = Now();
    Decider* decider = DeciderAt(key);
    std::map<Quantity, ElementReport> reports;
    if (decider != nullptr) reports = decider->Decide(eager, got, suspicious);
    std::vector<Quantity> right;
    for (const Quantity& quantity : suspicious) {
      const auto report = reports.find(quantity);
      const bool judged = report != reports.end();
      Comparison c = Measure(quantity, key, *Find(eager, quantity), *Find(got, quantity),
                             judged ? &report->second : nullptr);
      c.what = NameOf(program_, quantity);
      c.sizes = Find(got, quantity)->sizes().vec();
      c.numel = Find(got, quantity)->numel();
      if (judged && report->second.eager_off) ++eager_off_;
      if (c.verdict == Verdict::kAgree) right.push_back(quantity);
      comparisons.push_back(std::move(c));
    }
    if (decider != nullptr) decider->Trust(got, right);
    outcome_.reference_seconds += Now() - start;
  }
  for (Comparison& c : comparisons) {
    c.draw = static_cast<int>(key.draw);
    if (key.second) c.what += " (second call)";
  }
  return comparisons;
}

// The worst over all draws, one per quantity and call.
std::vector<Comparison> Judgement::CompareRung(const RungRun& run) {
  std::vector<Comparison> worst;
  for (const RunKey& key : Keys()) {
    if (At(run, key) == nullptr) continue;
    for (Comparison& c : CompareRun(run, key)) {
      const auto same = std::find_if(worst.begin(), worst.end(),
                                     [&](const Comparison& w) { return w.what == c.what; });
      if (same == worst.end()) {
        worst.push_back(std::move(c));
      } else if (Worse(c, *same)) {
        *same = std::move(c);
      }
    }
  }
  return worst;
}

// Compiled code may keep float16 and bfloat16 intermediates in float32, and says so: the knob that
// rounds them as eager does tells that trade-off from a bug.
void Judgement::TryEmulatedCasts(const RungRun& run, RungOutcome* out) {
  const auto wrong_values = [](const Comparison& c) {
    return c.verdict == Verdict::kForwardMismatch || c.verdict == Verdict::kGradientMismatch ||
           c.verdict == Verdict::kInputMutationMismatch || c.verdict == Verdict::kNanMismatch;
  };
  if (!precision_.low || !run.recompile || !run.rung.starts_with("inductor") ||
      std::ranges::none_of(out->comparisons, wrong_values)) {
    return;
  }
  const auto emulated = run.recompile({{"inductor.emulate_precision_casts", true}});
  if (!emulated) return;
  out->seconds += emulated->seconds;
  RungOutcome ignored;
  if (RungError(*emulated, &ignored)) return;
  const std::vector<Comparison> again = CompareRung(*emulated);
  for (Comparison& c : out->comparisons) {
    if (!wrong_values(c)) continue;
    const auto same = std::find_if(again.begin(), again.end(),
                                   [&](const Comparison& a) { return a.what == c.what; });
    if (same != again.end() && !IsFinding(same->verdict)) {
      c.verdict = Verdict::kTradeOff;
      c.note = "right with emulate_precision_casts: low precision is kept in float32 by design";
    }
  }
}

void Judgement::RunSelfChecks(const RungRun& run, std::vector<Comparison>* comparisons) {
  if (!options_.self_checks || run.draws.empty()) return;
  const double start = Now();
  SelfCheckReport report = SelfCheck(program_, precision_, run, options_.seed);
  self_checks_ += report.checks;
  replays_ += report.replays;
  if (report.replays > 0) outcome_.calibrated = true;
  for (Comparison& failure : report.failures) comparisons->push_back(std::move(failure));
  outcome_.reference_seconds += Now() - start;
}

RungOutcome Judgement::JudgeRung(const RungRun& run, bool is_eager) {
  RungOutcome out;
  out.rung = run.rung;
  out.device = run.device;
  out.graphs = run.graphs;
  out.graph_breaks = run.graph_breaks;
  out.seconds = run.seconds;
  if (RungError(run, &out)) return out;
  out.comparisons = Repeats(run);
  if (!out.comparisons.empty()) {
    // A result that changes from call to call can be compared with nothing.
    out.verdict = Verdict::kNondeterministic;
    return out;
  }
  if (!is_eager) {
    out.comparisons = CompareRung(run);
    TryEmulatedCasts(run, &out);
  }
  RunSelfChecks(run, &out.comparisons);
  for (const Comparison& c : out.comparisons) out.verdict = Graver(out.verdict, c.verdict);
  return out;
}

void Judgement::Conclude() {
  for (const auto& [key, calibration] : calibrations_) {
    if (calibration.decider) {
      replays_ += calibration.decider->replays();
    } else {
      ++replays_;
      outcome_.stats["reference_error"] = calibration.envelope->reference().observation.error;
    }
  }
  int64_t ill = 0;
  for (const RungOutcome& rung : outcome_.rungs) {
    for (const Comparison& c : rung.comparisons) ill += c.verdict == Verdict::kIllConditioned;
    if (IsFinding(rung.verdict) && outcome_.first_wrong_rung.empty()) {
      outcome_.first_wrong_rung = rung.rung;
    }
    outcome_.verdict = Graver(outcome_.verdict, rung.verdict);
  }
  outcome_.stats["compared"] = compared_;
  outcome_.stats["calibrated"] = calibrated_;
  outcome_.stats["replays"] = replays_;
  outcome_.stats["self_checks"] = self_checks_;
  if (eager_off_ > 0) outcome_.stats["eager_off"] = eager_off_;
  if (ill > 0) outcome_.stats["ill_conditioned"] = ill;
}

Outcome Judgement::Run() {
  outcome_.stats = nlohmann::json::object();
  if (rungs_.empty()) {
    outcome_.verdict = Verdict::kInvalid;
    outcome_.note = "no rung was run";
    return outcome_;
  }
  RungOutcome eager = JudgeRung(rungs_.front(), /*is_eager=*/true);
  if (!eager.error.empty()) {
    outcome_.verdict = eager.verdict = Verdict::kInvalid;
    outcome_.note = "eager rejects the program: " + eager.error;
    outcome_.rungs.push_back(std::move(eager));
    return outcome_;
  }
  if (eager.verdict == Verdict::kNondeterministic) {
    outcome_.verdict = eager.verdict = Verdict::kIllConditioned;
    outcome_.note = "eager differs from itself on the same values";
    outcome_.rungs.push_back(std::move(eager));
    return outcome_;
  }
  outcome_.rungs.push_back(std::move(eager));
  for (size_t r = 1; r < rungs_.size(); ++r) {
    outcome_.rungs.push_back(JudgeRung(rungs_[r], /*is_eager=*/false));
  }
  Conclude();
  return std::move(outcome_);
}

}  // namespace

Outcome Judge(const program::Program& program, const std::string& lane, std::vector<RungRun>& rungs,
              const JudgeOptions& options) {
  return Judgement(program, lane, rungs, options).Run();
}

}  // namespace gradfuzz::oracle
