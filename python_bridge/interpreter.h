// SPDX-License-Identifier: BSD-3-Clause
// The one CPython of a worker, for the life of the process.
//
// NEVER restarted: torch does not survive that. The process leaves with _exit (main.cpp), since
// tearing torch down inside an embedded interpreter is fragile.
#pragma once

#include <string>

#include "gradfuzz/support/result.h"

namespace gradfuzz::bridge {

// Starts CPython as `python_executable` (the environment's own python, so that its packages are
// found and child processes start Python and not us) with `bridge_dir` on its path, imports torch
// and releases the GIL. RETURNS: an EnvironmentError that names what is missing.
Status StartInterpreter(const std::string& python_executable, const std::string& bridge_dir);

}  // namespace gradfuzz::bridge
