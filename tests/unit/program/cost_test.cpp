// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/program/cost.h"

#include <gtest/gtest.h>

#include "unit/reduce/mini_eager.h"

namespace gradfuzz::program {
namespace {

Program One(const std::string& op = "sin") {
  Program p;
  testing::AddLeaf(&p, {2, 3});
  testing::AddOutput(&p, testing::AddCall(&p, op, {Arg::Value(0)}));
  return p;
}

// Each row makes the program of One() costlier in one respect.
struct Row {
  const char* what;
  void (*change)(Program* p);
};

TEST(Cost, RisesWithEverythingThatIsHarderToRead) {
  const Row kRows[] = {
      {"statement", [](Program* p) { testing::AddCall(p, "neg", {Arg::Value(1)}); }},
      {"region",
       [](Program* p) {
         p->regions.push_back({Region::Kind::kNoGrad, 0, 0});
       }},
      {"call", [](Program* p) { p->call.dynamic = CallPlan::Dynamic::kYes; }},
      {"output", [](Program* p) { testing::AddOutput(p, 0); }},
      {"operator", [](Program* p) { p->statements[0].op = "asinh"; }},
      {"in place", [](Program* p) { p->statements[0].op = "Tensor.sin_"; }},
      {"argument", [](Program* p) { p->statements[0].args.push_back(Arg(0)); }},
      {"keyword", [](Program* p) { p->statements[0].kwargs.emplace_back("dim", Arg(0)); }},
      {"elements",
       [](Program* p) {
         p->leaves[0] = {0, {3, 3}, {3, 1}, 0, true};
       }},
      {"layout",
       [](Program* p) {
         p->leaves[0].strides = {1, 2};
       }},
      {"offset", [](Program* p) { p->leaves[0].offset = 1; }},
      {"storage", [](Program* p) { p->storages[0].numel += 4; }},
      {"dtype", [](Program* p) { p->storages[0].dtype = DType::kBFloat16; }},
      {"cotangent",
       [](Program* p) { p->outputs[0].cotangent.layout = Cotangent::Layout::kSliced; }},
  };
  const Cost plain = CostOf(One());
  for (const Row& row : kRows) {
    Program p = One();
    row.change(&p);
    EXPECT_GT(CostOf(p), plain) << row.what;
  }
}

TEST(Cost, OneStatementOutweighsAllElse) {
  Program two = One();
  testing::AddCall(&two, "neg", {Arg::Value(1)});
  Program big = One("special.entr");
  for (int i = 0; i < 5; ++i) testing::AddOutput(&big, 0);
  big.leaves[0] = {0, {100, 100}, {100, 1}, 0, true};
  big.storages[0].numel = 10000;
  EXPECT_LT(CostOf(big), CostOf(two));
}

TEST(Cost, ValuesFromConstantToRandom) {
  const auto literal = [](std::vector<double> values) {
    ValueRecipe r;
    r.kind = ValueRecipe::Kind::kLiteral;
    r.values = std::move(values);
    return r;
  };
  ValueRecipe ones, ints, uniform, normal;
  ones.low = ones.high = 1;
  uniform.kind = ValueRecipe::Kind::kUniform;
  normal.kind = ValueRecipe::Kind::kNormal;
  const std::vector<ValueRecipe> rising = {ones,
                                           literal({0, 0, 1}),
                                           literal({1, 2, 3}),
                                           literal({1, -2, 30}),
                                           literal({0.37, 1.24, 5.11}),
                                           ints,
                                           uniform,
                                           normal};
  for (size_t i = 1; i < rising.size(); ++i) {
    EXPECT_LT(CostOf(rising[i - 1], 3), CostOf(rising[i], 3)) << i;
  }
}

TEST(Cost, MethodsAndInPlaceFormsComeAfterTheFunction) {
  EXPECT_LT(OperatorRank("add"), OperatorRank("Tensor.add"));
  EXPECT_LT(OperatorRank("Tensor.add"), OperatorRank("Tensor.add_"));
  EXPECT_LT(OperatorRank("sin"), OperatorRank("special.i1e"));
}

}  // namespace
}  // namespace gradfuzz::program
