// SPDX-License-Identifier: BSD-3-Clause
// What the CPU refuses is not asked of a GPU: there, an index out of range is a device-side assert,
// which ends the CUDA context and with it the worker, where the CPU's kernels raise.
#pragma once

#include <string>

#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// Runs the forward of a program on the CPU, with the values of each draw and of the second call.
// RETURNS: what eager said of an index or a value out of its range; "" when it said nothing, or
// something else (the CPU lacks kernels that a GPU has). Never throws. REQUIRES: GIL not held.
std::string OutOfRange(const program::Program& program, int draws);

// The same question to an error's text.
bool SaysOutOfRange(const std::string& error);

}  // namespace gradfuzz::evaluate
