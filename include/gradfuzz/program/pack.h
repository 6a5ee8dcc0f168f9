// SPDX-License-Identifier: BSD-3-Clause
// Packing: several independent programs as one, so that they are compiled together.
#pragma once

#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// Whether a program may share a compilation: all but those whose backward is differentiated again.
bool IsPackable(const Program& program);

// Whether two packable programs may share one: they are compiled and called in the same way, with
// or without a backward. An equivalence.
bool PackTogether(const Program& a, const Program& b);

// The programs side by side: storages, leaves, statements and outputs in turn, values renumbered.
// Beside programs with a backward, the leaves of one without require no gradient: it has none
// either way.
// Before [p, q]: p = (x0) -> v1 = sin(x0); q = (x0) -> v1 = cos(x0)
// After: (x0, x1) -> v2 = sin(x0); v3 = cos(x1); return v2, v3
// REQUIRES: every program IsPackable and any two PackTogether, or there is only one.
Program Pack(const std::vector<Program>& programs);

}  // namespace gradfuzz::program
