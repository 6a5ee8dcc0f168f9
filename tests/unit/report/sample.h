// SPDX-License-Identifier: BSD-3-Clause
// Findings built by hand, as a run would make them: the two classics and hostile ones.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/report/summary.h"

namespace gradfuzz::report::sample {

inline program::Storage Literal(program::DType dtype, std::vector<double> values) {
  program::Storage storage;
  storage.dtype = dtype;
  storage.numel = static_cast<int64_t>(values.size());
  storage.values.kind = program::ValueRecipe::Kind::kLiteral;
  storage.values.values = std::move(values);
  return storage;
}

inline program::Leaf Contiguous(int storage, std::vector<int64_t> sizes,
                                bool requires_grad = true) {
  program::Leaf leaf;
  leaf.storage = storage;
  leaf.strides.assign(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) leaf.strides[d - 1] = leaf.strides[d] * sizes[d];
  leaf.sizes = std::move(sizes);
  leaf.requires_grad = requires_grad;
  return leaf;
}

inline program::Output Ones(program::ValueId value, size_t n = 1) {
  program::Output output;
  output.value = value;
  output.cotangent.values.kind = program::ValueRecipe::Kind::kLiteral;
  output.cotangent.values.values.assign(n, 1.0);
  return output;
}

inline Comparison Right(const std::string& what, std::vector<int64_t> sizes) {
  Comparison c;
  c.what = what;
  c.numel = 1;
  for (int64_t s : sizes) c.numel *= s;
  c.sizes = std::move(sizes);
  return c;
}

inline RungOutcome Rung(const std::string& name, std::vector<Comparison> comparisons) {
  RungOutcome rung;
  rung.rung = name;
  rung.device = "cpu";
  rung.graphs = name == "eager" ? 0 : 1;
  rung.comparisons = std::move(comparisons);
  for (const Comparison& c : rung.comparisons) rung.verdict = Graver(rung.verdict, c.verdict);
  return rung;
}

inline nlohmann::json Environment(const std::string& torch) {
  return {{"torch", torch},
          {"python", "3.11.2"},
          {"triton", "3.5.0"},
          {"devices", {"cpu"}},
          {"cpu_capability", "AVX512"},
          {"cxx", "g++ (Debian 12.2.0) 12.2.0"},
          {"knobs", {{"inductor.cpp.simdlen", true}}},
          {"rungs", {"eager", "inductor"}}};
}

// torch.diagonal_scatter(x, src, 0).sum(): x.grad is all zero. Wrong on 2.11, right on 2.15.
inline Finding DiagonalScatter() {
  using program::Arg;
  Finding f;
  f.title = "Inductor returns an all-zero gradient for diagonal_scatter followed by sum";
  f.verdict = Verdict::kGradientMismatch;
  f.first_wrong_rung = "inductor";
  f.device = "cpu";
  f.first_seed = 17;
  f.hits = 23;
  program::Program& p = f.reduced;
  p.storages = {Literal(program::DType::kFloat32, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
                Literal(program::DType::kFloat32, {1, 2, 3})};
  p.leaves = {Contiguous(0, {3, 3}), Contiguous(1, {3})};
  p.statements = {{"diagonal_scatter", {Arg::Value(0), Arg::Value(1), Arg(0)}, {}, 1},
                  {"sum", {Arg::Value(2)}, {}, 1}};
  p.outputs = {Ones(3)};
  f.original = p;
  f.run.rungs = {"eager", "dynamo", "aot_eager", "aot_eager_decomp_partition", "inductor"};
  f.run.draws = 1;
  const std::vector<Comparison> right = {Right("out0", {}), Right("grad x0", {3, 3}),
                                         Right("grad x1", {3})};
  std::vector<Comparison> wrong = right;
  Comparison& c = wrong[1];
  c.verdict = Verdict::kGradientMismatch;
  c.wrong = 6;
  c.max_error = 1;
  c.tolerance = 0;
  c.reference_scale = 1;
  c.pattern = "all zero";
  c.reference = c.eager = {0, 1, 1, 1, 0, 1, 1, 1, 0};
  c.got.assign(9, 0.0);
  c.pytorch_same = c.assert_close = false;
  f.outcome.verdict = f.verdict;
  f.outcome.first_wrong_rung = "inductor";
  f.outcome.lane = "exact";
  for (size_t i = 0; i < f.run.rungs.size(); ++i) {
    f.outcome.rungs.push_back(Rung(f.run.rungs[i], f.run.rungs[i] == "inductor" ? wrong : right));
  }
  f.signature = "gradient_mismatch|inductor|cpu|diagonal_scatter>sum|grad:self";
  f.id = "3f1c9a5d2b7e8041";
  f.ablation = {
      {"inductor.fallback_by_default", true, "every operator falls back to ATen", Verdict::kAgree,
       true, true},
      {"inductor.pattern_matcher", false, "no graph patterns", Verdict::kGradientMismatch, false,
       true},
      {"inductor.cpp.simdlen", 1, "no vectorised kernels", Verdict::kGradientMismatch, false, true},
      {"inductor.mix_order_reduction", false, "no mixed-order reductions", Verdict::kAgree, false,
       false}};
  f.workaround = "torch._inductor.config.fallback_by_default = True";
  f.triggers = {
      {"aggregation", "sum -> sum(dim=0)", Verdict::kGradientMismatch, true, true,
       "x0.grad all zero"},
      {"aggregation", "sum -> mean", Verdict::kGradientMismatch, true, true, ""},
      {"in between", "relu between", Verdict::kAgree, false, true, ""},
      {"in between", "mul by 2 between", Verdict::kAgree, false, true, ""},
      {"dtype", "float32 -> float64", Verdict::kGradientMismatch, true, true, ""},
      {"op", "diagonal_scatter -> select_scatter", Verdict::kGradientMismatch, true, true, ""},
      {"device", "cpu -> cuda", Verdict::kAgree, false, false, "no such device here"}};
  f.reduction = {"minimal", 41, 1, 0, 38.5, 6, 2};
  f.confirmed = f.confirmations = 3;
  f.environment = Environment("2.11.0+cu130");
  return f;
}

// torch.atan2(x, y).amin(-1), float32 (2, 3): one gradient is dropped. Wrong on 2.11 and 2.15.
inline Finding Atan2Amin() {
  using program::Arg;
  Finding f;
  f.title = "Inductor drops the gradient of amin after atan2 (float32, CPU)";
  f.verdict = Verdict::kGradientMismatch;
  f.first_wrong_rung = "inductor";
  f.device = "cpu";
  f.first_seed = 1203;
  f.hits = 2;
  program::Program& p = f.reduced;
  p.storages = {Literal(program::DType::kFloat32, {1, 5, 2, 4, 5, 2}),
                Literal(program::DType::kFloat32, {5, 2, 3, 2, 4, 2})};
  p.leaves = {Contiguous(0, {2, 3}), Contiguous(1, {2, 3})};
  p.statements = {{"atan2", {Arg::Value(0), Arg::Value(1)}, {}, 1},
                  {"amin", {Arg::Value(2), Arg(-1)}, {}, 1}};
  p.outputs = {Ones(3, 2)};
  f.original = p;
  f.run.rungs = {"eager", "dynamo", "aot_eager", "aot_eager_decomp_partition", "inductor"};
  f.run.draws = 1;
  const std::vector<Comparison> right = {Right("out0", {2}), Right("grad x0", {2, 3}),
                                         Right("grad x1", {2, 3})};
  std::vector<Comparison> wrong = right;
  wrong[0].tolerance = 9.6e-7;
  const std::vector<std::vector<std::complex<double>>> references = {
      {5.0 / 26, 0, 0, 0, 0, 0.25}, {-1.0 / 26, -0.0, -0.0, -0.0, -0.0, -0.25}};
  for (size_t i = 0; i < 2; ++i) {
    Comparison& c = wrong[i + 1];
    c.verdict = Verdict::kGradientMismatch;
    c.wrong = 1;
    c.max_error = 0.25;
    c.tolerance = 3.2e-7;
    c.reference_scale = 0.25;
    c.eager_error = 2.9e-9;
    c.pattern = "one element, zero";
    c.reference = references[i];
    c.eager = references[i];
    for (std::complex<double>& v : c.eager) v = static_cast<float>(v.real());
    c.got = c.eager;
    c.got[5] = i == 0 ? 0.0 : -0.0;
    c.pytorch_same = c.assert_close = false;
  }
  f.outcome.verdict = f.verdict;
  f.outcome.first_wrong_rung = "inductor";
  f.outcome.lane = "real";
  f.outcome.calibrated = true;
  for (const std::string& name : f.run.rungs) {
    f.outcome.rungs.push_back(Rung(name, name == "inductor" ? wrong : right));
  }
  f.signature = "gradient_mismatch|inductor|cpu|atan2>amin|simdlen";
  f.id = "b04d77c2e95a6013";
  f.ablation = {{"inductor.cpp.simdlen", 1, "no vectorised kernels", Verdict::kAgree, true, true}};
  f.workaround = "torch._inductor.config.cpp.simdlen = 1";
  f.triggers = {{"aggregation", "amin -> amax", Verdict::kGradientMismatch, true, true, ""},
                {"aggregation", "amin -> min(dim)[0]", Verdict::kAgree, false, true, ""},
                {"op", "atan2 -> mul", Verdict::kAgree, false, true, ""},
                {"dtype", "float32 -> float64", Verdict::kAgree, false, true, ""}};
  f.reduction = {"minimal", 33, 0, 0, 29.0, 5, 2};
  f.confirmed = f.confirmations = 3;
  f.environment = Environment("2.15.0+cu132");
  return f;
}

// A program that Inductor refuses to compile.
inline Finding CompileError() {
  Finding f = DiagonalScatter();
  f.title = "Inductor fails an assertion in the backward of index_fill";
  f.verdict = f.outcome.verdict = Verdict::kCompileError;
  f.id = "77aa00ff11223344";
  f.signature = "compile_error|inductor|cpu|AssertionError in reinplace";
  f.outcome.first_wrong_rung = "inductor";
  RungOutcome& rung = f.outcome.rungs.back();
  rung.verdict = Verdict::kCompileError;
  rung.comparisons.clear();
  rung.error =
      "InductorError: AssertionError: \n\nTraceback (most recent call last):\n  "
      "File \"reinplace.py\", line 1\nAssertionError: <generated> & \"quoted\"";
  f.workaround.clear();
  f.ablation.clear();
  f.triggers.clear();
  f.known_issue = "https://github.com/pytorch/pytorch/issues/187018";
  f.hits = 140;
  return f;
}

// What no report may choke on.
inline const char* const kHostile =
    "</script><img src=x onerror=alert(1)> \"quoted\" 'single' & | `tick` \x1b[2J\x01 ]]> "
    "\xC3\xA9\xE2\x88\x82\xF0\x9F\x90\x9B \xFF\xFE \n# heading\t--> end";

inline Finding Hostile() {
  Finding f = DiagonalScatter();
  f.title = f.signature = f.workaround = f.device = f.first_wrong_rung = kHostile;
  f.outcome.first_wrong_rung = kHostile;
  f.outcome.note = kHostile;
  f.known_issue.clear();
  f.id = "0000000000000bad";
  for (RungOutcome& r : f.outcome.rungs) {
    for (Comparison& c : r.comparisons) c.note = c.pattern = c.what = kHostile;
    r.error = kHostile;
  }
  f.outcome.rungs.back().rung = kHostile;
  for (KnobResult& k : f.ablation) k.knob = k.meaning = kHostile;
  for (TriggerRow& t : f.triggers) t.axis = t.change = t.detail = kHostile;
  f.reduction.status = kHostile;
  f.environment = {{"torch", kHostile}, {kHostile, kHostile}};
  return f;
}

inline RunSummary Run() {
  RunSummary s;
  s.gradfuzz_version = "0.1.0";
  s.command = "gradfuzz --device cpu --duration 2h --out nightly/";
  s.started = "2026-01-30T01:00:00Z";
  s.finished = "2026-01-30T03:00:04Z";
  s.end = "time is up";
  s.first_seed = 0;
  s.devices = {"cpu"};
  s.workers = 2;
  s.environment = Environment("2.11.0+cu130");
  RunTotals& t = s.totals;
  t.programs = 21480;
  t.invalid = 96;
  t.with_gradients = 21384;
  t.gradients_compared = 148211;
  t.outputs_compared = 61120;
  t.mismatches = 165;
  t.muted = 161;
  t.unconfirmed = 1;
  t.waiting = 2;
  t.workers_lost = 3;
  t.seconds = 7204;
  t.torch_seconds = 13800;
  t.worker_seconds = 14300;
  t.verdicts = {{Verdict::kAgree, 21205},      {Verdict::kGradientMismatch, 25},
                {Verdict::kCompileError, 140}, {Verdict::kConvention, 5},
                {Verdict::kUnsupported, 9},    {Verdict::kInvalid, 96}};
  for (int i = 0; i <= 60; ++i) {
    const double x = i / 60.0;
    const auto programs = static_cast<int64_t>(21480 * (x - 0.03 * std::sin(6.28 * x)));
    s.rate.push_back({7204 * x, programs, programs * 7, programs / 130,
                      i < 2 ? 0 : (i < 9 ? 1 : (i < 30 ? 2 : 3)), 1400 + 300 * x});
  }
  s.yields = {{"op", "diagonal_scatter", 2140, 18, 1},
              {"op", "amin", 1908, 2, 1},
              {"op", "sum", 6120, 18, 1},
              {"op", "index_fill", 990, 140, 1},
              {"op", "mul", 8111, 3, 0},
              {"dtype", "float32", 15002, 120, 3},
              {"dtype", "float64", 6382, 45, 1},
              {"rung", "aot_eager", 21384, 0, 0},
              {"rung", "inductor", 21384, 165, 3}};
  s.findings = {CompileError(), Atan2Amin(), DiagonalScatter()};
  s.known_bugs = {
      {"index_fill reinplacing", "https://github.com/pytorch/pytorch/issues/187018", 140, true},
      {"index_put then zero_", "https://github.com/pytorch/pytorch/issues/198094", 0, true}};
  return s;
}

}  // namespace gradfuzz::report::sample
