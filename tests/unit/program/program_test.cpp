// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/program/pack.h"
#include "unit/program/sample.h"

namespace gradfuzz::program {
namespace {

TEST(ProgramTest, SamplesAreValid) {
  EXPECT_EQ(Validate(DiagonalScatterSum()), "");
  EXPECT_EQ(Validate(Everything()), "");
}

TEST(ProgramTest, ValidateNamesTheFault) {
  const auto fault = [](auto change) {
    Program p = Everything();
    change(p);
    return Validate(p);
  };
  EXPECT_NE(fault([](Program& p) { p.leaves[0].storage = 9; }), "");
  EXPECT_NE(fault([](Program& p) { p.leaves[0].offset = 20; }), "");
  EXPECT_NE(fault([](Program& p) { p.leaves[0].strides.pop_back(); }), "");
  EXPECT_NE(fault([](Program& p) { p.leaves[4].requires_grad = true; }), "");
  EXPECT_NE(fault([](Program& p) { p.storages[3].values.values.pop_back(); }), "");
  EXPECT_NE(fault([](Program& p) { p.statements[0].args[0] = Arg::Value(5); }), "");
  EXPECT_NE(fault([](Program& p) { p.outputs[0].value = 99; }), "");
  EXPECT_NE(fault([](Program& p) { p.outputs.clear(); }), "");
  EXPECT_NE(fault([](Program& p) { p.regions[1].last = 7; }), "");
  EXPECT_NE(fault([](Program& p) { p.call.second_leaves.pop_back(); }), "");
}

// What a reduction may try: an argument less, or one more. What is valid can be spelled.
TEST(ProgramTest, WhatIsValidCanBeSpelled) {
  Program base = Everything();
  base.statements.push_back(
      {"Tensor.__setitem__", {Arg::Value(0), Arg(program::Ellipsis{}), Arg(1.0)}, {}, 0});
  ASSERT_EQ(Validate(base), "");
  int refused = 0;
  const auto check = [&](const Program& p) {
    if (Validate(p).empty()) {
      EXPECT_NE(EmitModule(p), "");
    } else {
      ++refused;
    }
  };
  for (size_t s = 0; s < base.statements.size(); ++s) {
    for (size_t a = 0; a < base.statements[s].args.size(); ++a) {
      Program p = base;
      p.statements[s].args.erase(p.statements[s].args.begin() + static_cast<std::ptrdiff_t>(a));
      check(p);
    }
    Program none = base;
    none.statements[s].args.clear();
    check(none);
    Program more = base;
    more.statements[s].kwargs.emplace_back("dim", Arg(0));
    check(more);
  }
  EXPECT_GE(refused, 8);
}

TEST(JsonTest, RoundTripsEveryField) {
  for (const Program& p : {DiagonalScatterSum(), Everything()}) {
    const auto back = FromJson(nlohmann::json::parse(ToJson(p).dump()));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, p);
  }
}

TEST(JsonTest, BadInputIsAUsageErrorThatNamesIt) {
  nlohmann::json json = ToJson(DiagonalScatterSum());
  json["storages"][0]["dtype"] = "float31";
  const auto back = FromJson(json);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().kind, ErrorKind::kUsage);
  EXPECT_NE(back.error().message.find("float31"), std::string::npos);
  EXPECT_FALSE(FromJson(nlohmann::json::array()).ok());
  EXPECT_FALSE(FromJson(nullptr).ok());
}

TEST(EmitTest, StatementsReadAsPython) {
  const Program p = Everything();
  EXPECT_EQ(EmitStatement(p, 0), "v5 = torch.add(x0, x1, alpha=f0)");
  EXPECT_EQ(EmitStatement(p, 1), "v6, v7 = torch.max(v5, dim=-1, keepdim=True)");
  EXPECT_EQ(EmitStatement(p, 2), "v8 = x2.to(torch.float32)");
  EXPECT_EQ(EmitStatement(p, 3), "v9 = torch.cat([v8, v8], dim=0)");
  EXPECT_EQ(EmitStatement(p, 4), "v10 = v9[(slice(1, None, 2), ..., 0)]");
  EXPECT_EQ(EmitStatement(p, 5), "v11 = v10.mul_(3)");
  EXPECT_EQ(EmitStatement(p, 6),
            "v12 = torch.nn.functional.pad(v6, [1, -1], value=float(\"inf\"))");
  EXPECT_EQ(EmitStatement(p, 7), "v13 = torch.clone(x3, memory_format=torch.contiguous_format)");
}

TEST(EmitTest, ModuleOfTheClassicIsShort) {
  EXPECT_EQ(EmitModule(DiagonalScatterSum()),
            "import torch\n\n\n"
            "def inputs(device=\"cpu\", draw=0):\n"
            "    x0 = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], "
            "dtype=torch.float32, device=device).requires_grad_()\n"
            "    x1 = torch.tensor([10.0, 11.0, 12.0], dtype=torch.float32, "
            "device=device).requires_grad_()\n"
            "    return [x0, x1]\n\n\n"
            "def program(x0, x1):\n"
            "    v2 = torch.diagonal_scatter(x0, x1, 0)\n"
            "    v3 = torch.sum(v2)\n"
            "    return (v3,)\n\n\n"
            "def cotangents(outputs, draw=0):\n"
            "    c0 = torch.tensor([1.0], dtype=torch.float64).to(outputs[0].device, "
            "outputs[0].dtype).reshape(outputs[0].shape)\n"
            "    return [c0]\n");
}

TEST(EmitTest, ACheckpointIsAFunctionOfItsOwn) {
  Program p = DiagonalScatterSum();
  p.regions = {{Region::Kind::kCheckpoint, 0, 0}};
  EXPECT_EQ(EmitFunction(p),
            "def program(x0, x1):\n"
            "    def block0(x0, x1):\n"
            "        v2 = torch.diagonal_scatter(x0, x1, 0)\n"
            "        return (v2,)\n"
            "    (v2,) = torch.utils.checkpoint.checkpoint(block0, x0, x1, use_reentrant=False)\n"
            "    v3 = torch.sum(v2)\n"
            "    return (v3,)\n");
  p.regions = {{Region::Kind::kNoGrad, 0, 1}, {Region::Kind::kCheckpoint, 1, 1}};
  EXPECT_EQ(EmitFunction(p),
            "def program(x0, x1):\n"
            "    with torch.no_grad():\n"
            "        v2 = torch.diagonal_scatter(x0, x1, 0)\n"
            "        def block1(v2):\n"
            "            v3 = torch.sum(v2)\n"
            "            return (v3,)\n"
            "        (v3,) = torch.utils.checkpoint.checkpoint(block1, v2, use_reentrant=False)\n"
            "    return (v3,)\n");
}

TEST(EmitTest, TransformedParts) {
  Program p = DiagonalScatterSum();
  p.regions = {{Region::Kind::kJvp, 0, 0}};
  const std::string block =
      "def program(x0, x1):\n"
      "    def block0(x0, x1):\n"
      "        v2 = torch.diagonal_scatter(x0, x1, 0)\n"
      "        return (v2,)\n";
  const std::string rest =
      "    v3 = torch.sum(v2)\n"
      "    return (v3,)\n";
  EXPECT_EQ(EmitFunction(p),
            block + "    (v2,) = torch.func.jvp(block0, (x0, x1), (x0, x1))[1]\n" + rest);
  p.regions[0].kind = Region::Kind::kVjp;
  EXPECT_EQ(EmitFunction(p), block +
                                 "    (v2,), pullback = torch.func.vjp(block0, x0, x1)\n"
                                 "    (g0, g1) = pullback((torch.ones_like(v2),))\n"
                                 "    g = (x0 * g0).sum() + (x1 * g1).sum()\n"
                                 "    (v2,) = (v2 + g,)\n" +
                                 rest);
  p.regions[0].kind = Region::Kind::kFunction;
  EXPECT_EQ(
      EmitFunction(p),
      "class ProgramFunction(torch.autograd.Function):  # its backward is not its derivative\n"
      "    @staticmethod\n"
      "    def forward(ctx, x0, x1):\n"
      "        v2 = torch.diagonal_scatter(x0, x1, 0)\n"
      "        ctx.save_for_backward(x0, x1)\n"
      "        return v2\n\n"
      "    @staticmethod\n"
      "    def backward(ctx, g0):\n"
      "        (x0, x1) = ctx.saved_tensors\n"
      "        g = g0.sum()\n"
      "        return x0 * g if x0.is_floating_point() else None, "
      "x1 * g if x1.is_floating_point() else None\n\n\n"
      "def program(x0, x1):\n"
      "    v2 = ProgramFunction.apply(x0, x1)\n" +
          rest);
  p.regions = {{Region::Kind::kNoGrad, 0, 1}, {Region::Kind::kFunction, 1, 1}};
  EXPECT_NE(Validate(p), "");
}

TEST(PackTest, RenumbersAndKeepsEveryProgram) {
  const Program p = DiagonalScatterSum();
  const Program packed = Pack({p, p});
  EXPECT_EQ(Validate(packed), "");
  EXPECT_EQ(packed.leaves.size(), 4u);
  EXPECT_EQ(EmitStatement(packed, 0), "v4 = torch.diagonal_scatter(x0, x1, 0)");
  EXPECT_EQ(EmitStatement(packed, 3), "v7 = torch.sum(v6)");
  EXPECT_EQ(packed.outputs[1].value, 7);
}

TEST(PackTest, KeepsRegionsAroundTheirStatements) {
  Program plain = DiagonalScatterSum();
  Program function = plain, no_grad = plain;
  function.regions = {{Region::Kind::kFunction, 0, 0}};
  no_grad.regions = {{Region::Kind::kNoGrad, 0, 1}};
  ASSERT_TRUE(IsPackable(function) && PackTogether(function, no_grad));
  const Program packed = Pack({plain, function, no_grad, function});
  const std::vector<Region> expected = {{Region::Kind::kFunction, 2, 2},
                                        {Region::Kind::kNoGrad, 4, 5},
                                        {Region::Kind::kFunction, 6, 6}};
  EXPECT_EQ(packed.regions, expected);

  // Each line is known by its program: what an error of the compiler names.
  const std::string text = EmitFunction(packed);
  const std::vector<int> owners = StatementOfLine(packed);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), owners.size());
  const auto owner = [&](const std::string& line) {
    const auto at = std::ranges::find(lines, line);
    return at == lines.end() ? -2 : owners[static_cast<size_t>(at - lines.begin())];
  };
  EXPECT_EQ(owner("class ProgramFunction(torch.autograd.Function):  # its backward is not its "
                  "derivative"),
            2);
  EXPECT_EQ(owner("class ProgramFunction1(torch.autograd.Function):  # its backward is not its "
                  "derivative"),
            6);
  EXPECT_EQ(owner("    v8 = torch.diagonal_scatter(x0, x1, 0)"), 0);
  EXPECT_EQ(owner("    v10 = ProgramFunction.apply(x2, x3)"), 2);
  EXPECT_EQ(owner("    v11 = torch.sum(v10)"), 3);
  EXPECT_EQ(owner("    with torch.no_grad():"), 4);
  EXPECT_EQ(owner("        v13 = torch.sum(v12)"), 5);
  EXPECT_EQ(owner("    v14 = ProgramFunction1.apply(x6, x7)"), 6);
  EXPECT_EQ(owners.back(), -1);
}

TEST(PackTest, TakesForwardOnlyProgramsBesideOthers) {
  const Program p = DiagonalScatterSum();
  Program forward = p;
  forward.call.backward = CallPlan::Backward::kNone;
  ASSERT_TRUE(IsPackable(forward));
  const Program mixed = Pack({p, forward});
  EXPECT_EQ(mixed.call, CallPlan{});
  EXPECT_TRUE(mixed.leaves[0].requires_grad);
  EXPECT_FALSE(mixed.leaves[2].requires_grad);
  // On their own they are compiled for inference, as each would be alone.
  EXPECT_EQ(Pack({forward, forward}).call.backward, CallPlan::Backward::kNone);
}

TEST(PackTest, TakesTogetherWhatIsCalledInTheSameWay) {
  const Program plain = DiagonalScatterSum();
  std::vector<Program> ways(5, plain);
  ways[0].call.no_grad_first = true;
  ways[1].call.dynamic = CallPlan::Dynamic::kYes;
  ways[2].call.backward = CallPlan::Backward::kAccumulate;
  ways[3].call.second_storages = plain.storages;
  ways[3].call.second_leaves = plain.leaves;
  ways[4].call.autocast = true;
  for (size_t i = 0; i < ways.size(); ++i) {
    EXPECT_TRUE(IsPackable(ways[i]));
    EXPECT_FALSE(PackTogether(ways[i], plain));
    for (size_t k = 0; k < ways.size(); ++k) EXPECT_EQ(PackTogether(ways[i], ways[k]), i == k);
  }
  EXPECT_TRUE(Pack({ways[0], ways[0]}).call.no_grad_first);
  EXPECT_EQ(Pack({ways[1], ways[1]}).call.dynamic, CallPlan::Dynamic::kYes);
  EXPECT_EQ(Pack({ways[2], ways[2]}).call.backward, CallPlan::Backward::kAccumulate);
  const Program twice = Pack({ways[3], ways[3]});
  EXPECT_EQ(Validate(twice), "");
  ASSERT_EQ(twice.call.second_leaves.size(), 4u);
  EXPECT_EQ(twice.call.second_leaves[2].storage, twice.leaves[2].storage);
  EXPECT_TRUE(Pack({ways[4], ways[4]}).call.autocast);
}

TEST(PackTest, KeepsTheConfigThatItsProgramsShare) {
  const Program plain = DiagonalScatterSum();
  Program set = plain;
  set.call.config = {{"inductor.cpp.simdlen", 1}};
  EXPECT_TRUE(IsPackable(set));
  EXPECT_TRUE(PackTogether(set, set));
  EXPECT_FALSE(PackTogether(set, plain));
  EXPECT_EQ(Pack({set, set}).call.config, set.call.config);
}

TEST(ProgramTest, ConfigIsOfNamesAndPlainValues) {
  Program p = DiagonalScatterSum();
  p.call.config = {{"inductor.cpp.simdlen", 1}, {"inductor.cpp.cxx", None{}}};
  EXPECT_EQ(Validate(p), "");
  p.call.config = {{"simdlen", 1}};
  EXPECT_NE(Validate(p), "");
  p.call.config = {{"inductor.x", ArgList{Arg(1)}}};
  EXPECT_NE(Validate(p), "");
}

}  // namespace
}  // namespace gradfuzz::program
