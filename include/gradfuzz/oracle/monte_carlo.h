// SPDX-License-Identifier: BSD-3-Clause
// Monte Carlo arithmetic at the dispatcher: a program replayed in the reference precision with
// rounding noise of its own dtype, forward and backward.
//
//  1. Every call of ATen that the program or autograd's formulas make is seen above autograd, by a
//     boxed fallback on a testing key; composites are seen through, so that their parts are nudged.
//  2. Inexact operators get noise on operands and on results. The nudged result is what autograd
//     saves: a mask that compares a saved result with its operand (amin's backward) stays whole.
//  3. Decisions (comparisons, indices, signs, which side of a kink) are recorded; a replay that
//     follows a trace takes them from there, so that its spread is that of rounding alone and no
//     near tie passes for noise. A replay that follows nothing shows what rounding can decide.
//  4. Deterministic: the same seed gives the same replay. torch's global generator is not touched.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/oracle/tolerance.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

// What one call decided; the calls of a replay in order.
struct Decision {
  std::string op;
  std::vector<at::Tensor> results;  // integer, boolean and jumping results, or the decisive operand
};
using Trace = std::vector<Decision>;

enum class Follow : uint8_t {
  kNothing,       // decide anew
  kForwardJumps,  // the forward's comparisons and jumps from the trace; selections and the whole
                  // backward anew: what a nudge of the leaves may decide at ties and kinks
  kEverything,
};

struct ReplayOptions {
  int draw = 0;
  const std::vector<at::Tensor>* cotangents = nullptr;  // instead of the recipes'
  std::vector<at::ScalarType> cotangent_types;          // dtypes of the program's own outputs
  bool noise = false;
  uint64_t seed = 0;
  Follow follow = Follow::kNothing;
  const Trace* trace = nullptr;  // needed unless follow is kNothing
  // May write the values of the leaves (in the reference precision) before the program runs.
  std::function<void(std::vector<at::Tensor>& storages)> edit;
};

struct Replay {
  evaluate::Observation observation;
  Trace trace;
  bool followed = true;     // the calls were those of the trace
  bool range_edge = false;  // some value lies near overflow or underflow of the program's dtype
  int calls = 0;            // operators seen, composites not counted
  int nudged = 0;           // of which with noise
};

// NEVER throws; `observation.error` says what went wrong. REQUIRES: the GIL is not held.
Replay RunReplay(const program::Program& program, const Precision& precision,
                 const ReplayOptions& options);

}  // namespace gradfuzz::oracle
