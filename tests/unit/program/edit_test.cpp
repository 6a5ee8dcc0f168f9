// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/edit.h"

#include <gtest/gtest.h>

#include "gradfuzz/program/emit.h"
#include "unit/reduce/mini_eager.h"
#include "unit/reduce/random_program.h"

namespace gradfuzz::program {
namespace {

using testing::AddCall;
using testing::AddLeaf;
using testing::AddOutput;

// x0, x1; v2 = mul(x0, x1); v3 = sin(v2); v4 = add(v2, x0); return v3, v4
Program Sample() {
  Program p;
  AddLeaf(&p, {2});
  AddLeaf(&p, {2});
  AddCall(&p, "mul", {Arg::Value(0), Arg::Value(1)});
  AddCall(&p, "sin", {Arg::Value(2)});
  AddCall(&p, "add", {Arg::Value(2), Arg::Value(0)});
  AddOutput(&p, 3);
  AddOutput(&p, 4);
  return p;
}

TEST(Edit, SelectRenumbersAndFollowsStandIns) {
  const Program p = Sample();
  Selection selection = Selection::All(p);
  selection.statements = {false, true, true};
  selection.stand_ins[2] = 1;
  selection.leaves = {true, true};
  const auto out = Select(p, selection);
  ASSERT_TRUE(out);
  EXPECT_EQ(EmitFunction(*out),
            "def program(x0, x1):\n"
            "    v2 = torch.sin(x1)\n"
            "    v3 = torch.add(x1, x0)\n"
            "    return (v2, v3)\n");
}

TEST(Edit, SelectRefusesWhatUsesAGoneValue) {
  const Program p = Sample();
  Selection selection = Selection::All(p);
  selection.statements[0] = false;
  EXPECT_FALSE(Select(p, selection));
}

TEST(Edit, SelectRefusesAStandInDefinedLater) {
  const Program p = Sample();
  Selection selection = Selection::All(p);
  selection.statements[0] = false;
  selection.stand_ins[2] = 4;  // v4 itself uses v2
  EXPECT_FALSE(Select(p, selection));
}

TEST(Edit, SelectRefusesNoOutput) {
  const Program p = Sample();
  Selection selection = Selection::All(p);
  selection.statements = {true, false, false};
  EXPECT_FALSE(Select(p, selection));
}

TEST(Edit, DropDeadKeepsWritesInPlace) {
  Program p = Sample();
  AddCall(&p, "Tensor.zero_", {Arg::Value(1)});
  AddCall(&p, "exp", {Arg::Value(1)});
  p.outputs.pop_back();  // v4 is dead now, as is exp
  const Program out = DropDead(p);
  EXPECT_EQ(OpChain(out), "mul > sin > zero_");
  EXPECT_EQ(Validate(out), "");
}

TEST(Edit, DropDeadDropsLeavesAndStorages) {
  Program p = Sample();
  const Program out = WithOutput(p, {0, {}});
  EXPECT_EQ(out.leaves.size(), 1u);
  EXPECT_EQ(out.storages.size(), 1u);
  EXPECT_TRUE(out.statements.empty());
}

TEST(Edit, RegionsShrinkWithTheirStatements) {
  Program p = Sample();
  p.regions = {{Region::Kind::kNoGrad, 0, 2}, {Region::Kind::kAutocast, 1, 1}};
  const Program out = KeepOutputs(p, {1});  // sin goes
  ASSERT_EQ(out.regions.size(), 1u);
  EXPECT_EQ(out.regions[0], (Region{Region::Kind::kNoGrad, 0, 1}));
}

TEST(Edit, ExtractMakesLeavesOfWhatIsOutside) {
  const Program p = Sample();
  const auto fresh = [](ValueId) {
    Program other;
    AddLeaf(&other, {2});
    return std::optional<FreshLeaf>({other.storages[0], other.leaves[0]});
  };
  const auto out = Extract(p, {false, true, true}, fresh);
  ASSERT_TRUE(out);
  EXPECT_EQ(Validate(*out), "");
  EXPECT_EQ(EmitFunction(*out),
            "def program(x0, x1):\n"
            "    v2 = torch.sin(x1)\n"
            "    v3 = torch.add(x1, x0)\n"
            "    return (v2, v3)\n");
}

TEST(Edit, ExtractReturnsWhatNobodyUses) {
  const Program p = Sample();
  const auto out = Extract(p, {true, false, false}, [](ValueId) { return std::nullopt; });
  ASSERT_TRUE(out);
  EXPECT_EQ(OpChain(*out), "mul");
  ASSERT_EQ(out->outputs.size(), 1u);
  EXPECT_EQ(out->outputs[0].value, 2);
}

TEST(Edit, InsertStatementRenumbersUsesAndRegions) {
  Program p = Sample();
  p.regions = {{Region::Kind::kNoGrad, 1, 2}};
  const ValueId id = InsertStatement(&p, 1, {"relu", {Arg::Value(2)}, {}, 1});
  EXPECT_EQ(id, 3);
  ReplaceUses(&p, 2, 3, 2);
  EXPECT_EQ(EmitStatement(p, 2), "v4 = torch.sin(v3)");
  EXPECT_EQ(EmitStatement(p, 3), "v5 = torch.add(v3, x0)");
  EXPECT_EQ(p.outputs[1].value, 5);
  EXPECT_EQ(p.regions[0], (Region{Region::Kind::kNoGrad, 1, 3}));
  EXPECT_EQ(Validate(p), "");
}

TEST(Edit, ReplaceStatementWithAnotherNumberOfResults) {
  Program p = Sample();
  ASSERT_TRUE(ReplaceStatement(&p, 0, {"max", {Arg::Value(0), Arg(0)}, {}, 2}));
  EXPECT_EQ(EmitStatement(p, 1), "v4 = torch.sin(v2)");
  EXPECT_EQ(Validate(p), "");
  p.outputs[0].value = 3;  // the indices are used now: one result will not do
  EXPECT_FALSE(ReplaceStatement(&p, 0, {"neg", {Arg::Value(0)}, {}, 1}));
}

TEST(Edit, CompactStoragesCutsLiterals) {
  Program p;
  AddLeaf(&p, {3});
  p.storages[0].numel = 6;
  p.storages[0].values.kind = ValueRecipe::Kind::kLiteral;
  p.storages[0].values.values = {1, 2, 3, 4, 5, 6};
  p.leaves[0].strides = {2};
  p.outputs = {{0, {}}};
  CompactStorages(&p);
  EXPECT_EQ(p.storages[0].numel, 5);
  EXPECT_EQ(p.storages[0].values.values, (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(Edit, RandomProgramsStayWellFormed) {
  Rng rng(5);
  for (int round = 0; round < 500; ++round) {
    Program p = testing::RandomProgram(rng);
    ASSERT_EQ(Validate(p), "");
    EXPECT_EQ(Validate(DropDead(p)), "");
    EXPECT_EQ(DropDead(DropDead(p)), DropDead(p));
    Program compact = p;
    CompactStorages(&compact);
    EXPECT_EQ(Validate(compact), "");
    const size_t index = rng.Below(p.statements.size() + 1);
    Program inserted = p;
    InsertStatement(&inserted, index, {"relu", {Arg::Value(0)}, {}, 1});
    EXPECT_EQ(Validate(inserted), "");
    EXPECT_EQ(ValueCount(inserted), ValueCount(p) + 1);
    Program appended = p;
    AddLeaf(&appended, {2, 2});
    EXPECT_EQ(Validate(appended), "");
    // Taking back what was added gives the program again.
    Selection selection = Selection::All(appended);
    selection.leaves.back() = false;
    const auto back = Select(appended, selection);
    ASSERT_TRUE(back);
    EXPECT_EQ(EmitFunction(*back), EmitFunction(p));
  }
}

}  // namespace
}  // namespace gradfuzz::program
