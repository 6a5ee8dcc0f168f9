// SPDX-License-Identifier: BSD-3-Clause
// Runs a whole program in eager C++, statement by statement, forward and backward.
//
// The compiled rungs and the eager rung run the emitted Python; this interpreter is for what needs
// no Python text: generation, the fp64 reference, Monte Carlo arithmetic.
#pragma once

#include <vector>

#include "gradfuzz/evaluate/execute.h"
#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::evaluate {

struct InterpretOptions {
  int draw = 0;
  at::Device device = at::kCPU;
  // Give every output this cotangent instead of its recipe's; undefined tensors = none for it.
  const std::vector<at::Tensor>* cotangents = nullptr;
  // For Reference: the dtypes of the program's outputs where known; found by a run otherwise.
  std::vector<at::ScalarType> cotangent_types;
  OnPhase on_phase;
};

// RETURNS: the observation; `error` is set when eager rejects the program. Follows the call plan
// (autocast, regions, backward mode) as the bridge does. Never throws. REQUIRES: GIL not held.
Observation Interpret(const program::Program& program, const InterpretOptions& options);

// Every value of the program (indexed by ValueId) from one run on the CPU, without the backward;
// what in-place operators did later shows in the values they wrote.
Result<std::vector<at::Tensor>> Values(const program::Program& program, int draw);

// Interpret(program::ToReference(program)) with leaves and cotangents rounded to the original
// dtypes first.
Observation Reference(const program::Program& program, const InterpretOptions& options);

}  // namespace gradfuzz::evaluate
