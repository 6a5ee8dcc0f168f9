// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/decide.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradfuzz::oracle {
namespace {

using Place = std::pair<Quantity, size_t>;

double OrZero(double distance) { return std::isfinite(distance) ? distance : 0; }

Gradients RealGradients(const program::Program& program, const evaluate::Observation& observation) {
  Gradients gradients;
  for (const Quantity& quantity : Quantities(program)) {
    if (quantity.kind != Quantity::Kind::kGradient) continue;
    const at::Tensor* tensor = Find(observation, quantity);
    if (tensor != nullptr && !tensor->is_complex()) gradients.emplace(quantity, Flatten(*tensor));
  }
  return gradients;
}

bool HasNanOutput(const Envelope& envelope) {
  const auto& outputs = envelope.reference().observation.outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const at::Tensor& t) { return t.isnan().any().item<bool>(); });
}

}  // namespace

Decider::Decider(Envelope& envelope, bool exact)
    : envelope_(envelope), ties_(envelope), exact_(exact), nan_output_(HasNanOutput(envelope)) {}

double Decider::Tolerance(const Quantity& quantity, const Case& c, size_t i) const {
  double own = envelope_.Tolerance(quantity, i);
  if (const Elements* reference = envelope_.Reference(quantity)) {
    own = std::max(own, c.close.rtol * reference->Modulus(i));
  }
  const auto lower = lower_.find(quantity);
  return lower == lower_.end() ? own : std::max(own, kLowerRung * lower->second[i]);
}

Decider::State Decider::Judge(const Quantity& quantity, const Case& c, size_t i, double band,
                              bool* unclear) const {
  const ValueClass eager_class = c.eager.Class(i);
  const ValueClass got_class = c.got.Class(i);
  if (eager_class == got_class &&
      (got_class != ValueClass::kFinite ||
       Distance(c.eager, c.got, i) <= (exact_ ? 0 : band) * c.eager.Modulus(i))) {
    return State::kRight;
  }
  if (exact_) return eager_class == got_class ? State::kOff : State::kClass;
  const Elements* reference = envelope_.Reference(quantity);
  if (reference == nullptr || reference->size() != c.got.size()) return State::kCannotTell;
  const ValueClass reference_class = reference->Class(i);
  if (c.got.discrete) {
    return c.got.re[i] == reference->re[i] ? State::kRight : State::kOff;
  }
  if (eager_class == ValueClass::kFinite && got_class == ValueClass::kFinite) {
    if (reference_class != ValueClass::kFinite) return State::kCannotTell;
    const double error = Distance(c.got, *reference, i);
    const double tolerance = Tolerance(quantity, c, i);
    if (error <= tolerance) return State::kRight;
    if (error <= kClearlyWrong * tolerance) *unclear = true;
    const double size = reference->Modulus(i);
    const bool close = error <= c.close.atol + c.close.rtol * size;
    return close && error <= kIntact * size ? State::kInaccurate : State::kOff;
  }
  // NaN or Inf on one side at least, and not the same on both.
  if (got_class == reference_class && got_class != ValueClass::kFinite) return State::kRight;
  if (envelope_.reference().range_edge || envelope_.ClassVaries(quantity, i)) {
    return State::kCannotTell;
  }
  // Whether NaN times a zero slope is NaN or was masked away first depends on the formula.
  if (quantity.kind == Quantity::Kind::kGradient && nan_output_) {
    return State::kCannotTell;
  }
  *unclear = true;  // more samples may show that the class varies
  return State::kClass;
}

void Decider::JudgeAll(std::map<Quantity, Case>* cases) {
  const auto judge = [&] {
    bool unclear = false;
    for (auto& [quantity, c] : *cases) {
      c.states.assign(c.got.size(), State::kRight);
      for (size_t i = 0; i < c.got.size(); ++i) {
        c.states[i] = Judge(quantity, c, i, c.band, &unclear);
      }
    }
    return unclear;
  };
  if (exact_) {
    judge();
    return;
  }
  envelope_.Sample(kSamples);
  if (judge()) {
    envelope_.Sample(kMaxSamples);
    judge();
  }
}

double Decider::EagerOwn(const Quantity& quantity, const Case& c, const Elements& reference,
                         size_t i) const {
  return kEagerOwn *
         std::max(OrZero(Distance(c.eager, reference, i)), envelope_.Tolerance(quantity, i));
}

void Decider::ExcuseTies(const evaluate::Observation& eager, const evaluate::Observation& got,
                         std::map<Quantity, Case>* cases) {
  std::vector<std::pair<double, Place>> ranked;
  bool eager_off = false;
  for (auto& [quantity, c] : *cases) {
    if (quantity.kind != Quantity::Kind::kGradient || c.got.complex()) continue;
    const Elements* reference = envelope_.Reference(quantity);
    if (reference == nullptr) continue;
    for (size_t i = 0; i < c.states.size(); ++i) {
      if (c.states[i] == State::kClass) return;  // a NaN is no gradient to choose
      if (c.states[i] != State::kOff) continue;
      const double error = OrZero(Distance(c.got, *reference, i));
      ranked.emplace_back(-error, Place{quantity, i});
      eager_off =
          eager_off || OrZero(Distance(c.eager, *reference, i)) > envelope_.Tolerance(quantity, i);
    }
  }
  if (ranked.empty()) return;
  std::sort(ranked.begin(), ranked.end());
  std::vector<Place> off;
  for (const auto& [error, place] : ranked) off.push_back(place);

  const auto legal = ties_.Legal(RealGradients(envelope_.program(), got), off);
  const auto set = [&](Verdict verdict) {
    for (const auto& [quantity, i] : off) {
      Case& c = cases->at(quantity);
      c.states[i] = State::kRight;
      c.verdict = Graver(c.verdict, verdict);
    }
  };
  if (!legal) {
    set(Verdict::kIllConditioned);
  } else if (*legal) {
    set(Verdict::kConvention);
  } else if (eager_off && !exact_) {
    // Eager may lie outside because it chose otherwise at a tie: then it is a member of the set
    // and the reference stands. Else the model of rounding does not hold where eager is outside.
    const auto own = ties_.Legal(RealGradients(envelope_.program(), eager), off);
    if (own && *own) return;
    for (const auto& [quantity, i] : off) {
      Case& c = cases->at(quantity);
      const Elements& reference = *envelope_.Reference(quantity);
      if (Distance(c.got, reference, i) <= EagerOwn(quantity, c, reference, i)) {
        c.states[i] = State::kCannotTell;
      }
    }
  }
}

void Decider::ExcuseJumps(std::map<Quantity, Case>* cases) {
  for (auto& [quantity, c] : *cases) {
    const bool gradient = quantity.kind == Quantity::Kind::kGradient;
    if (gradient && !c.got.complex()) continue;
    const Elements* reference = envelope_.Reference(quantity);
    if (reference == nullptr) continue;
    bool eager_off = false;
    for (size_t i = 0; i < c.states.size() && !exact_ && !c.got.discrete; ++i) {
      eager_off =
          eager_off || OrZero(Distance(c.eager, *reference, i)) > envelope_.Tolerance(quantity, i);
    }
    for (size_t i = 0; i < c.states.size(); ++i) {
      if (c.states[i] != State::kOff) continue;
      if (!c.got.complex() && ties_.Movable(quantity, i) &&
          ties_.Between(quantity, i, c.got.re[i])) {
        // Rounding decides which way a floor or comparison falls, or which index wins a tie.
        c.states[i] = State::kRight;
        c.verdict =
            Graver(c.verdict, c.got.discrete ? Verdict::kConvention : Verdict::kIllConditioned);
        continue;
      }
      if (eager_off && Distance(c.got, *reference, i) <= EagerOwn(quantity, c, *reference, i)) {
        c.states[i] = State::kCannotTell;
      }
    }
  }
}

ElementReport Decider::Report(const Quantity& quantity, const Case& c) const {
  ElementReport report;
  report.wrong.assign(c.got.size(), 0);
  const Elements* found = envelope_.Reference(quantity);
  const Elements& reference = found != nullptr ? *found : c.eager;
  bool off = false, nan = false, cannot_tell = false, blind = false, above_noise = false;
  bool inaccurate = false;
  const double scale = Scale(reference);
  double worst = -1;
  for (size_t i = 0; i < c.got.size(); ++i) {
    const double tolerance = exact_ ? 0 : Tolerance(quantity, c, i);
    const double error = Distance(c.got, reference, i);
    const double eager_error = OrZero(Distance(c.eager, reference, i));
    above_noise = above_noise || reference.Modulus(i) > kAnalyticZero * tolerance;
    report.eager_off = report.eager_off || (!exact_ && eager_error > tolerance);
    const bool wrong = c.states[i] == State::kOff || c.states[i] == State::kClass;
    off = off || c.states[i] == State::kOff;
    nan = nan || c.states[i] == State::kClass;
    inaccurate = inaccurate || c.states[i] == State::kInaccurate;
    cannot_tell = cannot_tell || c.states[i] == State::kCannotTell;
    blind = blind || (!wrong && OrZero(Distance(c.got, c.eager, i)) > kBlind * scale);
    if (wrong) {
      report.wrong[i] = 1;
      ++report.count;
    }
    // Where there are wrong elements the numbers are of the worst of those.
    const double excess = c.states[i] == State::kClass
                              ? std::numeric_limits<double>::max()
                              : OrZero(error) / std::max(tolerance, 1e-300);
    const double rank = wrong ? 1e300 + excess : std::min(excess, 1e299);
    if (rank > worst) {
      worst = rank;
      report.worst = i;
      report.error = OrZero(error);
      report.tolerance = tolerance;
      report.eager_error = eager_error;
    }
  }
  report.verdict = c.verdict;
  if (off) {
    report.verdict = MismatchOf(quantity);
  } else if (nan) {
    report.verdict = Verdict::kNanMismatch;
  } else if (cannot_tell) {
    report.verdict = Graver(report.verdict, Verdict::kIllConditioned);
    report.note = "rounding decides more than this comparison can tell";
  } else if (inaccurate) {
    report.verdict = Graver(report.verdict, Verdict::kTradeOff);
    report.note = "less accurate than eager, and close by PyTorch's own tolerances";
  } else if (blind && !exact_ && !c.got.discrete && report.verdict == Verdict::kAgree) {
    if (above_noise) {
      report.verdict = Verdict::kIllConditioned;
      report.note = "differs by as much as rounding alone can make it";
    } else {
      report.note = "cancels to rounding noise";
    }
  }
  if (report.verdict == Verdict::kConvention) {
    report.note = "another choice at a tie or kink, legal as well";
  }
  return report;
}

std::map<Quantity, ElementReport> Decider::Decide(const evaluate::Observation& eager,
                                                  const evaluate::Observation& got,
                                                  const std::vector<Quantity>& suspicious) {
  std::map<Quantity, Case> cases;
  for (const Quantity& quantity : suspicious) {
    const at::Tensor& tensor = *Find(eager, quantity);
    Case c;
    c.eager = Flatten(tensor);
    c.got = Flatten(*Find(got, quantity));
    c.band = Band(tensor.scalar_type());
    c.close = AssertCloseDefaults(tensor.scalar_type());
    cases.emplace(quantity, std::move(c));
  }
  JudgeAll(&cases);
  ExcuseTies(eager, got, &cases);
  ExcuseJumps(&cases);
  std::map<Quantity, ElementReport> reports;
  for (const auto& [quantity, c] : cases) reports.emplace(quantity, Report(quantity, c));
  return reports;
}

void Decider::Trust(const evaluate::Observation& right, const std::vector<Quantity>& suspicious) {
  for (const Quantity& quantity : suspicious) {
    const Elements* reference = envelope_.Reference(quantity);
    const at::Tensor* tensor = Find(right, quantity);
    if (reference == nullptr || tensor == nullptr) continue;
    const Elements values = Flatten(*tensor);
    if (values.size() != reference->size()) continue;
    std::vector<double>& errors = lower_[quantity];
    errors.resize(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      errors[i] = std::max(errors[i], OrZero(Distance(values, *reference, i)));
    }
  }
}

}  // namespace gradfuzz::oracle
