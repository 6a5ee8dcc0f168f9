// SPDX-License-Identifier: BSD-3-Clause
// Random differentiable programs, by concrete execution.
//
//  1. A sampler proposes the operands and attributes of one call from the values in hand; eager
//  runs
//     it in C++, on every draw of values; what eager refuses, or what yields something unsuitable
//     (too large, not finite, another shape for another draw), is drawn again.
//  2. All randomness comes from the seed and is spent before anything runs under a rung: the same
//     seed and options give the same program, bit for bit.
//  3. Nothing undefined: no index twice where writes do not accumulate, no uninitialised memory, no
//     random operator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradfuzz/generate/harvest.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::generate {

struct GeneratedProgram {
  program::Program program;
  // "exact": every forward value and gradient is an integer within the dtype's exact range, in any
  // order of summation, so results are compared bit for bit. "real": everything else.
  std::string lane;
  // What it has, sorted, for yields: "op.amin", "family.view", "layout.expanded",
  // "motif.write_then_aggregate", "dtype.float64", "values.ties", "cotangent.ones", ...;
  // "op_gradient.amin": a gradient goes through that operator.
  std::vector<std::string> features;
  int proposals = 0;   // calls that samplers proposed
  int refused = 0;     // of these, eager raised an error
  int unsuitable = 0;  // of these, eager ran and the result would not do
  int attempts = 1;    // programs begun; all but the last were given up
};

// Everything that has a weight: "motif.X", "layout.X", "dtype.X", "values.X", "feature.X", ....
// With "op.<id>" and "family.<name>" of the catalogue these are the names that
// GenerateOptions::weights understands.
std::vector<std::string> WeightNames();

// RETURNS: the program of `seed`; a UsageError when the weights leave nothing to draw. Without a
// harvest only the catalogue's operators are drawn.
// REQUIRES: the GIL is not held; autograd is enabled.
Result<GeneratedProgram> Generate(uint64_t seed, const GenerateOptions& options,
                                  const Harvest* harvest = nullptr);

}  // namespace gradfuzz::generate
