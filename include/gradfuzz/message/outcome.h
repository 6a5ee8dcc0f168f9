// SPDX-License-Identifier: BSD-3-Clause
// What a worker says of one program: the observation of each rung and the verdict.
// Shared by both processes; knows neither torch nor how anything was computed.
#pragma once

#include <complex>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

enum class Verdict : uint8_t {
  kAgree,
  // Findings, the gravest first within a program.
  kGradientMismatch,
  kMissingGradient,  // None where eager has a gradient, or the reverse
  kForwardMismatch,
  kNanMismatch,            // NaN or Inf at other places
  kMetadataMismatch,       // shape, dtype, stride, requires_grad, aliasing
  kInputMutationMismatch,  // an input holds other values after the call
  kSelfCheckFailed,        // a law that needs no reference is broken (linearity, zero, partition)
  kNondeterministic,       // one rung differs from itself on the same inputs
  kCompileError,
  kRuntimeError,
  kCrash,    // the worker died; set by the parent
  kTimeout,  // the deadline passed; set by the parent
  // No findings.
  kConvention,      // a tie or kink resolved otherwise, both legal
  kUnsupported,     // an explicit refusal by design, or nothing was compiled
  kIllConditioned,  // the reference itself cannot tell right from wrong
  kTradeOff,        // documented precision trade-off (low precision kept in float32)
  kInvalid,         // eager itself rejects the program
};

const char* Name(Verdict verdict);  // "gradient_mismatch"
std::optional<Verdict> VerdictFromName(const std::string& name);
bool IsFinding(Verdict verdict);
// In words, for people: "wrong gradient".
const char* InWords(Verdict verdict);
// Of two verdicts on one program, the one that names it: findings before the others, and
// gradients before forward values, as silent wrong gradients are what gradfuzz is for.
Verdict Graver(Verdict a, Verdict b);

// One compared quantity under one rung, the worst over all draws.
struct Comparison {
  std::string what;  // "out0", "grad x0", "input x1" (after the call), "self-check linearity"
  Verdict verdict = Verdict::kAgree;
  int draw = 0;  // the draw that the numbers are of
  std::vector<int64_t> sizes;
  int64_t numel = 0;
  int64_t wrong = 0;           // elements outside the tolerance
  double max_error = 0;        // largest |got - reference|
  double tolerance = 0;        // allowed at that element
  double reference_scale = 0;  // largest |reference|
  double eager_error = 0;      // largest |eager - reference|: the own distance of eager
  std::string pattern;  // "all zero", "one element", "one row", "tail", "NaN", "scattered", ...
  std::string note;     // one sentence for people, may be empty
  // Flattened values, at most kMaxSample elements each, for reports: reference (fp64), eager, got.
  // The imaginary part of a real number is +0.
  std::vector<std::complex<double>> reference, eager, got;
  // Which of these are wrong, ascending: each element has a tolerance of its own. Empty where only
  // `tolerance` is known.
  std::vector<int64_t> wrong_at;
  bool pytorch_same = true;  // torch._dynamo.utils.same(ref, res, fp64_ref)
  bool assert_close = true;  // torch.testing.assert_close at default tolerances, eager as expected
};
inline constexpr int64_t kMaxSample = 4096;

struct RungOutcome {
  std::string
      rung;  // "eager", "dynamo", "aot_eager", "aot_eager_decomp_partition", "inductor", ...
  std::string device;                 // "cpu", "cuda"
  Verdict verdict = Verdict::kAgree;  // the gravest of its comparisons, or an error
  std::string error;  // exception type and text, for kCompileError, kRuntimeError, kUnsupported
  std::vector<Comparison> comparisons;
  int graphs = 0;  // compiled graphs
  int graph_breaks = 0;
  double seconds = 0;  // wall, compile and run
};

struct Outcome {
  Verdict verdict = Verdict::kAgree;
  std::string first_wrong_rung;    // empty when no rung is wrong
  std::vector<RungOutcome> rungs;  // eager first, in ladder order
  bool calibrated = false;         // went past the cheap comparison
  std::string lane;                // "exact" or "real"
  std::string note;
  double generate_seconds = 0, reference_seconds = 0, compare_seconds = 0;  // wall
  nlohmann::json stats;  // free-form counters: tensors compared, kernels, ...
};

nlohmann::json ToJson(const Outcome& outcome);
Result<Outcome> OutcomeFromJson(const nlohmann::json& json);

}  // namespace gradfuzz
