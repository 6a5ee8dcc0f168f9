// SPDX-License-Identifier: BSD-3-Clause
// The worker's typed view of gradfuzz_bridge (Python): parse, describe, compile, call.
// Every function takes the GIL itself. REQUIRES: StartInterpreter succeeded; the GIL is not held.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/evaluate/execute.h"
#include "gradfuzz/generate/harvest.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::bridge {

using Knobs = std::vector<std::pair<std::string, nlohmann::json>>;

// Once, before anything else: quiet and quick torch.compile, facts about the machine kept in
// `machine_cache`; the fallback of evaluate::Call for operators that only Python knows.
Status Prepare(const std::string& machine_cache);

// The operators harvested from this torch, read at the first call; where the machine's cache has
// none yet they are harvested first, which takes half a minute. An EnvironmentError when that
// fails. REQUIRES: Prepare succeeded. The harvest lives as long as the process.
Result<const generate::Harvest*> LoadHarvest();

// The environment (request.h, "describe"); `knobs` are looked up in this torch's configuration.
Result<nlohmann::json> Describe(const std::vector<std::string>& knobs);

// {"program": ..., "header": ...} of a module's text; a UsageError that names path and line.
Result<nlohmann::json> Parse(const std::string& text, const std::string& path);

// What is compiled, and how.
struct CompileRequest {
  std::string source;  // text with `def program(...)`
  std::string name;    // pseudo file name for tracebacks
  std::string rung;
  Knobs knobs;
  std::optional<bool> dynamic;  // as for torch.compile, absent = its default
  std::string
      substitute;      // "FILE:NAME" of a backend in Inductor's place (planted faults), or empty
  bool fast = false;   // quick C++ compiler settings, for screening
  bool whole = false;  // an error instead of a graph break: a pack that breaks runs in eager
};

// A program compiled under one rung. Compilation happens at the first call; the object keeps the
// rung's knobs in force for the length of each call.
class CompiledRung {
 public:
  static Result<std::unique_ptr<CompiledRung>> Make(const CompileRequest& request);
  virtual ~CompiledRung() = default;

  virtual evaluate::Observation Run(const program::Program& program,
                                    evaluate::ExecuteOptions options) = 0;
  virtual int graphs() const = 0;
  virtual int graph_breaks() const = 0;
};

// Forgets every compiled function. Once per program or pack: within it, rungs are called again.
void Reset();

// PyTorch's accuracy rule: torch._dynamo.utils.same(reference, result, fp64).
bool Same(const at::Tensor& reference, const at::Tensor& result, const at::Tensor& fp64);

// Calls `gradfuzz_bridge.<module>.<function>(argument)` with JSON in and out: the requests that are
// Python from end to end.
Result<nlohmann::json> CallJson(const std::string& module, const std::string& function,
                                const nlohmann::json& argument);

}  // namespace gradfuzz::bridge
