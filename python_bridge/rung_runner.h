// SPDX-License-Identifier: BSD-3-Clause
// Runs programs under the rungs of one request: emit, compile, call on every draw, split packs.
// Says what happened; NEVER judges it (oracle/judge.h does).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradfuzz/message/request.h"
#include "gradfuzz/oracle/judge.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::bridge {

// Called as each rung starts, for attribution: (rung).
using OnPhase = std::function<void(const std::string&)>;

// RETURNS: for each program, one RungRun per rung of `options.rungs`, eager first. Programs that
// may share a compilation (program::IsPackable) are compiled as one function; where that raises,
// each is compiled alone. The RungRuns keep their compiled functions alive and callable (`rerun`)
// until the next call of RunRungs.
std::vector<std::vector<oracle::RungRun>> RunRungs(const std::vector<program::Program>& programs,
                                                   const RunOptions& options,
                                                   const OnPhase& on_phase);

}  // namespace gradfuzz::bridge
