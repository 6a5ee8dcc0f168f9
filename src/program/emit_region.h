// SPDX-License-Identifier: BSD-3-Clause
// The Python of regions: what stands around their statements.
#pragma once

#include <string>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// The line before the statements of regions[index] and the lines behind them, at the indentation of
// the former. REQUIRES: it is no kFunction.
std::string RegionHeader(const Program& program, size_t index);
std::string RegionFooter(const Program& program, size_t index, const std::string& indent);

// regions[index], a kFunction, as a class, which stands before the function of that name, and the
// line in it that applies the class.
std::string EmitClass(const Program& program, size_t index, const std::string& function);
std::string EmitApply(const Program& program, size_t index, const std::string& function);

}  // namespace gradfuzz::program
