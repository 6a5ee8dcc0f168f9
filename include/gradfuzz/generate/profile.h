// SPDX-License-Identifier: BSD-3-Clause
// What one program is to be like: drawn once, before its first statement.
#pragma once

#include <optional>

#include "gradfuzz/generate/weights.h"
#include "gradfuzz/program/dtype.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz::generate {

enum class SizeClass : uint8_t {
  kTiny,   // most dimensions 1 to 4
  kMixed,  // the whole lattice of sizes around vector widths
  kLong,   // one dimension of 1023 to 1025
};

struct Profile {
  program::DType dtype = program::DType::kFloat32;
  // Of some leaves, in place of `dtype`: operands of two floating dtypes in one call.
  std::optional<program::DType> other;
  bool exact = false;     // only operators and values of the exact lane
  int statements = 3;     // about
  bool mutation = false;  // in-place operators may be drawn
  bool empty = false;     // sizes of 0 may be drawn
  bool forward_only = false;
  bool non_finite = false;  // leaves hold NaN, infinities and what overflows; then forward_only
  SizeClass sizes = SizeClass::kTiny;
  int dims = 2;  // of the first leaf; others follow

  // No gradient, wrapping arithmetic: every result is an integer or bool, and exact.
  bool integers() const { return !program::IsDifferentiable(dtype); }
};

Profile DrawProfile(Rng& rng, const Weights& weights, int max_statements);

// Appends the names of weights that DrawProfile looks up in tables.
void AppendProfileNames(std::vector<std::string>* names);

}  // namespace gradfuzz::generate
