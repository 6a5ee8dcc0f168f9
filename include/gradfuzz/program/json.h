// SPDX-License-Identifier: BSD-3-Clause
// The JSON spelling of a program: what goes between processes and into the store.
//
// Arguments: null, true, 3, 0.5, "text", [..] are themselves; {"v": 3} a value, {"t": "float32"} a
// dtype, {"f": "inf"} a float that JSON lacks, {"c": [re, im]} complex, {"u": [..]} a tuple,
// {"slice": [a, b, c]}, {"k": "channels_last"} a constant of torch, {"e": 0} an ellipsis, {"p":
// [0.5, 0.25]} a float that is a parameter, in the first and in the second call.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::program {

inline constexpr int kFormatVersion = 1;

nlohmann::json ToJson(const Program& program);
nlohmann::json ToJson(const Arg& arg);
nlohmann::json ToJson(const Statement& statement);
// CallPlan::config in the form of RunOptions::knobs.
std::vector<std::pair<std::string, nlohmann::json>> ConfigKnobs(const CallPlan& call);

// RETURNS: a validated program, or a UsageError that names the field at fault.
Result<Program> FromJson(const nlohmann::json& json);
// One statement, its values not checked.
Result<Statement> StatementFromJson(const nlohmann::json& json);

}  // namespace gradfuzz::program
