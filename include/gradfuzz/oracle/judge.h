// SPDX-License-Identifier: BSD-3-Clause
// The oracle: what the rungs of the ladder did with one program, judged.
//
//  1. Cheap first: what is bit-equal to eager, or within a few ULP of it element by element (exact
//     lane: bit-equal only), agrees, and nothing more is computed.
//  2. The rest is calibrated (envelope.h): a float64 reference, eager's own distance from it, and
//     the spread that rounding alone causes. Wrong is what exceeds both a multiple of that
//     envelope and a floor relative to the largest term, per element.
//  3. At ties and kinks a gradient is a set (ties.h): another member of it is a convention.
//  4. Laws that need no reference (self_check.h) are asked of every rung, eager too.
//  5. Each rung is judged by itself: a ladder need not be monotone.
// Constants and their derivations: tolerance.h. Known legitimate divergences:
// corpus/negative/README.md.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradfuzz/evaluate/observation.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::oracle {

// What the self-checks (self_check.h) make of the recipes' cotangents.
enum class Law : uint8_t {
  kZero,
  kDoubled,
  kMasked,  // a part of the elements is 0,
  kRest,    // and here the others are
};

// What one rung did. Plain data and two ways to ask it for more.
struct RungRun {
  std::string rung;                          // "eager", "aot_eager", "inductor", ...
  std::string device;                        // "cpu", "cuda"
  std::vector<evaluate::Observation> draws;  // one per draw of values
  // The second call of the call plan, one per draw; empty when the plan has none.
  std::vector<evaluate::Observation> second_draws;
  std::vector<evaluate::Observation> repeats;  // draw 0 again on the same artefact; may be empty
  Verdict error_verdict = Verdict::kAgree;     // with `error`: kCompileError, kRuntimeError, ...
  std::string error;
  int graphs = 0, graph_breaks = 0;
  double seconds = 0;
  // The same artefact on draw 0 with the cotangents that a law asks for, one per output. The law is
  // named so that a pack runs once for all its programs.
  std::function<evaluate::Observation(Law law, const std::vector<at::Tensor>& cotangents)> rerun;
  // The same rung compiled with knobs; nothing when this torch has no such knob.
  std::function<std::optional<RungRun>(
      const std::vector<std::pair<std::string, nlohmann::json>>& knobs)>
      recompile;
};

struct JudgeOptions {
  bool self_checks = true;
  bool compare_strides = true;
  uint64_t seed = 0;  // of the rounding noise
  // torch._dynamo.utils.same(reference, result, fp64_ref); empty: Comparison says true.
  std::function<bool(const at::Tensor& reference, const at::Tensor& result, const at::Tensor& fp64)>
      same;
};

// `lane`: "exact" or "real". `rungs`: eager first, then ladder order.
// RETURNS: the outcome with one RungOutcome per rung; `stats` holds "compared" (tensors),
// "calibrated" (tensors past the cheap path), "replays", "self_checks" and, where they apply,
// "eager_off" (tensors in which eager itself is outside the tolerance), "ill_conditioned".
// NEVER throws on account of what the rungs did. REQUIRES: the GIL is not held.
Outcome Judge(const program::Program& program, const std::string& lane, std::vector<RungRun>& rungs,
              const JudgeOptions& options);

}  // namespace gradfuzz::oracle
