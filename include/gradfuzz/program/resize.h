// SPDX-License-Identifier: BSD-3-Clause
// Other sizes for leaves, with layouts, storages and literals fitted to them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// `sizes` has one list per leaf, of the leaf's own number of dimensions. Every leaf keeps the kind
// of its layout: order of strides, gaps, stride 0, offset. Literals are cut to the leading block,
// so that indices which differed still differ. RETURNS: nothing when a literal would have to grow.
std::optional<Program> WithSizes(const Program& program,
                                 const std::vector<std::vector<int64_t>>& sizes);

// The values of integer literals replaced by their ranks (0, 1, 2, ...): equal ones stay equal and
// different ones different, so an index list without repetition stays one.
Program WithRankedIntegers(const Program& program);

// Ranges of random integers end below `bound`; for indices into a dimension of that size.
Program WithIntegersBelow(const Program& program, int64_t bound);

}  // namespace gradfuzz::program
