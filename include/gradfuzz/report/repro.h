// SPDX-License-Identifier: BSD-3-Clause
// The standalone script of a finding: repro.py.
//
//  1. Needs only torch. Exits 1 while the bug is there, 0 when it is gone.
//  2. Compares the compiled program with eager and with a float64 reference that it computes
//     itself: outputs, gradients (None is not zero), and inputs after the call where the program
//     writes to them. The tolerance is the one that the finding was judged by.
//  3. `gradfuzz replay repro.py` reads it back: its text holds the module of program/emit.h.
//  4. Holds only what this finding needs: no draws for literal values, no inputs after the call for
//     a program that writes to none, and so on.
#pragma once

#include <string>

#include "gradfuzz/message/finding.h"

namespace gradfuzz::report {

std::string EmitRepro(const Finding& finding);

// The shortest text that shows a finding to a person: prints what eager and what the compiled
// program yield. Empty where the finding needs more than that (random values, shared memory,
// special call plans, ...): then EmitRepro is the shortest.
std::string EmitSnippet(const Finding& finding);

// `torch.compile(program, backend="aot_eager", fullgraph=True)` for the rung that the finding
// blames, as the script spells it.
std::string CompileCall(const Finding& finding);

// A torch config entry as a Python statement: {"inductor.cpp.simdlen", 1} ->
// "torch._inductor.config.cpp.simdlen = 1". Empty for what is no such entry.
std::string KnobStatement(const std::string& knob, const nlohmann::json& value);

}  // namespace gradfuzz::report
