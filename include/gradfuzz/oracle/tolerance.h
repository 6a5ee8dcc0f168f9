// SPDX-License-Identifier: BSD-3-Clause
// Every constant of the oracle, each with its derivation or the measurement behind it.
//
// Words: eps is the distance from 1 to the next number of the program's coarsest floating dtype
// (program::Epsilon); one correct rounding moves a value by at most eps / 2, relatively.
#pragma once

#include <ATen/core/ScalarType.h>

#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

// --- The model of rounding ---

// Two rows: what float32 and float64 (and their complex kin) do, and what float16 and bfloat16 do.
// All but `band` are in use only after the cheap comparison.
struct Model {
  // The tight band: an element inside |got - eager| <= band * eps * |eager| agrees without further
  // questions. Relative to the element itself, never to the tensor: no lost element fits in.
  double band;
  // Amplitude of the nudge 1 + nudge * eps * u, u uniform in [-1, 1], on results of inexact ops.
  double nudge;
  // The same for transcendental functions.
  double wide;
  // Operands are nudged as well, by `nudge`: stands for what the inside of an op may do.
  bool operands;
  // An aggregation of n terms is nudged by at least sqrt(n) times this.
  double per_root_terms;
  // First condition of a finding: the error exceeds this multiple of the largest deviation that
  // noise caused.
  double envelope;
  // Second condition: it exceeds this many eps of the largest term of the computation, measured
  // per element as |reference| + sqrt(3) * (root mean square of the deviations) / eps: the
  // deviation of a sum of terms t under independent nudges is eps / sqrt(3) * sqrt(sum t^2), never
  // less than eps / sqrt(3) * max t.
  double floor;
  // Relative nudge of a leaf, in eps, that breaks a tie: twice `wide` at least, so that what vector
  // and scalar libraries order differently are near ties too.
  double tie;
};

// float32, float64, complex64, complex128.
//  band 4: the vector library behind both eager and inductor (SLEEF) promises 3.5 ULP, the scalar
//    one 1 ULP (glibc); one transcendental leaves at most 4 eps.
//  nudge 1: one correct rounding moves by eps / 2 at most; twice that, since a formula may be
//    evaluated in another form.
//  wide 4: SLEEF 3.5 ULP; CUDA's libm 1 to 4 (powf, tanf, sinhf).
//  per_root_terms 0.5: the partial sums of n terms of one sign round like a random walk of
//    sqrt(n) * (eps / 2) / sqrt(3) * |sum|, which against a nudge of the result (eps / sqrt(3)) is
//    sqrt(n) / 2; where terms cancel, sqrt(n) / 3 against nudges of the terms.
//  envelope 8: an honest error has at most half the deviation of the noise; it exceeds 8 times the
//    largest of 8 deviations with probability 4e-9 an element. Measured over the programs of
//    corpus/negative and the tests, eager's own error reaches 0.13 of the tolerance at most.
//  floor 8: two transcendentals at 4 ULP each that the noise cannot see inside a fused kernel.
inline constexpr Model kFullModel = {.band = 4,
                                     .nudge = 1,
                                     .wide = 4,
                                     .operands = true,
                                     .per_root_terms = 0.5,
                                     .envelope = 8,
                                     .floor = 8,
                                     .tie = 8};

// float16, bfloat16: every op, and the inside of every kernel, computes in float32 and rounds its
// result once; compiled code may leave roundings out, which is nearer to the reference.
//  band 1: one rounding from eager's result; two results that round the same value differ by 1 ULP.
//  nudge, wide 0.5: one rounding. No operands: float32 inside is exact by comparison.
//  per_root_terms 0.5: only where each addition is stored (scatters, scans).
//  envelope 3: the nudge is the rounding itself, so an honest error has the deviation of the noise;
//    3 times the largest of 32 deviations is 6 standard deviations.
//  floor 2: the result's own rounding (0.5) and that of three operands of its size.
inline constexpr Model kLowModel = {.band = 1,
                                    .nudge = 0.5,
                                    .wide = 0.5,
                                    .operands = false,
                                    .per_root_terms = 0.5,
                                    .envelope = 3,
                                    .floor = 2,
                                    .tie = 2};

// Noisy replays at first, and at most, while the answer is not clear.
inline constexpr int kSamples = 8;
inline constexpr int kMaxSamples = 32;
// An error beyond this multiple of its tolerance is wrong, whatever more samples would say: the
// largest of 32 deviations is at most about 3 times the largest of 8 (p < 1e-6).
inline constexpr double kClearlyWrong = 16;

// --- The decision per element ---

// Below this many smallest subnormal numbers of the dtype nothing is judged: flushing to zero and
// gradual underflow round absolutely.
inline constexpr double kFloorSubnormals = 16;
// A lower compiled rung that was judged right may show an error that noise does not (another
// formula in a decomposition): the next rung may have twice that.
inline constexpr double kLowerRung = 2;
// Where eager itself lies outside the calibrated tolerance and no tie explains it, the model of
// rounding does not hold for the tensor. Within this multiple of eager's own error, or of the
// tolerance, nothing can be said. The same for the spread of branches that have no gradient to
// compare with (0 / 0 but for rounding: the standard deviation of a constant).
inline constexpr double kEagerOwn = 8;
// An error that assert_close accepts and that leaves this much of the element intact is a matter of
// accuracy (kTradeOff), not of correctness: Inductor's vectorised erf is off by 1.5e-7 everywhere,
// 8e-6 of a result of 0.02. Three digits: what PyTorch's minifier asks for (tol=1e-3).
inline constexpr double kIntact = 1e-3;
// An accepted difference from eager that is larger than this part of the tensor's scale means that
// the program cannot tell right from wrong there: kIllConditioned instead of kAgree.
inline constexpr double kBlind = 0.25;
// A reference below this part of the tolerance everywhere is 0 but for float64's own rounding
// (1e-16 against 1e-7): the sum of a layer norm, say. Noise around 0 agrees with 0.
inline constexpr double kAnalyticZero = 1e-6;

// --- Range ---

// Values of the reference within this factor of the dtype's overflow or underflow threshold make
// the places of Inf, NaN and 0 a matter of rounding and of the order of operations.
inline constexpr double kRangeEdge = 16;

// --- Ties and kinks ---

// Replays that let rounding (free) or nudged leaves (probes) choose at ties. A tie of two shows
// its other side with probability 1 - 2^-15.
inline constexpr int kTieSamples = 16;
// Elements whose own choice is probed one by one, at most: 4 replays of about 0.3 ms each.
inline constexpr int kMaxProbes = 64;

// --- Tables ---

struct Precision {
  double eps = 0;        // of the coarsest floating dtype
  double subnormal = 0;  // smallest positive number
  double smallest = 0;   // smallest normal number
  double largest = 0;    // largest finite number
  bool low = false;      // float16 or bfloat16 takes part

  const Model& model() const { return low ? kLowModel : kFullModel; }
};
Precision PrecisionOf(at::ScalarType type);
// Of the coarsest floating dtype among the program's storages, dtype arguments and autocast.
Precision PrecisionOf(const program::Program& program);

// The band of a dtype, relative to the element: the model's times eps.
double Band(at::ScalarType type);

// torch.testing.assert_close's defaults (torch/testing/_comparison.py, _DTYPE_PRECISIONS):
//   float16 1e-3, 1e-5; bfloat16 1.6e-2, 1e-5; float32 and complex64 1.3e-6, 1e-5;
//   float64 and complex128 1e-7, 1e-7; others exact.
// In the real lane the relative part is allowed to every element: what is nearer to the reference
// than that, PyTorch calls close, however small the element. The absolute part is allowed to none:
// a lost element of 1e-6 is lost.
struct CloseTolerance {
  double rtol = 0;
  double atol = 0;
};
CloseTolerance AssertCloseDefaults(at::ScalarType type);

}  // namespace gradfuzz::oracle
