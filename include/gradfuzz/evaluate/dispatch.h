// SPDX-License-Identifier: BSD-3-Clause
// Calls one operator in eager C++: the statement's arguments matched against the dispatcher's
// schemas, as torch's own Python argument parser would.
//
// Operators without a dispatcher entry of their own (composites written in Python) go through a
// hook that the bridge installs; nothing here includes Python.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::evaluate {

// The Python fallback: results of the statement, or an error text.
using PythonCall = std::function<Result<std::vector<at::Tensor>>(const program::Statement&,
                                                                 std::span<const at::Tensor>)>;
void SetPythonCall(PythonCall call);

// Runs `statement` on `values` (indexed by ValueId; only those it uses need be defined).
// In-place operators write their operand and return it.
// RETURNS: the tensors it yields, in order (a single non-tensor result such as a Python bool is an
// error); or what eager said when it rejected the call, as a UsageError. Never throws.
// REQUIRES: the GIL is not held, autograd mode as the caller wants it.
Result<std::vector<at::Tensor>> Call(const program::Statement& statement,
                                     std::span<const at::Tensor> values);

}  // namespace gradfuzz::evaluate
