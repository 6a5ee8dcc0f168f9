// SPDX-License-Identifier: BSD-3-Clause
// Pieces of Python that the emitters share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// "a, b".
std::string Join(const std::vector<std::string>& items);
// "(a, b)", "(a,)", "()".
std::string TupleText(const std::vector<std::string>& items);
std::vector<std::string> Concatenated(std::vector<std::string> a,
                                      const std::vector<std::string>& b);
std::vector<std::string> Names(const Program& program, const std::vector<ValueId>& ids);

// "f0": a float that the program takes as a parameter.
std::string FloatName(size_t index);

}  // namespace gradfuzz::program
