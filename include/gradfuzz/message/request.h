// SPDX-License-Identifier: BSD-3-Clause
// What the parent asks of a worker, and the shape of the answers.
//
// One request is one JSON frame (support/frame.h). The worker answers an `evaluate` with, for each
// item in order, {"type": "begin", "item": i, "phase": p} each time it starts a phase ("generate",
// "eager", "inductor", ...: who dies names its phase; with "program" when it is known), then one
// {"type": "result", "item": i, "seed": s, "program": {...}, "outcome": {...}}, and at the end
// {"type": "done"}. A result or done frame with "recycle": true says that this worker is spoilt (a
// device assert, say) and must be replaced. Any other request gets exactly one answer: {"type":
// "answer", ...} or {"type": "error", "kind": "usage" | "environment" | "internal", "message":
// "..."}.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

// What may be generated. Plain data; the campaign's configuration.
struct GenerateOptions {
  int max_statements = 6;
  // Weight factors by feature, motif or op name ("motif.write_then_aggregate", "op.amin",
  // "layout.expanded", "dtype.bfloat16"); what is not named has factor 1; 0 switches it off.
  std::vector<std::pair<std::string, double>> weights;

  bool operator==(const GenerateOptions&) const = default;
};

// How a program is run.
struct RunOptions {
  std::string device = "cpu";
  std::vector<std::string> rungs = {"eager", "aot_eager", "inductor"};  // ladder order
  int draws = 8;              // value sets per compiled program: some bugs show in one of ten
  bool fast = false;          // quick compiler flags: for screening, never for a confirmation
  bool fresh_caches = false;  // compile without any cache: for confirmations
  bool self_checks = true;
  int pack = 1;  // items compiled together, at most
  // torch config entries: {"inductor.cpp.simdlen", 1}, {"functorch.cse", false}, {"dynamo.x", ..}.
  std::vector<std::pair<std::string, nlohmann::json>> knobs;
  std::string fault;  // name of a planted fault (tests/faults), empty = none

  bool operator==(const RunOptions&) const = default;
};

// A case: a seed to generate from, or a program.
struct WorkItem {
  std::optional<uint64_t> seed;
  std::optional<program::Program> program;  // wins when both are given; seed is then provenance
};

struct EvaluateRequest {
  std::vector<WorkItem> items;
  GenerateOptions generate;
  RunOptions run;
};

nlohmann::json ToJson(const GenerateOptions& options);
nlohmann::json ToJson(const RunOptions& options);
nlohmann::json ToJson(const EvaluateRequest& request);  // {"type": "evaluate", ...}
Result<GenerateOptions> GenerateOptionsFromJson(const nlohmann::json& json);
Result<RunOptions> RunOptionsFromJson(const nlohmann::json& json);
Result<EvaluateRequest> EvaluateRequestFromJson(const nlohmann::json& json);

// The other requests, all answered by one frame:
//   {"type": "describe"} -> {"torch": "2.15.0", "python": "3.11.7", "triton": .., "devices":
//   ["cpu"],
//                            "cpu_capability": "AVX512", "cxx": "...", "rungs": [...],
//                            "knobs": {"inductor.cpp.simdlen": true, ...}, ...}
//   {"type": "parse", "path": p, "text": t} -> {"program": {...}, "header": {"title": ..., ...}}
//   {"type": "emit", "program": {...}} -> {"text": Python module}
//   {"type": "shapes", "program": {...}} -> {"values": [{"dtype", "sizes", "strides", "offset",
//                            "requires_grad"}, ...]}, by ValueId
//   {"type": "ops"} -> {"ops": [{"name", "family", ...}, ...],
//                       "database": [{"name", "paths", "left_out"}, ...]}: of torch's op_db, what
//                       takes float32 and supports autograd
//   {"type": "generate", "items": [...], "generate": {...}} ->
//   {"programs": [{"program": {...}, "module": "import torch...", "lane": "real", ...}, ...]}

}  // namespace gradfuzz
