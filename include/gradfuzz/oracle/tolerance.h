// SPDX-License-Identifier: BSD-3-Clause
// Every constant of the oracle, each with its derivation or the measurement behind it.
//
// Words: eps is the distance from 1 to the next number of the program's coarsest floating dtype
// (program::Epsilon); one correct rounding moves a value by at most eps / 2, relatively.
#pragma once

#include <ATen/core/ScalarType.h>

#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

// --- The tight band: what costs nothing more -----------------------------------------------------

// An element inside |got - eager| <= band * eps * |eager| agrees without further questions. The
// band is relative to the element itself, never to the tensor, so that no lost element fits in.
// 4 in float32 and float64: the vector library behind both eager and inductor (SLEEF) promises 3.5
// ULP, the scalar one 1 ULP (glibc), so one transcendental leaves at most 4 eps.
inline constexpr double kBand = 4;
// 1 in float16 and bfloat16: compiled code computes in float32 and rounds once, so a correct
// result is one rounding from eager's; more than that goes to calibration.
inline constexpr double kBandLow = 1;

// --- Monte Carlo arithmetic: what rounding alone can do
// -------------------------------------------

// Amplitude of the nudge 1 + amplitude * eps * u, u uniform in [-1, 1], on each operand edge and
// result of an inexact op. 1 is twice the worst of one rounding: the calibration errs to the lax
// side, and catches a factor 1 + 1e-3 in float32 while the condition number is below about 600.
inline constexpr double kNudge = 1;
// For transcendental functions: SLEEF promises 3.5 ULP, CUDA's libm 1 to 4 (powf, tanf, sinhf).
inline constexpr double kNudgeWide = 4;
// A sum of n terms in any order: its partial sums round n times; for terms of one sign that is a
// random walk of sqrt(n) * (eps / 2) / sqrt(3) * |sum|, which against one nudge of the result
// (eps / sqrt(3)) is sqrt(n) / 2; for terms that cancel, sqrt(n) / 3 against nudges of the terms.
// The nudge of an aggregation is the larger of 1 and sqrt(n) * this.
inline constexpr double kNudgePerRootTerms = 0.5;

// Noisy replays at first, and at most, while the answer is not clear. With the largest of 8
// deviations as spread, an honest error (half the nudge's deviation, normal) exceeds the factor
// below with probability 4e-9 an element; with 32, never in a campaign's lifetime.
inline constexpr int kSamples = 8;
inline constexpr int kMaxSamples = 32;
// An error beyond this multiple of its tolerance is wrong, whatever more samples would say: the
// largest of 32 deviations is at most about 3 times the largest of 8 (p < 1e-6).
inline constexpr double kClearlyWrong = 16;

// --- The decision per element
// ---------------------------------------------------------------------

// First condition: the error exceeds this multiple of the spread of rounding noise.
inline constexpr double kEnvelope = 8;
// Second condition: it exceeds this many eps of the largest term of the computation, measured per
// element as |reference| + sqrt(3) * (root mean square of the deviations) / eps: the deviation of
// a sum of terms t under independent nudges is eps / sqrt(3) * sqrt(sum t^2) >= eps / sqrt(3) *
// max t. 8 is two transcendentals at 4 ULP each that the noise cannot see inside fused kernels.
inline constexpr double kFloorEps = 8;
// Below this many smallest subnormal numbers of the dtype nothing is judged: flushing to zero and
// gradual underflow round absolutely.
inline constexpr double kFloorSubnormals = 16;
// A lower compiled rung that was judged right may show an error that noise does not (another
// formula in a decomposition): the next rung may have twice that.
inline constexpr double kLowerRung = 2;
// Where eager itself lies outside the calibrated tolerance and no tie explains it, the model of
// rounding does not hold there. Within this multiple of eager's own error nothing can be said.
inline constexpr double kEagerOwn = 8;
// An accepted difference from eager that is larger than this part of the tensor's scale means that
// the program cannot tell right from wrong there: kIllConditioned instead of kAgree.
inline constexpr double kBlind = 0.25;

// --- Range
// ----------------------------------------------------------------------------------------

// Values of the reference within this factor of the dtype's overflow or underflow threshold make
// the places of Inf, NaN and 0 a matter of rounding and of the order of operations.
inline constexpr double kRangeEdge = 16;

// --- Ties and kinks
// -------------------------------------------------------------------------------

// Replays that let rounding (free) or nudged leaves (probes) choose at ties. A tie of two shows
// its other side with probability 1 - 2^-15.
inline constexpr int kTieSamples = 16;
// Relative nudge of a leaf that breaks a tie: twice the widest nudge of an op, so that values that
// vector and scalar libraries order differently are near ties too.
inline constexpr double kTieNudge = 8;
// Elements whose own choice is probed one by one, at most: 4 replays of about 0.3 ms each.
inline constexpr int kMaxProbes = 64;

// --- Tables
// ---------------------------------------------------------------------------------------

struct Precision {
  double eps = 0;        // of the coarsest floating dtype
  double subnormal = 0;  // smallest positive number
  double smallest = 0;   // smallest normal number
  double largest = 0;    // largest finite number
  bool low = false;      // float16 or bfloat16 takes part
};
Precision PrecisionOf(at::ScalarType type);
// Of the coarsest floating dtype among the program's storages, dtype arguments and autocast.
Precision PrecisionOf(const program::Program& program);

// The band of a dtype, relative to the element: kBand or kBandLow times eps.
double Band(at::ScalarType type);

// torch.testing.assert_close's defaults (torch/testing/_comparison.py, _DTYPE_PRECISIONS):
//   float16 1e-3, 1e-5; bfloat16 1.6e-2, 1e-5; float32 and complex64 1.3e-6, 1e-5;
//   float64 and complex128 1e-7, 1e-7; others exact.
struct CloseTolerance {
  double rtol = 0;
  double atol = 0;
};
CloseTolerance AssertCloseDefaults(at::ScalarType type);

}  // namespace gradfuzz::oracle
