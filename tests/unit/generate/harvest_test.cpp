// SPDX-License-Identifier: BSD-3-Clause
// Harvested calls in programs. The harvest here is made by hand: operators that the dispatcher
// knows and the catalogue does not. tests/property/harvest_test.py has the real one.
#include "gradfuzz/generate/harvest.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gradfuzz/evaluate/interpret.h"
#include "gradfuzz/generate/generator.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"

namespace gradfuzz::generate {
namespace {

constexpr uint64_t kSeeds = 200;

nlohmann::json HandMade() {
  return nlohmann::json::parse(R"({
    "key": "by hand",
    "calls": [
      {"op": "kron", "args": [{"v": 0}, {"v": 1}], "kwargs": [], "results": 1, "leaves": [
        {"dtype": "float32", "sizes": [2, 3], "grad": true, "low": -9, "high": 9},
        {"dtype": "float32", "sizes": [3], "grad": true, "low": -9, "high": 9}]},
      {"op": "trapezoid", "args": [{"v": 0}], "kwargs": [["dx", 3.0]], "results": 1, "leaves": [
        {"dtype": "float32", "sizes": [2, 3], "grad": true, "low": -9, "high": 9}]},
      {"op": "masked_select", "args": [{"v": 0}, {"v": 1}], "kwargs": [], "results": 1, "leaves": [
        {"dtype": "float32", "sizes": [3], "grad": true, "low": -9, "high": 9},
        {"dtype": "bool", "sizes": [3], "grad": false, "values": [1, 0, 1]}]},
      {"op": "logdet", "args": [{"v": 0}], "kwargs": [], "results": 1, "leaves": [
        {"dtype": "float32", "sizes": [2, 2], "grad": true, "values": [3, 1, 1, 2]}]},
      {"op": "unsafe_chunk", "args": [{"v": 0}, 2], "kwargs": [], "results": 2, "leaves": [
        {"dtype": "float32", "sizes": [4], "grad": true, "low": 0.25, "high": 9}]},
      {"op": "as_strided_scatter", "args": [{"v": 0}, {"v": 1}, {"u": [2]}, {"u": [1]}],
       "kwargs": [], "results": 1, "leaves": [
        {"dtype": "float32", "sizes": [4], "grad": true, "low": -9, "high": 9},
        {"dtype": "float32", "sizes": [2], "grad": true, "low": -9, "high": 9}]}
    ],
    "operators": [
      {"name": "kron", "paths": ["kron"], "reason": ""},
      {"name": "bernoulli", "paths": ["bernoulli"], "reason": "random"},
      {"name": "as_strided_scatter", "paths": ["as_strided_scatter"], "reason": ""}
    ]})");
}

const Harvest& Harvested() {
  static const auto* const harvest = new Result<Harvest>(Harvest::FromJson(HandMade()));
  return **harvest;
}

GenerateOptions MostlyHarvested() {
  GenerateOptions options;
  options.weights = {{"family.harvested", 50.0}, {"motif.none", 1000.0}};
  return options;
}

TEST(Harvest, RulesLeaveOutAndSayWhy) {
  ASSERT_EQ(Harvested().operators().size(), 5U);
  for (const HarvestedOperator& op : Harvested().operators()) {
    EXPECT_NE(op.name, "as_strided_scatter");
    for (const HarvestedCall& call : op.calls) {
      const ops::OpRecord& record = op.RecordOf(call);
      EXPECT_EQ(record.name, op.name);
      EXPECT_EQ(record.results, call.statement.results);
      EXPECT_EQ(record.family, ops::Family::kHarvested);
    }
  }
  ASSERT_EQ(Harvested().database().size(), 3U);
  EXPECT_EQ(Harvested().database()[0].left_out, "");
  EXPECT_EQ(Harvested().database()[1].left_out, "random");
  EXPECT_NE(Harvested().database()[2].left_out, "");
}

TEST(Harvest, EveryRuleHasAReasonAndOneRow) {
  std::set<std::string_view> ops;
  for (const HarvestRuleRow& row : HarvestRules()) {
    EXPECT_TRUE(ops.insert(row.op).second) << row.op;
    EXPECT_FALSE(row.reason.empty()) << row.op;
  }
}

TEST(Harvest, OtherJsonIsRefused) {
  EXPECT_FALSE(Harvest::FromJson({{"calls", 3}}).ok());
  nlohmann::json unknown = HandMade();
  unknown["calls"][0]["leaves"][0]["dtype"] = "float3";
  EXPECT_FALSE(Harvest::FromJson(unknown).ok());
  nlohmann::json broken = HandMade();
  broken["calls"][0]["args"] = {{{"w", 0}}};
  EXPECT_FALSE(Harvest::FromJson(broken).ok());
}

TEST(Harvest, ProgramsAreValidFiniteAndTheSameAgain) {
  std::set<std::string> ops, gradients;
  int with = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto made = Generate(seed, MostlyHarvested(), &Harvested());
    ASSERT_TRUE(made.ok()) << made.error().message;
    const program::Program& program = made->program;
    EXPECT_EQ(program::Validate(program), "");
    const auto again = Generate(seed, MostlyHarvested(), &Harvested());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->program, program);
    EXPECT_EQ(again->features, made->features);
    const auto copy = program::FromJson(program::ToJson(program));
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ(*copy, program);
    bool harvested = false;
    for (const std::string& feature : made->features) {
      harvested = harvested || feature == "family.harvested";
      if (feature.starts_with("op_gradient.")) gradients.insert(feature.substr(12));
    }
    with += harvested ? 1 : 0;
    if (harvested) {
      EXPECT_EQ(made->lane, "real");
    }
    for (const program::Statement& statement : program.statements) ops.insert(statement.op);
    for (const int draw : {0, 2}) {
      const evaluate::Observation run = evaluate::Interpret(program, {.draw = draw});
      ASSERT_TRUE(run.ok()) << run.error << program::EmitModule(program);
      if (std::ranges::find(made->features, "feature.non_finite") != made->features.end()) continue;
      for (const at::Tensor& t : run.outputs) {
        EXPECT_TRUE(at::isfinite(t).all().item<bool>()) << program::EmitModule(program);
      }
      for (const auto& gradient : run.gradients) {
        if (!gradient) continue;
        EXPECT_TRUE(at::isfinite(*gradient).all().item<bool>()) << program::EmitModule(program);
      }
    }
  }
  EXPECT_GE(with * 2, static_cast<int>(kSeeds));
  for (const HarvestedOperator& op : Harvested().operators()) {
    EXPECT_EQ(ops.count(op.name), 1U) << op.name;
    EXPECT_EQ(gradients.count(op.name), 1U) << op.name;
  }
}

// What must have a structure keeps it; what must be a mask stays one.
TEST(Harvest, StructuredOperandsKeepTheirElements) {
  int seen = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto made = Generate(seed, MostlyHarvested(), &Harvested());
    ASSERT_TRUE(made.ok());
    const program::Program& program = made->program;
    for (const program::Statement& s : program.statements) {
      if (s.op != "logdet") continue;
      const int id = s.args[0].As<program::ValueRef>().id;
      ASSERT_LT(id, static_cast<int>(program.leaves.size()));
      const auto& storage =
          program.storages[static_cast<size_t>(program.leaves[static_cast<size_t>(id)].storage)];
      EXPECT_EQ(storage.values.kind, program::ValueRecipe::Kind::kLiteral);
      ++seen;
    }
  }
  EXPECT_GE(seen, 5);
}

TEST(Harvest, WeightZeroIsNoHarvest) {
  GenerateOptions options;
  options.weights = {{"family.harvested", 0.0}};
  EXPECT_FALSE(WantsHarvest(options));
  EXPECT_TRUE(WantsHarvest({}));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto without = Generate(seed, options);
    const auto with = Generate(seed, options, &Harvested());
    ASSERT_TRUE(without.ok() && with.ok());
    EXPECT_EQ(with->program, without->program);
  }
}

TEST(Harvest, OneOperatorCanBeSwitchedOff) {
  GenerateOptions options = MostlyHarvested();
  options.weights.emplace_back("op.kron", 0.0);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto made = Generate(seed, options, &Harvested());
    ASSERT_TRUE(made.ok());
    for (const program::Statement& s : made->program.statements) EXPECT_NE(s.op, "kron");
  }
}

}  // namespace
}  // namespace gradfuzz::generate
