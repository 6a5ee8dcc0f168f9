// SPDX-License-Identifier: BSD-3-Clause
// Laws that a rung must obey by itself, whatever eager says: they also catch what eager shares.
//
//  1. Zero: the gradients for zero cotangents are exact zeros (NaN where a derivative is infinite).
//  2. Scaling: the gradients for 2 c are twice those for c. Within the envelopes of both: a
//  backward
//     may work with the logarithm of the cotangent, and small float16 numbers do not double
//     exactly.
//  3. Split: the gradients for c masked one way and the other way add up to those for c. The parts
//     are contiguous, so a backward that is wrong for an expanded cotangent alone contradicts
//     itself. Tolerance: the envelopes of the three, which make the same decisions.
//  4. Partition: where an output is a scatter of two leaves, writing the gradient of the source
//     back over the gradient of the target gives the cotangent, exactly.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/oracle/envelope.h"
#include "gradfuzz/oracle/judge.h"

namespace gradfuzz::oracle {

// The recipes' cotangents for the outputs of draw 0; undefined where an output takes no part.
std::vector<at::Tensor> RecipeCotangents(const program::Program& program,
                                         const evaluate::Observation& observation);

// What a law makes of them, each by itself: the same within a pack as alone.
std::vector<at::Tensor> CotangentsUnder(Law law, const std::vector<at::Tensor>& recipe);

struct SelfCheckReport {
  std::vector<Comparison> failures;  // one per law and gradient, verdict kSelfCheckFailed
  int checks = 0;                    // laws that could be asked
  int replays = 0;
};

// REQUIRES: run.draws is not empty and all its draws are ok. Uses draw 0.
SelfCheckReport SelfCheck(const program::Program& program, const Precision& precision,
                          const RungRun& run, uint64_t seed);

// Law 4 for one observation; public for tests. RETURNS: what is wrong, or an empty text.
std::string PartitionFault(const program::Program& program,
                           const evaluate::Observation& observation,
                           const std::vector<at::Tensor>& cotangents, bool* applies);

}  // namespace gradfuzz::oracle
