// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/envelope.h"

#include <algorithm>
#include <cmath>

#include "gradfuzz/support/rng.h"

namespace gradfuzz::oracle {

Envelope::Envelope(const program::Program& program, const Precision& precision, ReplayOptions base,
                   uint64_t seed)
    : program_(program), precision_(precision), base_(std::move(base)), seed_(seed) {
  reference_ = RunReplay(program_, precision_, base_);
  if (!ok()) return;
  for (const Quantity& quantity : Quantities(program_)) {
    const at::Tensor* tensor = Find(reference_.observation, quantity);
    if (tensor == nullptr) continue;
    Values values;
    values.reference = Flatten(*tensor);
    const size_t n = values.reference.size();
    values.largest.resize(n);
    values.squares.resize(n);
    values.counts.resize(n);
    values.class_varies.resize(n);
    values_.emplace(quantity, std::move(values));
  }
}

void Envelope::Take(const evaluate::Observation& observation) {
  for (auto& [quantity, values] : values_) {
    const at::Tensor* tensor = Find(observation, quantity);
    if (tensor == nullptr) continue;
    const Elements noisy = Flatten(*tensor);
    if (noisy.size() != values.reference.size()) continue;
    for (size_t i = 0; i < noisy.size(); ++i) {
      if (noisy.Class(i) != values.reference.Class(i)) values.class_varies[i] = 1;
      const double deviation = Distance(noisy, values.reference, i);
      // A replay that noise drives out of a function's domain says nothing of the spread inside.
      if (!std::isfinite(deviation)) continue;
      values.largest[i] = std::max(values.largest[i], deviation);
      values.squares[i] += deviation * deviation;
      ++values.counts[i];
    }
  }
}

void Envelope::Sample(int samples) {
  ReplayOptions options = base_;
  options.noise = true;
  options.follow = Follow::kEverything;
  options.trace = &reference_.trace;
  for (; samples_ < samples; ++samples_) {
    options.seed = Rng(seed_).Fork("noise", static_cast<uint64_t>(samples_)).Next();
    const Replay replay = RunReplay(program_, precision_, options);
    if (replay.observation.ok()) Take(replay.observation);
  }
}

const Envelope::Values* Envelope::Get(const Quantity& quantity) const {
  const auto found = values_.find(quantity);
  return found == values_.end() ? nullptr : &found->second;
}

const Elements* Envelope::Reference(const Quantity& quantity) const {
  const Values* values = Get(quantity);
  return values == nullptr ? nullptr : &values->reference;
}

double Envelope::Spread(const Quantity& quantity, size_t i) const {
  const Values* values = Get(quantity);
  return values == nullptr ? 0 : values->largest[i];
}

double Envelope::Tolerance(const Quantity& quantity, size_t i) const {
  const Values* values = Get(quantity);
  if (values == nullptr) return 0;
  const double deviation =
      values->counts[i] == 0 ? 0 : std::sqrt(values->squares[i] / values->counts[i]);
  const double largest_term =
      values->reference.Modulus(i) + std::sqrt(3.0) * deviation / precision_.eps;
  const Model& model = precision_.model();
  return std::max({model.envelope * values->largest[i], model.floor * precision_.eps * largest_term,
                   kFloorSubnormals * precision_.subnormal});
}

bool Envelope::ClassVaries(const Quantity& quantity, size_t i) const {
  const Values* values = Get(quantity);
  return values != nullptr && values->class_varies[i] != 0;
}

}  // namespace gradfuzz::oracle
