// SPDX-License-Identifier: BSD-3-Clause
// The envelope of one execution (one draw, one set of cotangents): the float64 reference, and per
// element of every quantity the spread that rounding alone causes around it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gradfuzz/oracle/elements.h"
#include "gradfuzz/oracle/monte_carlo.h"
#include "gradfuzz/oracle/quantity.h"

namespace gradfuzz::oracle {

class Envelope {
 public:
  // Runs the reference; noise only when asked (Sample). `base` names draw, call, cotangents and
  // cotangent types. REQUIRES: `program`, and the tensors that `base` points to, outlive this.
  Envelope(const program::Program& program, const Precision& precision, ReplayOptions base,
           uint64_t seed);

  bool ok() const { return reference_.observation.ok(); }
  const Replay& reference() const { return reference_; }
  const program::Program& program() const { return program_; }
  const Precision& precision() const { return precision_; }
  const ReplayOptions& base() const { return base_; }
  uint64_t seed() const { return seed_; }
  int replays() const { return samples_ + 1; }

  // Makes sure that the spread is of at least `samples` noisy replays.
  void Sample(int samples);
  int samples() const { return samples_; }

  // The reference's values; nullptr where it has none.
  const Elements* Reference(const Quantity& quantity) const;
  // The largest deviation from the reference that a noisy replay showed; 0 before Sample.
  double Spread(const Quantity& quantity, size_t i) const;
  // What an honest result may differ from the reference by: tolerance.h, "the decision per
  // element".
  double Tolerance(const Quantity& quantity, size_t i) const;
  // Some noisy replay was finite where the reference is not, or the reverse.
  bool ClassVaries(const Quantity& quantity, size_t i) const;

 private:
  struct Values {
    Elements reference;
    std::vector<double> largest, squares;
    std::vector<int> counts;
    std::vector<uint8_t> class_varies;
  };
  const Values* Get(const Quantity& quantity) const;
  void Take(const evaluate::Observation& observation);

  const program::Program& program_;
  const Precision& precision_;
  ReplayOptions base_;
  uint64_t seed_;
  Replay reference_;
  std::map<Quantity, Values> values_;
  int samples_ = 0;
};

}  // namespace gradfuzz::oracle
