// SPDX-License-Identifier: BSD-3-Clause
// How complicated a program is. Reduction accepts only programs that cost strictly less, so it
// ends.
//
//  1. A cost is a list of terms compared in order: one statement less outweighs everything after
//     it. All terms are whole numbers >= 0, so no infinite descent exists.
//  2. A pure function of the program, the same on every machine.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// In the order in which they are compared.
enum class CostTerm : uint8_t {
  kStatements,
  kCall,        // regions, and what makes the call plan other than the plain one
  kOutputs,     //
  kLeaves,      //
  kGradients,   // leaves that require a gradient
  kArguments,   // arguments that are no values, list elements included; keywords count double
  kDimensions,  // of all leaves, and in how many different shapes
  kElements,    // of all leaves
  kLayout,      // aliases, strides that are not contiguous, offsets, storage beyond the leaves
  kTypes,       // float64 and int64 are the simplest of their kind
  kAttributes,  // magnitude of numbers, length of names
  kCotangents,  // layout and values
  kValues,      // a short literal of small whole numbers is simpler than a random recipe
  kOperators,   // rank in the order of simplicity (OperatorRank)
};
inline constexpr size_t kCostTerms = 14;

struct Cost {
  std::array<int64_t, kCostTerms> terms{};

  int64_t operator[](CostTerm term) const { return terms[static_cast<size_t>(term)]; }
  auto operator<=>(const Cost&) const = default;
};

Cost CostOf(const Program& program);

// Lower is simpler: how readily a person says what the operator does. Operators that are not in the
// table come after all that are.
int OperatorRank(const std::string& op);

// The cost of a recipe for `numel` elements: 1 for a constant, few for a short literal of small
// whole numbers, 100 and more for random numbers.
int64_t CostOf(const ValueRecipe& recipe, int64_t numel);

}  // namespace gradfuzz::program
