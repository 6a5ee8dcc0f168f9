// SPDX-License-Identifier: BSD-3-Clause
// The reference of a program: the same in double precision.
#pragma once

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// Float16, bfloat16 and float32 become float64, complex64 becomes complex128, in dtype arguments
// and casts by name; autocast is left out. Storages keep their dtypes: whoever runs it rounds the
// values to them and then widens. What names no dtype keeps its statements.
Program ToReference(const Program& program);

}  // namespace gradfuzz::program
