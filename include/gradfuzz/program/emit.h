// SPDX-License-Identifier: BSD-3-Clause
// The Python spelling of a program: what runs, what the corpus holds, what people read.
//
// The text imports only torch. `gradfuzz_bridge.parse` reads it back through Python's own `ast`:
// parse(EmitModule(p)) == p.
#pragma once

#include <string>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// An argument as Python source: `torch.float32`, `v3`, `(slice(0, 2), None)`, `float("inf")`.
std::string EmitArg(const Program& program, const Arg& arg);
// `v3, v4 = torch.max(v2, dim=0)`, without indentation or newline.
std::string EmitStatement(const Program& program, size_t index);
// Only `def <name>(x0, x1): ...`, ending in a newline.
std::string EmitFunction(const Program& program, const std::string& name = "program");
// For each line of EmitFunction's text the statement that it spells, or in whose region it stands
// (headers, footers, classes); -1 for the lines that belong to none.
std::vector<int> StatementOfLine(const Program& program);
// The whole module without a header comment: import, the value helpers in use, `inputs`,
// `program`, `cotangents` and, where the call plan is not the plain one, `CALL`.
std::string EmitModule(const Program& program);
// `torch.tensor([[1.0, 2.0]], dtype=torch.float32, device=<device>)` for a literal storage that a
// contiguous tensor of `sizes` fills; empty for any other. `device` is Python source.
std::string EmitLiteral(const Storage& storage, const std::vector<int64_t>& sizes,
                        const std::string& device);
// "autograd.Function", "func.jvp", "func.vjp": the path below torch of what a part of the program
// goes through as a whole; "" where none does.
std::string TransformName(const Program& program);
// One line for tables: "diagonal_scatter > sum".
std::string OpChain(const Program& program);

}  // namespace gradfuzz::program
