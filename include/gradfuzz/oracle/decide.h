// SPDX-License-Identifier: BSD-3-Clause
// The decision per element on what the cheap comparison could not pass: reference, envelope,
// classes of numbers, ties.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gradfuzz/oracle/envelope.h"
#include "gradfuzz/oracle/ties.h"
#include "gradfuzz/oracle/tolerance.h"

namespace gradfuzz::oracle {

struct ElementReport {
  Verdict verdict = Verdict::kAgree;
  std::vector<uint8_t> wrong;  // one per element
  int64_t count = 0;           // of wrong elements
  size_t worst = 0;            // the element that the numbers are of
  double error = 0;            // |got - reference| there
  double tolerance = 0;        // allowed there
  double eager_error = 0;      // |eager - reference| there
  bool eager_off = false;      // eager itself is outside the tolerance somewhere
  std::string note;
};

// Decides for one execution; shared by all rungs that made it.
class Decider {
 public:
  // `exact`: the lane in which every difference from eager counts, ties excepted.
  // REQUIRES: `envelope` outlives this and is ok.
  Decider(Envelope& envelope, bool exact);

  // RETURNS: a report for each of `suspicious`. REQUIRES: `got` has the metadata of `eager` there.
  std::map<Quantity, ElementReport> Decide(const evaluate::Observation& eager,
                                           const evaluate::Observation& got,
                                           const std::vector<Quantity>& suspicious);

  // Remembers how far a rung that was judged right lies from the reference: a later rung of the
  // ladder may lie kLowerRung times as far.
  void Trust(const evaluate::Observation& right, const std::vector<Quantity>& suspicious);

  int replays() const { return envelope_.replays() + ties_.replays(); }

 private:
  enum class State : uint8_t { kRight, kInaccurate, kOff, kClass, kCannotTell };
  struct Case {
    Elements eager, got;
    double band = 0;
    CloseTolerance close;
    std::vector<State> states;
    Verdict verdict = Verdict::kAgree;  // of the elements that were excused
  };
  double Tolerance(const Quantity& quantity, const Case& c, size_t i) const;
  State Judge(const Quantity& quantity, const Case& c, size_t i, double band, bool* unclear) const;
  void JudgeAll(std::map<Quantity, Case>* cases);
  // What `got` may lie off by where eager itself lies outside the model of rounding.
  double EagerOwn(const Quantity& quantity, const Case& c, const Elements& reference,
                  size_t i) const;
  void ExcuseTies(const evaluate::Observation& eager, const evaluate::Observation& got,
                  std::map<Quantity, Case>* cases);
  void ExcuseJumps(std::map<Quantity, Case>* cases);
  ElementReport Report(const Quantity& quantity, const Case& c) const;

  Envelope& envelope_;
  Ties ties_;
  bool exact_;
  bool nan_output_;  // the function itself is NaN somewhere: backward starts from NaN
  std::map<Quantity, std::vector<double>> lower_;  // errors of lower rungs
};

}  // namespace gradfuzz::oracle
