// SPDX-License-Identifier: BSD-3-Clause
// What running a script shows, before anyone judges it. Two views of one script:
//
//  1. The script itself, as its author runs it, under each rung of the ladder: its own assertions,
//     the outputs of each compiled call, the gradients that it computes (ScriptRung).
//  2. Each compiled call as a program, under each rung, judged by the oracle (CallEvidence). Calls
//     that are one graph become programs of torch operators; others call the script's function.
//
// The second view decides where there is one: it is calibrated, and it knows what the call itself
// does. The first one sees what no program can say: modes around the call, the order of calls.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/message/runner.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::triage {

struct ScriptError {
  std::string type;     // "NameError"
  std::string message;  // may have many lines
  int line = 0;         // in the script; 0 = not in it
  std::string source;   // that line
  std::string kind;     // under a rung: "compile", "runtime", "unsupported"
  bool own = false;     // raised by the script itself, or an AssertionError: its own check
  bool syntax = false;  // the script is no Python
};

// A call of a compiled function, as the recording run saw it (gradfuzz_bridge/capture.py).
struct CapturedCall {
  int index = 0;
  std::vector<int> numbers;  // among all compiled calls of the script: calls of one kind
  std::string function;
  nlohmann::json options;                                     // of torch.compile
  std::vector<std::pair<std::string, nlohmann::json>> knobs;  // from `mode` and `options`
  std::vector<std::string> arguments, outputs;                // in words
  std::vector<std::string> names;                             // of the program's leaves
  std::vector<std::string> hazards;
  std::optional<program::Program> program;
  bool opaque = false;  // the program calls the script's function
  std::string why_opaque;
  bool redrawn = false;   // large arguments: values of the same kind, not the script's own
  bool random = false;    // draws random numbers
  bool backward = false;  // the cotangents are those of the script's own backward
  bool approximate_cotangent = false;  // their layout is not
  std::string error;                   // what eager raised
};

struct Capture {
  std::string form;  // "script", "case" (make and fn), "check"
  std::vector<CapturedCall> calls;
  int functions = 0;  // that torch.compile was asked to compile
  std::optional<ScriptError> error;
  std::string log;             // what the script printed
  bool mapped_to_cpu = false;  // asks for CUDA, and there is none
};

// One quantity that differs between eager and a rung, in the script's own run.
struct Difference {
  std::optional<int> call;  // number of the call; absent for gradients, which the script computes
  std::string what;         // "out0", "input 0 after the call", "accumulated gradient 2"
  std::string kind;         // "tensor", "metadata", "requires_grad", "value", "number"
  std::string eager, got;
  int64_t numel = 0;
  int64_t wrong = 0;  // elements off by more than 1e-5 + 1e-3 |eager|
  double max_error = 0, scale = 0;
  bool all_zero = false;
  bool nan = false;           // NaN at other places
  bool assert_close = false;  // inside torch.testing.assert_close's defaults
};

struct ScriptRung {
  std::string rung, device;
  double seconds = 0;
  std::string lost;  // how the worker died of it, in LossInWords; empty when it did not
  std::optional<ScriptError> error, eager_error;
  std::optional<bool> check;  // the verdict of the script's own check(): true = wrong
  std::string check_detail;
  std::vector<Difference> differences;
  int calls = 0, graphs = 0, graph_breaks = 0;
};

struct CallEvidence {
  size_t call = 0;  // index into Capture::calls
  CaseResult result;
  RunOptions run;
  // Where the program reads uninitialised memory and differs: the same with zeros in its place.
  std::optional<Outcome> initialised;
};

struct Evidence {
  nlohmann::json environment;  // the worker's `describe` answer
  Capture capture;
  std::string lost;  // how the recording run ended, in LossInWords; empty when it did not
  std::vector<CallEvidence> calls;  // those that have a program
  std::vector<ScriptRung> rungs;    // ladder order, eager first: eager against itself
  double seconds = 0;
};

Result<Capture> CaptureFromJson(const nlohmann::json& json);
Result<ScriptRung> ScriptRungFromJson(const nlohmann::json& json);

// Words of CapturedCall::hazards (gradfuzz_bridge/hazards.py).
inline constexpr const char* kUninitialisedHazard = "uninitialised memory";
inline constexpr const char* kDuplicatesHazard = "duplicate indices";

struct GatherOptions {
  std::string path;  // of the script's text, where the worker can read it
  std::string device = "cpu";
  std::function<void(const std::string&)> on_progress;  // may be empty
};

// Runs the script in recording mode, every call's program and the whole script under every rung.
// RETURNS: an error only when the worker cannot be asked at all. A script that raises, kills its
// process or runs for ever is evidence.
Result<Evidence> Gather(ProgramRunner& runner, const GatherOptions& options);

// The program with zeros where it asks for uninitialised memory.
program::Program WithInitialisedMemory(program::Program program);

// What a lost worker says of a script: "the worker did not answer within 120 s on 'capture'".
bool IsLoss(const Error& error);

// The same as a predicate of the script's process: "did not end within 120 s".
// REQUIRES: IsLoss(error).
std::string LossInWords(const Error& error);
inline constexpr const char* kTooSlow = "did not end within ";  // how it begins for a deadline

}  // namespace gradfuzz::triage
