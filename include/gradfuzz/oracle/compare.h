// SPDX-License-Identifier: BSD-3-Clause
// The cheap comparison of one quantity: metadata, then values bit for bit or within the band.
#pragma once

#include <string>

#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/oracle/quantity.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

struct CheapResult {
  Verdict verdict = Verdict::kAgree;
  bool suspicious = false;  // the values differ by more than the band: to be calibrated
  std::string note;
};

struct CheapOptions {
  bool exact = false;  // bit equality instead of the band
  bool strides = true;
};

// Rules:
//  - A gradient that is None on one side only is kMissingGradient, zeros or not.
//  - Shape and dtype of everything; requires_grad, strides and aliasing of outputs. Strides count
//    where eager's output is dense and does not overlap itself, in dimensions of size > 1.
//    Gradients may have any strides: autograd states a layout only for accumulation into .grad,
//    and AOTAutograd hands out what its graph made.
//  - NaNs are equal to NaNs. The sign of a zero counts only where DefinesSignOfZero says so; where
//    it matters inside a program (1/x, atan2, copysign) it shows in the values.
CheapResult CompareCheaply(const program::Program& program, const Quantity& quantity,
                           const evaluate::Observation& eager, const evaluate::Observation& got,
                           const CheapOptions& options);

// True when every operator on the way from the leaves to this output copies, negates, or sets the
// sign of its values, so that no rounding and no order of additions can turn a zero's sign.
bool DefinesSignOfZero(const program::Program& program, size_t output);

}  // namespace gradfuzz::oracle
