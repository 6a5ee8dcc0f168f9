// SPDX-License-Identifier: BSD-3-Clause
// Which worker belongs to which Python: a worker is built for one environment's torch.
#pragma once

#include <string>

#include "gradfuzz/support/result.h"

namespace gradfuzz::cli {

// The gradfuzz-worker that was built for `python`: in the build folder of `program_folder` (the
// folder of the running program) or in one beside it, as their CMakeCache.txt say.
// RETURNS: an EnvironmentError that says how to build it.
Result<std::string> WorkerFor(const std::string& python, const std::string& program_folder);

}  // namespace gradfuzz::cli
