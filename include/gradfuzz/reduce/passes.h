// SPDX-License-Identifier: BSD-3-Clause
// The list of passes, in the order in which they are asked.
#pragma once

#include <span>

#include "gradfuzz/reduce/pass.h"

namespace gradfuzz::reduce {

std::span<const Pass> AllPasses();

}  // namespace gradfuzz::reduce
