// SPDX-License-Identifier: BSD-3-Clause
// Properties of generated programs, over many seeds.
#include "gradfuzz/generate/generator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/evaluate/materialise.h"
#include "gradfuzz/generate/compile_config.h"
#include "gradfuzz/generate/leaf.h"
#include "gradfuzz/generate/motifs.h"
#include "gradfuzz/generate/swarm.h"
#include "gradfuzz/generate/weights.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"

namespace gradfuzz::generate {
namespace {

using program::Program;
using program::Statement;

constexpr uint64_t kSeeds = 2000;

// Generated once: the properties below are checked by one test, as ctest starts a process for each.
const std::vector<GeneratedProgram>& Programs() {
  static const auto* const programs = [] {
    auto* all = new std::vector<GeneratedProgram>;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      auto generated = Generate(seed, {});
      if (generated) all->push_back(std::move(*generated));
    }
    return all;
  }();
  return *programs;
}

bool AllFinite(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& t : tensors) {
    if (!at::isfinite(t).all().item<bool>()) return false;
  }
  return true;
}

bool Has(const GeneratedProgram& generated, std::string_view feature) {
  return std::ranges::find(generated.features, feature) != generated.features.end();
}

bool RunsCleanly(const GeneratedProgram& generated, int draw, bool second_call = false) {
  const Program program = second_call ? program::SecondCall(generated.program) : generated.program;
  const evaluate::Observation run = evaluate::Interpret(program, {.draw = draw});
  if (!run.ok() || (!Has(generated, "feature.non_finite") && !AllFinite(run.outputs))) return false;
  bool any = program.call.backward == program::CallPlan::Backward::kNone;
  for (const auto& gradient : run.gradients) {
    if (!gradient) continue;
    any = true;
    if (!at::isfinite(*gradient).all().item<bool>()) return false;
  }
  return any;
}

void ExpectValid() {
  ASSERT_EQ(Programs().size(), kSeeds);
  for (size_t i = 0; i < kSeeds; ++i) {
    const GeneratedProgram& generated = Programs()[i];
    EXPECT_EQ(program::Validate(generated.program), "") << "seed " << i;
    EXPECT_FALSE(generated.program.statements.empty()) << "seed " << i;
    EXPECT_TRUE(generated.lane == "exact" || generated.lane == "real") << "seed " << i;
  }
}

void ExpectEagerRunsThem() {
  int clean = 0;
  std::string first_failure;
  for (size_t i = 0; i < Programs().size(); ++i) {
    const bool ok = RunsCleanly(Programs()[i], 0) && RunsCleanly(Programs()[i], 2);
    clean += ok ? 1 : 0;
    if (!ok && first_failure.empty()) first_failure = program::EmitModule(Programs()[i].program);
  }
  std::cout << clean << " of " << kSeeds << " run cleanly in eager\n";
  EXPECT_GE(clean * 1000, static_cast<int>(kSeeds) * 995) << first_failure;
}

void ExpectTheSameAgain() {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto again = Generate(seed, {});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->program, Programs()[seed].program) << "seed " << seed;
    EXPECT_EQ(again->features, Programs()[seed].features) << "seed " << seed;
    EXPECT_EQ(again->lane, Programs()[seed].lane) << "seed " << seed;
  }
}

void ExpectDistinct() {
  std::set<std::string> texts;
  for (const GeneratedProgram& generated : Programs()) {
    texts.insert(program::ToJson(generated.program).dump());
  }
  EXPECT_EQ(texts.size(), Programs().size());
}

void ExpectJsonRoundTrips() {
  for (const GeneratedProgram& generated : Programs()) {
    const auto copy = program::FromJson(program::ToJson(generated.program));
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    EXPECT_EQ(*copy, generated.program);
  }
}

// What the exact lane claims: computing in another precision changes nothing at all.
void ExpectExact(const Program& program, const evaluate::InterpretOptions& options,
                 const std::string& of) {
  const auto own = evaluate::Interpret(program, options);
  const auto wide = evaluate::Reference(program, options);
  ASSERT_TRUE(own.ok() && wide.ok()) << of << own.error << wide.error;
  const auto expect_same = [&](const at::Tensor& a, const at::Tensor& b) {
    EXPECT_TRUE(at::equal(a.to(at::kDouble), b.to(at::kDouble))) << of << "\n"
                                                                 << program::EmitModule(program);
  };
  for (size_t o = 0; o < own.outputs.size(); ++o) expect_same(own.outputs[o], wide.outputs[o]);
  for (size_t g = 0; g < own.gradients.size(); ++g) {
    ASSERT_EQ(own.gradients[g].has_value(), wide.gradients[g].has_value());
    if (own.gradients[g]) expect_same(*own.gradients[g], *wide.gradients[g]);
  }
}

void ExpectExactLaneExact() {
  int exact = 0;
  for (size_t i = 0; i < Programs().size(); ++i) {
    const GeneratedProgram& generated = Programs()[i];
    if (generated.lane != "exact") continue;
    ++exact;
    for (const int draw : {0, 1, 7}) {  // 7: a draw that generation has not seen
      ExpectExact(generated.program, {.draw = draw}, "seed " + std::to_string(i));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(exact * 10, static_cast<int>(kSeeds));  // at least a tenth is in the exact lane
}

// The operand that holds the indices of a write without accumulation, on one draw.
void ExpectNoneTwice(const at::Tensor& index, int64_t dim, const std::string& source) {
  if (index.numel() == 0 || index.dim() == 0) return;
  const auto sorted = std::get<0>(index.sort(dim));
  if (sorted.size(dim) < 2) return;
  const auto steps = sorted.diff(1, dim);
  EXPECT_TRUE((steps > 0).all().item<bool>()) << source;
}

// Checks the indices of all such writes among these leaves. RETURNS: how many there were.
int ExpectWritesNameNoneTwice(const Program& program, const std::vector<program::Storage>& storages,
                              const std::vector<program::Leaf>& views, const std::string& of) {
  static const std::set<std::string> kAlong = {"index_copy", "Tensor.index_copy_", "scatter",
                                               "Tensor.scatter_"};
  const auto leaves = evaluate::MakeInputs(storages, views, 1, at::kCPU).leaves;
  const auto leaf = [&](const program::Arg& arg) {
    return leaves[static_cast<size_t>(arg.As<program::ValueRef>().id)];
  };
  int seen = 0;
  for (const Statement& s : program.statements) {
    const std::string source = s.op + " in " + of;
    if (kAlong.count(s.op) != 0 && s.args[3].Is<program::ValueRef>()) {
      const at::Tensor index = leaf(s.args[2]);
      const int64_t dim = s.args[1].As<int64_t>();
      ExpectNoneTwice(index, index.dim() == 1 ? 0 : dim, source);
      ++seen;
    }
    const bool put = s.op == "put" || s.op == "Tensor.put_";
    if (put && s.kwargs.empty()) {
      ExpectNoneTwice(leaf(s.args[1]).flatten(), 0, source);
      ++seen;
    }
    if ((s.op == "index_put" || s.op == "Tensor.index_put_") && s.kwargs.empty()) {
      const auto& list = s.args[1].As<program::ArgList>();
      at::Tensor cells = leaf(list[0]);
      if (list.size() == 2) cells = cells * 100000 + leaf(list[1]);
      ExpectNoneTwice(cells, 0, source);
      ++seen;
    }
  }
  return seen;
}

TEST(Generate, WritesWithoutAccumulationNameNoElementTwice) {
  int seen = 0, second = 0;
  GenerateOptions options;
  options.weights = {
      {"family.scatter", 20.0}, {"family.mutation", 20.0}, {"feature.second_call", 30.0}};
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    const Program& p = generated->program;
    const std::string of = "seed " + std::to_string(seed);
    seen += ExpectWritesNameNoneTwice(p, p.storages, p.leaves, of);
    if (p.call.second_leaves.empty()) continue;
    second += ExpectWritesNameNoneTwice(p, p.call.second_storages, p.call.second_leaves,
                                        of + ", second call");
  }
  EXPECT_GE(seen, 100);
  EXPECT_GE(second, 5);
}

// A second call is of other sizes, and as well behaved as the first, also on draws not seen before.
TEST(Generate, SecondCallsRunCleanlyOnOtherSizes) {
  GenerateOptions options;
  options.weights = {
      {"feature.second_call", 1000.0}, {"feature.second_float", 0.0}, {"feature.dynamic", 10.0}};
  int seen = 0, dynamic = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    const Program& p = generated->program;
    ASSERT_EQ(Has(*generated, "feature.second_call"), !p.call.second_leaves.empty());
    if (p.call.second_leaves.empty()) continue;
    ++seen;
    dynamic += p.call.dynamic == program::CallPlan::Dynamic::kYes ? 1 : 0;
    const auto source = [&] { return "seed " + std::to_string(seed) + program::EmitModule(p); };
    bool differs = false;
    for (size_t i = 0; i < p.leaves.size(); ++i) {
      differs = differs || p.leaves[i].sizes != p.call.second_leaves[i].sizes;
      EXPECT_EQ(p.leaves[i].requires_grad, p.call.second_leaves[i].requires_grad);
    }
    EXPECT_TRUE(differs) << source();
    for (const int draw : {0, 7}) {
      EXPECT_TRUE(RunsCleanly(*generated, draw, /*second_call=*/true)) << source();
    }
    if (generated->lane != "exact") continue;
    ExpectExact(program::SecondCall(p), {.draw = 7}, "seed " + std::to_string(seed));
  }
  EXPECT_GE(seen, 100);
  EXPECT_GE(dynamic, 3);
}

TEST(Generate, SecondCallsRunCleanlyWithOtherFloats) {
  GenerateOptions options;
  options.weights = {{"feature.second_float", 1000.0}};
  int seen = 0, exact = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    const Program& p = generated->program;
    const std::vector<double> first = program::Floats(p), second = program::SecondFloats(p);
    ASSERT_EQ(Has(*generated, "feature.second_float"), !first.empty());
    if (first.empty()) continue;
    ++seen;
    const std::string source = "seed " + std::to_string(seed) + program::EmitModule(p);
    for (size_t i = 0; i < first.size(); ++i) EXPECT_NE(first[i], second[i]) << source;
    for (const int draw : {0, 7}) {
      EXPECT_TRUE(RunsCleanly(*generated, draw)) << source;
      EXPECT_TRUE(RunsCleanly(*generated, draw, /*second_call=*/true)) << source;
    }
    if (generated->lane != "exact") continue;
    ++exact;
    ExpectExact(program::SecondCall(p), {.draw = 7}, "seed " + std::to_string(seed));
  }
  EXPECT_GE(seen, 40);
  EXPECT_GE(exact, 3);
}

TEST(Generate, TransformedPartsAreOfAllKindsAndFinite) {
  using Kind = program::Region::Kind;
  GenerateOptions options;
  options.weights = {
      {"feature.custom_function", 20.0}, {"feature.jvp", 20.0}, {"feature.vjp", 20.0}};
  std::map<Kind, int> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    const program::Region* region = program::TransformOf(generated->program);
    if (region == nullptr) continue;
    ++seen[region->kind];
    EXPECT_EQ(generated->lane, "real");
    EXPECT_TRUE(RunsCleanly(*generated, 0)) << program::EmitModule(generated->program);
  }
  for (const Kind kind : {Kind::kFunction, Kind::kJvp, Kind::kVjp}) EXPECT_GE(seen[kind], 5);
}

// NaN and infinities are of programs without a gradient; many reach the outputs, not all.
TEST(Generate, NonFiniteValuesReachOutputs) {
  GenerateOptions options;
  options.weights = {{"feature.non_finite", 1000.0}};
  int programs = 0, finite = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    if (!Has(*generated, "feature.non_finite")) continue;
    ++programs;
    EXPECT_EQ(generated->program.call.backward, program::CallPlan::Backward::kNone);
    const auto run = evaluate::Interpret(generated->program, {});
    ASSERT_TRUE(run.ok()) << "seed " << seed << " " << run.error;
    finite += AllFinite(run.outputs) ? 1 : 0;
  }
  EXPECT_GE(programs, 100);
  EXPECT_LE(finite * 3, programs * 2);
  EXPECT_GE(finite, 5);
}

TEST(Generate, ProgramsOfIntegersStayIntegers) {
  GenerateOptions options;
  options.weights = {{"dtype.uint8", 1000.0}, {"dtype.int64", 1000.0}, {"motif.none", 1000.0}};
  int wraps = 0, past_int32 = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    const Program& program = generated->program;
    if (program::IsDifferentiable(program.storages[0].dtype)) continue;
    EXPECT_EQ(generated->lane, "exact") << "seed " << seed;
    EXPECT_EQ(program.call.backward, program::CallPlan::Backward::kNone);
    const auto run = evaluate::Interpret(program, {.draw = 5});
    ASSERT_TRUE(run.ok()) << "seed " << seed << " " << run.error;
    for (const at::Tensor& t : run.outputs) {
      EXPECT_TRUE(at::isIntegralType(t.scalar_type(), /*includeBool=*/true)) << "seed " << seed;
    }
    for (const program::Storage& storage : program.storages) {
      const auto& values = storage.values.values;
      wraps += std::count(values.begin(), values.end(), 255.0) > 0 ? 1 : 0;
      past_int32 += std::count(values.begin(), values.end(), 2147483648.0) > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(wraps, 10);
  EXPECT_GE(past_int32, 10);
}

// Programs that are called in the same way stand together: only those share a pack.
TEST(Generate, SlicesOfSeedsShareTheirCall) {
  std::map<std::string, int> slices;
  const auto plan = [](const Program& p) {
    return std::tuple(p.call.dynamic, p.call.no_grad_first,
                      p.call.backward == program::CallPlan::Backward::kAccumulate);
  };
  for (uint64_t slice = 0; slice < 600; ++slice) {
    const auto first = Generate(slice * kCallSliceSeeds, {});
    ASSERT_TRUE(first.ok());
    for (const std::string& feature : first->features) ++slices[feature];
    if (plan(first->program) == plan({})) continue;
    int same = 0;
    for (uint64_t i = 1; i < kCallSliceSeeds; ++i) {
      const auto other = Generate(slice * kCallSliceSeeds + i, {});
      ASSERT_TRUE(other.ok());
      same += plan(other->program) == plan(first->program) ? 1 : 0;
    }
    // But for motifs that are dynamic by themselves, and programs without a backward.
    if (Has(*first, "feature.no_grad_first") || Has(*first, "feature.accumulate")) {
      EXPECT_GE(same, 20) << "slice " << slice;
    }
  }
  EXPECT_GE(slices["feature.dynamic"], 6);
  EXPECT_LE(slices["feature.dynamic"], 60);
  EXPECT_GE(slices["feature.no_grad_first"], 1);
  EXPECT_LE(slices["feature.no_grad_first"], 20);
  EXPECT_GE(slices["feature.accumulate"], 1);
  EXPECT_LE(slices["feature.accumulate"], 20);
}

// A silent loss of yield is a bug of the generator: everything must occur.
void ExpectYields() {
  std::map<std::string, int> yields;
  int refused = 0;
  int proposals = 0;
  for (const GeneratedProgram& generated : Programs()) {
    for (const std::string& feature : generated.features) ++yields[feature];
    refused += generated.refused;
    proposals += generated.proposals;
  }
  EXPECT_LE(refused * 20, proposals) << "eager refuses more than one proposal in twenty";
  for (const std::string& name : WeightNames()) {
    if (name == "feature.mutation" || name == "feature.exact_lane") continue;       // of draws
    if (name == "feature.empty" || name.starts_with("size.")) continue;             // of draws
    if (name.starts_with("config.") || name == kConfigFeature) continue;            // of slices
    if (name == "feature.accumulate" || name == "feature.no_grad_first") continue;  // the same
    EXPECT_GT(yields[name], 0) << name;
  }
  for (const char* name : {"lane.exact", "lane.real", "feature.fan_out", "feature.in_place",
                           "feature.several_outputs", "size.zero", "size.one_element",
                           "size.scalar", "size.large", "index.unique", "index.repeated"}) {
    EXPECT_GT(yields[name], 0) << name;
  }
  // An operator that is rare by weight may be missing among these seeds; drawn on purpose it is
  // not.
  for (const ops::OpRecord& record : ops::Catalogue()) {
    const std::string name = "op." + ops::Id(record);
    if (yields[name] > 0 || record.aten == ops::kPythonOnly) continue;
    GenerateOptions options;
    // About one statement in four.
    options.weights = {
        {name, 60 / record.weight}, {"motif.none", 1000.0}, {"feature.mutation", 4.0}};
    for (uint64_t seed = 0; seed < 40 && yields[name] == 0; ++seed) {
      const auto generated = Generate(seed, options);
      ASSERT_TRUE(generated.ok());
      for (const std::string& feature : generated->features) {
        if (feature == name) ++yields[name];
      }
    }
    EXPECT_GT(yields[name], 0) << name;
  }
}

TEST(Generate, WeightZeroSwitchesOff) {
  GenerateOptions options;
  options.weights = {{"family.mutation", 0.0}, {"op.sum", 0.0},
                     {"dtype.bfloat16", 0.0},  {"layout.expanded", 0.0},
                     {"motif.attention", 0.0}, {"feature.alias_inputs", 0.0},
                     {"feature.dynamic", 0.0}};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    for (const std::string& feature : generated->features) {
      EXPECT_NE(feature, "family.mutation");
      EXPECT_NE(feature, "op.sum");
      EXPECT_NE(feature, "dtype.bfloat16");
      EXPECT_NE(feature, "layout.expanded");
      EXPECT_NE(feature, "motif.attention");
      EXPECT_NE(feature, "feature.alias_inputs");
      EXPECT_NE(feature, "feature.dynamic");
    }
  }
}

// The first slice that is a swarm, and what it goes without.
std::pair<uint64_t, std::set<std::string>> FirstSwarm(const GenerateOptions& options) {
  for (uint64_t slice = 0;; ++slice) {
    const GenerateOptions swarm = WithSwarm(slice * kSliceSeeds, options);
    if (swarm == options) continue;
    std::set<std::string> off;
    for (const auto& [name, factor] : swarm.weights) {
      if (factor == 0) off.insert(name);
    }
    return {slice * kSliceSeeds, off};
  }
}

TEST(Swarm, GoesWithoutHalfOfTheFeatures) {
  const auto [first, off] = FirstSwarm({});
  EXPECT_GT(off.size(), WeightNames().size() / 3);
  EXPECT_LT(off.size(), WeightNames().size() * 2 / 3);
  int in_swarm = 0;
  for (uint64_t seed = first; seed < first + kSliceSeeds; ++seed) {
    EXPECT_EQ(WithSwarm(seed, {}), WithSwarm(first, {}));
    const auto generated = Generate(seed, {});
    ASSERT_TRUE(generated.ok()) << seed;
    if (!Has(*generated, kSwarm)) continue;
    ++in_swarm;
    for (const std::string& feature : generated->features) {
      // Any full sum has a scalar output, and a cotangent for it.
      if (feature.starts_with("cotangent.") || feature == "feature.scalar_output") continue;
      // Families are weights of free statements; motifs name their operators.
      if (feature.starts_with("family.") && !Has(*generated, "motif.none")) continue;
      EXPECT_EQ(off.count(feature), 0U) << feature << " in seed " << seed;
    }
  }
  EXPECT_GE(in_swarm, 250);
  EXPECT_FALSE(Has(*Generate(first - 1, {}), kSwarm));
}

TEST(Swarm, AboutAQuarterOfTheSlicesEachAnother) {
  std::set<std::vector<std::string>> swarms;
  for (uint64_t slice = 0; slice < 400; ++slice) {
    std::vector<std::string> off;
    for (const auto& [name, factor] : WithSwarm(slice * kSliceSeeds, {}).weights) {
      off.push_back(name);
    }
    if (!off.empty()) swarms.insert(off);
  }
  EXPECT_GE(swarms.size(), 75U);
  EXPECT_LE(swarms.size(), 125U);
}

TEST(Swarm, LeavesWhatTheUserWeighs) {
  GenerateOptions options;
  for (const std::string& name : FirstSwarm({}).second) options.weights.emplace_back(name, 2.0);
  for (uint64_t slice = 0; slice < 100; ++slice) {
    const GenerateOptions swarm = WithSwarm(slice * kSliceSeeds, options);
    for (const auto& [name, factor] : options.weights) {
      EXPECT_EQ(Weights(swarm).Factor(name), 2.0) << name;
    }
  }
  options.weights.emplace_back(kSwarm, 0.0);
  for (uint64_t slice = 0; slice < 100; ++slice) {
    EXPECT_EQ(WithSwarm(slice * kSliceSeeds, options), options);
  }
}

TEST(Config, SlicesShareARowAndSomeHaveOne) {
  std::map<std::string_view, int> rows;
  for (uint64_t slice = 0; slice < 2000; ++slice) {
    const ConfigRow* row = ConfigOfSlice(slice * kSliceSeeds, Weights({}));
    EXPECT_EQ(ConfigOfSlice(slice * kSliceSeeds + kSliceSeeds - 1, Weights({})), row);
    ++rows[row == nullptr ? "" : row->name];
  }
  EXPECT_NEAR(rows[""], 1750, 60);
  for (const ConfigRow& row : ConfigRows()) EXPECT_GT(rows[row.name], 4) << row.name;
}

TEST(Config, IsPartOfTheProgram) {
  GenerateOptions options;
  options.weights = {{kConfigFeature, 100.0}};
  for (uint64_t seed = 0; seed < 40 * kSliceSeeds; seed += kSliceSeeds) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    EXPECT_TRUE(Has(*generated, kConfigFeature));
    EXPECT_FALSE(generated->program.call.config.empty());
    EXPECT_EQ(program::Validate(generated->program), "");
  }
  options.weights = {{kConfigFeature, 0.0}};
  EXPECT_TRUE(Generate(0, options)->program.call.config.empty());
}

TEST(Generate, SaysWhenTheWeightsLeaveNothing) {
  GenerateOptions options;
  for (const ops::OpRecord& record : ops::Catalogue()) {
    options.weights.emplace_back("op." + ops::Id(record), 0.0);
  }
  const auto generated = Generate(1, options);
  ASSERT_FALSE(generated.ok());
  EXPECT_NE(generated.error().message.find("weights"), std::string::npos);
}

TEST(Generate, KeepsToTheNumberOfStatements) {
  GenerateOptions options;
  options.max_statements = 1;
  options.weights = {{"feature.scalar_output", 0.0}};
  for (const Motif& motif : Motifs()) {
    options.weights.emplace_back("motif." + std::string(motif.name), 0.0);
  }
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto generated = Generate(seed, options);
    ASSERT_TRUE(generated.ok());
    EXPECT_EQ(generated->program.statements.size(), 1U);
  }
}

void ExpectShortOnes() {
  int is_short = 0;
  for (const GeneratedProgram& generated : Programs()) {
    is_short += generated.program.statements.size() <= 3 ? 1 : 0;
  }
  EXPECT_GE(is_short * 2, static_cast<int>(kSeeds));
}

TEST(Generate, PropertiesOverManySeeds) {
  ExpectValid();
  ASSERT_FALSE(HasFailure());
  ExpectEagerRunsThem();
  ExpectTheSameAgain();
  ExpectDistinct();
  ExpectJsonRoundTrips();
  ExpectExactLaneExact();
  ExpectYields();
  ExpectShortOnes();
}

}  // namespace
}  // namespace gradfuzz::generate
