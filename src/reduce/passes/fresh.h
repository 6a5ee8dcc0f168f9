// SPDX-License-Identifier: BSD-3-Clause
// A leaf in the place of an intermediate value. Private to src/reduce.
#pragma once

#include <optional>

#include "gradfuzz/program/edit.h"
#include "gradfuzz/reduce/pass.h"

namespace gradfuzz::reduce {

// With the dtype, sizes and strides of the value, and random values that its users are defined on.
// RETURNS: nothing when the value is no tensor, or its shape is not known.
std::optional<program::FreshLeaf> FreshFor(const program::Program& program, const Facts& facts,
                                           program::ValueId id);

}  // namespace gradfuzz::reduce
