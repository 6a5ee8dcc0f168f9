// SPDX-License-Identifier: BSD-3-Clause
// One function per pass, one pass per file of the same name. Private to src/reduce.
#pragma once

#include <vector>

#include "gradfuzz/reduce/pass.h"

namespace gradfuzz::reduce {

std::vector<Candidate> Core(const program::Program& program, const Facts& facts);
std::vector<Candidate> Outputs(const program::Program& program, const Facts& facts);
std::vector<Candidate> Cuts(const program::Program& program, const Facts& facts);
std::vector<Candidate> Statements(const program::Program& program, const Facts& facts);
std::vector<Candidate> Call(const program::Program& program, const Facts& facts);
std::vector<Candidate> Gradients(const program::Program& program, const Facts& facts);
std::vector<Candidate> Leaves(const program::Program& program, const Facts& facts);
std::vector<Candidate> Operators(const program::Program& program, const Facts& facts);
std::vector<Candidate> Arguments(const program::Program& program, const Facts& facts);
std::vector<Candidate> Dimensions(const program::Program& program, const Facts& facts);
std::vector<Candidate> Sizes(const program::Program& program, const Facts& facts);
std::vector<Candidate> Layouts(const program::Program& program, const Facts& facts);
std::vector<Candidate> Types(const program::Program& program, const Facts& facts);
std::vector<Candidate> Attributes(const program::Program& program, const Facts& facts);
std::vector<Candidate> Cotangents(const program::Program& program, const Facts& facts);
std::vector<Candidate> Values(const program::Program& program, const Facts& facts);
std::vector<Candidate> Elements(const program::Program& program, const Facts& facts);

}  // namespace gradfuzz::reduce
