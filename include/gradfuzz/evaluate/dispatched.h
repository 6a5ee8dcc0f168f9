// SPDX-License-Identifier: BSD-3-Clause
// Which operators of the dispatcher a program comes down to: an error of compiled code that names
// one names the programs of a pack that may have raised it.
#pragma once

#include <ATen/core/Tensor.h>

#include <set>
#include <string>

#include "gradfuzz/program/program.h"

namespace gradfuzz::evaluate {

// Runs a program in eager, forward and backward, and watches the dispatcher.
// RETURNS: names without namespace and overload ("linalg_solve_triangular"); those that ran before
// eager raised, where it does. Never throws. REQUIRES: GIL not held; no other thread of the process
// runs operators meanwhile.
std::set<std::string> DispatchedOperators(const program::Program& program,
                                          const at::Device& device);

// The operators that an error's text or traceback names as "aten.NAME".
std::set<std::string> OperatorsNamed(const std::string& error);

}  // namespace gradfuzz::evaluate
