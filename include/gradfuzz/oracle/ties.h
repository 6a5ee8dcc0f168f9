// SPDX-License-Identifier: BSD-3-Clause
// Ties and kinks: where the gradient is a set, and where rounding decides which branch a value
// takes.
//
// At amax of equal elements, |x| at 0, clamp at its bound, autograd must choose; compiled code may
// choose otherwise, and what it gives must still be a member of the set. The set is found without
// rules per operator:
//  1. Other decisions are collected in two ways: replays with rounding noise that decide anew (a
//     near tie falls either way), and replays whose leaves are nudged by a few ULP (an exact tie
//     is broken; the limit of gradients nearby is what a sub-gradient is). Comparisons, signs and
//     floors of the forward stay as they are under nudged leaves: they are no choice.
//  2. Each collected trace of decisions is replayed without noise: one vertex of the set, the
//     gradients of all leaves together.
//  3. Single elements are nudged one by one, so that independent ties give independent vertices.
//  4. Legal is a result within tolerance of reference + sum(lambda * (vertex - reference)), with
//     lambda >= 0, and element by element between the smallest and the largest vertex. So mass is
//     conserved (a dropped or doubled share leaves a residual), the support stays inside the
//     near-optimal set (no other element moves at all), and nothing is infinite.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gradfuzz/oracle/envelope.h"

namespace gradfuzz::oracle {

// The real parts of a set of gradients, by quantity.
using Gradients = std::map<Quantity, Elements>;

class Ties {
 public:
  // REQUIRES: `envelope` is ok and outlives this.
  explicit Ties(Envelope& envelope) : envelope_(envelope) {}

  // Whether other decisions can move this element at all, beyond its tolerance.
  bool Movable(const Quantity& quantity, size_t i);
  // Whether the value lies between the smallest and the largest that other decisions give, give
  // or take the tolerance. For outputs and storages: their noisy replays, and under nudged leaves
  // the integers only.
  bool Between(const Quantity& quantity, size_t i, double value);

  // Whether `got` (all real gradients of one run) is a member of the set. `off`: the elements out
  // of tolerance, most wrong first; they are probed first.
  // RETURNS: nothing when it cannot be told: more elements are off than can be probed, all of them
  // lie where rounding decides between branches that are 0/0 without it, or so many near ties are
  // open that the samples have seen only some of the choices, and the result is off by no more than
  // choices make.
  std::optional<bool> Legal(const Gradients& got,
                            const std::vector<std::pair<Quantity, size_t>>& off);

  int replays() const { return replays_; }

 private:
  struct Range {
    std::vector<double> low, high;
    std::vector<double> wild;  // largest deviation in branches that only noise makes finite
  };
  void Prepare();
  void Widen(const evaluate::Observation& observation, bool gradients, bool discrete_only);
  Replay Decide(const ReplayOptions& options);
  void AddVertex(const Replay& decided);
  void AddWild(const evaluate::Observation& observation);
  void Probe(const Quantity& quantity, size_t i);
  double Slack(const Quantity& quantity, size_t i) const;
  // Whether an element deviates by no more than the most that another choice makes of any.
  bool WithinLargest(const Quantity& quantity, size_t i, double deviation);

  Envelope& envelope_;
  bool prepared_ = false;
  std::map<Quantity, Range> ranges_;
  std::vector<Gradients> vertices_;  // differences from the reference
  bool unexplored_ = false;          // many choices were never seen; by Prepare
  int replays_ = 0;
};

}  // namespace gradfuzz::oracle
