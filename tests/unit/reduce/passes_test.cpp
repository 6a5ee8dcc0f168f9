// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gradfuzz/program/cost.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "unit/reduce/mini_eager.h"
#include "unit/reduce/random_program.h"

namespace gradfuzz::reduce {
namespace {

using program::Arg;
using program::DType;
using program::Program;
using program::ValueRecipe;

Facts FactsOf(const Program& p) {
  Facts facts;
  if (auto infos = testing::MiniEager(p)) facts.values = *infos;
  return facts;
}

std::vector<Candidate> Propose(const std::string& pass, const Program& p) {
  for (const Pass& row : AllPasses()) {
    if (pass == row.name) return row.propose(p, FactsOf(p));
  }
  ADD_FAILURE() << "no pass " << pass;
  return {};
}

bool Proposes(const std::string& pass, const Program& p, const Program& wanted) {
  const auto candidates = Propose(pass, p);
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& c) { return c.program == wanted; });
}

// The distinct values of each integer literal, by storage, as the pattern of which are equal.
bool RepeatsMore(const Program& before, const Program& after) {
  const auto repeats = [](const Program& p) {
    bool any = false;
    for (const program::Storage& s : p.storages) {
      if (program::IsDifferentiable(s.dtype) || s.dtype == DType::kBool) continue;
      if (s.values.kind != ValueRecipe::Kind::kLiteral) {
        any = true;
        continue;
      }
      std::set<double> distinct(s.values.values.begin(), s.values.values.end());
      any = any || distinct.size() < s.values.values.size();
    }
    return any;
  };
  return !repeats(before) && repeats(after);
}

TEST(Passes, EveryCandidateOfRandomProgramsIsWellFormed) {
  Rng rng(20240);
  std::map<std::string, int> cheaper;
  for (int round = 0; round < 25; ++round) {
    const Program p = testing::RandomProgram(rng);
    ASSERT_EQ(program::Validate(p), "") << program::ToJson(p).dump();
    Facts facts;
    for (int id = 0; id < program::ValueCount(p); ++id) {
      ValueInfo info;
      info.sizes = {2, 3};
      info.strides = {3, 1};
      info.is_tensor = id % 5 != 4;
      facts.values.push_back(info);
    }
    for (const Pass& pass : AllPasses()) {
      for (const Candidate& c : pass.propose(p, facts)) {
        // The reducer drops what costs no less; everything else must be well formed.
        if (!(program::CostOf(c.program) < program::CostOf(p))) continue;
        ++cheaper[pass.name];
        const std::string fault = program::Validate(c.program);
        ASSERT_EQ(fault, "") << pass.name << ": " << c.change << "\n"
                             << program::ToJson(p).dump() << "\n"
                             << program::ToJson(c.program).dump();
        ASSERT_FALSE(RepeatsMore(p, c.program)) << pass.name << ": " << c.change;
        const auto again = program::FromJson(program::ToJson(c.program));
        ASSERT_TRUE(again) << again.error().message;
        ASSERT_TRUE(*again == c.program) << pass.name << ": " << c.change << "\n"
                                         << program::ToJson(c.program).dump();
      }
    }
  }
  // Each pass has something to say on such programs.
  for (const Pass& pass : AllPasses()) EXPECT_GT(cheaper[pass.name], 0) << pass.name;
}

TEST(Passes, ChangesAreNamedApart) {
  Rng rng(7);
  for (int round = 0; round < 25; ++round) {
    const Program p = testing::RandomProgram(rng);
    for (const Pass& pass : AllPasses()) {
      std::map<std::string, Program> named;
      for (const Candidate& c : pass.propose(p, Facts())) {
        const auto [it, fresh] = named.emplace(c.change, c.program);
        EXPECT_TRUE(fresh || it->second == c.program) << pass.name << ": " << c.change;
      }
    }
  }
}

TEST(Passes, CoreFindsTheTwoStatements) {
  Program wanted;
  const auto infos = testing::MiniEager(testing::ScatterSumAmongOthers());
  ASSERT_TRUE(infos);
  bool found = false;
  for (const Candidate& c : Propose("core", testing::ScatterSumAmongOthers())) {
    if (program::OpChain(c.program) != "diagonal_scatter > sum") continue;
    found = true;
    EXPECT_TRUE(testing::MiniEager(c.program)) << program::EmitFunction(c.program);
    EXPECT_EQ(c.program.leaves.size(), 2u);
    EXPECT_TRUE(c.program.leaves[0].requires_grad);
    EXPECT_EQ(c.program.outputs.size(), 1u);
  }
  EXPECT_TRUE(found);
}

TEST(Passes, OutputsReturnsAnEarlierValue) {
  Program p;
  const auto x = testing::AddLeaf(&p, {3});
  const auto v1 = testing::AddCall(&p, "sin", {Arg::Value(x)});
  const auto v2 = testing::AddCall(&p, "exp", {Arg::Value(v1)});
  testing::AddOutput(&p, v2);
  const auto candidates = Propose("outputs", p);
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return program::OpChain(c.program) == "sin" && c.program.outputs[0].value == 1;
  }));
}

TEST(Passes, CutsMakesALeafOfAnIntermediate) {
  Program p;
  const auto x = testing::AddLeaf(&p, {3, 2});
  const auto v1 = testing::AddCall(&p, "sum", {Arg::Value(x)}, {{"dim", Arg(0)}});
  const auto v2 = testing::AddCall(&p, "exp", {Arg::Value(v1)});
  testing::AddOutput(&p, v2);
  const auto candidates = Propose("cuts", p);
  const auto cut = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) {
    return program::OpChain(c.program) == "exp";
  });
  ASSERT_NE(cut, candidates.end());
  ASSERT_EQ(cut->program.leaves.size(), 1u);
  EXPECT_EQ(cut->program.leaves[0].sizes, (std::vector<int64_t>{2}));
}

TEST(Passes, StatementsPutsAnOperandInThePlaceOfTheResult) {
  Program p;
  const auto x = testing::AddLeaf(&p, {3});
  const auto v1 = testing::AddCall(&p, "mul", {Arg::Value(x), Arg(2.0)});
  const auto v2 = testing::AddCall(&p, "sum", {Arg::Value(v1)});
  testing::AddOutput(&p, v2);
  Program wanted;
  testing::AddLeaf(&wanted, {3});
  testing::AddCall(&wanted, "sum", {Arg::Value(0)});
  testing::AddOutput(&wanted, 1);
  wanted.storages[0].values = p.storages[0].values;
  EXPECT_TRUE(Proposes("statements", p, wanted));
}

TEST(Passes, SizesKeepsIndicesApartAndInRange) {
  Program p;
  const auto x = testing::AddLeaf(&p, {6, 4});
  const auto i = testing::AddLeaf(&p, {3}, false, DType::kInt64);
  const auto y = testing::AddLeaf(&p, {3, 4});
  p.storages[1].values = {};
  p.storages[1].values.kind = ValueRecipe::Kind::kLiteral;
  p.storages[1].values.values = {5, 0, 3};
  const auto v =
      testing::AddCall(&p, "index_copy", {Arg::Value(x), Arg(0), Arg::Value(i), Arg::Value(y)});
  testing::AddOutput(&p, v);
  bool found = false;
  for (const Candidate& c : Propose("sizes", p)) {
    const auto& values = c.program.storages[1].values.values;
    const std::set<double> distinct(values.begin(), values.end());
    EXPECT_EQ(distinct.size(), values.size()) << c.change;
    // The first dimension alone from 6 to 3: the ranks 2, 0, 1 fit where 5, 0, 3 do not.
    found = found || (c.program.leaves[0].sizes == std::vector<int64_t>{3, 4} &&
                      values == std::vector<double>{2, 0, 1});
  }
  EXPECT_TRUE(found);
}

TEST(Passes, SizesLetsNumbersFollow) {
  Program p;
  const auto x = testing::AddLeaf(&p, {5, 7});
  const auto v = testing::AddCall(&p, "reshape", {Arg::Value(x), Arg::Ints({7, 5})});
  testing::AddOutput(&p, v);
  bool follows = false, free = false;
  for (const Candidate& c : Propose("sizes", p)) {
    if (c.program.leaves[0].sizes != std::vector<int64_t>{2, 7}) continue;
    follows = follows || c.program.statements[0].args[1] == Arg::Ints({7, 2});
    free = free || c.program.statements[0].args[1] == Arg::Ints({-1, 2});
  }
  EXPECT_TRUE(follows);
  EXPECT_TRUE(free);
}

TEST(Passes, SizesKeepsTheKindOfALayout) {
  Program p;
  testing::AddLeaf(&p, {4, 6});
  p.leaves[0].strides = {2, 10};  // column-major with gaps: 1 of 2 elements, columns 10 apart
  p.leaves[0].offset = 3;
  p.storages[0].numel = program::Extent(p.leaves[0]);
  testing::AddOutput(&p, testing::AddCall(&p, "sum", {Arg::Value(0)}));
  bool found = false;
  for (const Candidate& c : Propose("sizes", p)) {
    const program::Leaf& leaf = c.program.leaves[0];
    if (leaf.sizes != std::vector<int64_t>{2, 2}) continue;
    found = true;
    EXPECT_EQ(leaf.offset, 3);
    EXPECT_EQ(leaf.strides[0], 2);
    EXPECT_GT(leaf.strides[1], leaf.strides[0]);
    EXPECT_EQ(c.program.storages[0].numel, program::Extent(leaf));
  }
  EXPECT_TRUE(found);
}

TEST(Passes, DimensionsRenumbersDims) {
  Program p;
  testing::AddLeaf(&p, {2, 3, 4});
  testing::AddOutput(&p, testing::AddCall(&p, "amax", {Arg::Value(0)}, {{"dim", Arg(2)}}));
  bool found = false;
  for (const Candidate& c : Propose("dimensions", p)) {
    found = found || (c.program.leaves[0].sizes == std::vector<int64_t>{3, 4} &&
                      c.program.statements[0].kwargs[0].second == Arg(1));
  }
  EXPECT_TRUE(found);
}

TEST(Passes, LayoutsMakesContiguousAndFitsTheStorage) {
  Program p;
  testing::AddLeaf(&p, {2, 3});
  p.leaves[0].strides = {0, 1};
  p.leaves[0].offset = 5;
  p.storages[0].numel = 20;
  testing::AddOutput(&p, testing::AddCall(&p, "sum", {Arg::Value(0)}));
  Program wanted = p;
  wanted.leaves[0].strides = {3, 1};
  wanted.leaves[0].offset = 0;
  wanted.storages[0].numel = 6;
  EXPECT_TRUE(Proposes("layouts", p, wanted));
}

TEST(Passes, TypesPrefersFloat64) {
  Program p;
  testing::AddLeaf(&p, {2}, true, DType::kBFloat16);
  testing::AddOutput(&p, testing::AddCall(&p, "Tensor.to", {Arg::Value(0), Arg(DType::kFloat16)}));
  Program wanted = p;
  wanted.storages[0].dtype = DType::kFloat64;
  wanted.statements[0].args[1] = Arg(DType::kFloat64);
  EXPECT_TRUE(Proposes("types", p, wanted));
}

TEST(Passes, OperatorsStaysInTheClass) {
  Program p;
  testing::AddLeaf(&p, {2});
  testing::AddOutput(&p, testing::AddCall(&p, "asinh", {Arg::Value(0)}));
  std::set<std::string> ops;
  for (const Candidate& c : Propose("operators", p)) ops.insert(c.program.statements[0].op);
  EXPECT_EQ(ops.count("sin"), 1u);
  EXPECT_EQ(ops.count("relu"), 0u);  // not transcendental
  EXPECT_EQ(ops.count("neg"), 0u);
}

TEST(Passes, ValuesProposesAShortList) {
  Program p;
  testing::AddLeaf(&p, {2, 2});
  testing::AddOutput(&p, testing::AddCall(&p, "sum", {Arg::Value(0)}));
  Program wanted = p;
  wanted.storages[0].values = {};
  wanted.storages[0].values.kind = ValueRecipe::Kind::kLiteral;
  wanted.storages[0].values.values = {1, 2, 3, 4};
  EXPECT_TRUE(Proposes("values", p, wanted));
}

}  // namespace
}  // namespace gradfuzz::reduce
