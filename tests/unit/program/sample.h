// SPDX-License-Identifier: BSD-3-Clause
// Programs for tests.
#pragma once

#include "gradfuzz/program/program.h"

namespace gradfuzz::program {

// (x0: float32 [3, 3], x1: float32 [3]) -> sum(diagonal_scatter(x0, x1, 0)), literal values.
inline Program DiagonalScatterSum() {
  Program p;
  ValueRecipe nine{ValueRecipe::Kind::kLiteral};
  nine.values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ValueRecipe three{ValueRecipe::Kind::kLiteral};
  three.values = {10, 11, 12};
  p.storages = {{DType::kFloat32, 9, nine}, {DType::kFloat32, 3, three}};
  p.leaves = {{0, {3, 3}, {3, 1}, 0, true}, {1, {3}, {1}, 0, true}};
  p.statements = {{"diagonal_scatter", {Arg::Value(0), Arg::Value(1), 0}, {}, 1},
                  {"sum", {Arg::Value(2)}, {}, 1}};
  ValueRecipe one{ValueRecipe::Kind::kLiteral};
  one.values = {1};
  p.outputs = {{3, {one, Cotangent::Layout::kContiguous}}};
  return p;
}

// A program that uses every kind of field once.
inline Program Everything() {
  Program p;
  ValueRecipe normal{ValueRecipe::Kind::kNormal, 5};
  normal.scale = 2;
  ValueRecipe uniform{ValueRecipe::Kind::kUniform, 6};
  uniform.low = 0.5;
  uniform.high = 1.5;
  ValueRecipe choice{ValueRecipe::Kind::kChoice, 7};
  choice.values = {-0.0, 1e30, 0.25};
  ValueRecipe index{ValueRecipe::Kind::kLiteral};
  index.values = {1, 0};
  p.storages = {{DType::kFloat32, 24, normal},
                {DType::kFloat64, 8, uniform},
                {DType::kComplex64, 4, choice},
                {DType::kInt64, 2, index}};
  p.leaves = {{0, {2, 3}, {1, 4}, 5, true},
              {0, {2, 3}, {3, 1}, 0, false},
              {1, {4, 2}, {0, 1}, 0, true},
              {2, {4}, {1}, 0, true},
              {3, {2}, {1}, 0, false}};
  p.statements = {
      {"add", {Arg::Value(0), Arg::Value(1)}, {{"alpha", 0.5}}, 1},
      {"max", {Arg::Value(5)}, {{"dim", -1}, {"keepdim", true}}, 2},
      {"Tensor.to", {Arg::Value(2), DType::kFloat32}, {}, 1},
      {"cat", {ArgList{Arg::Value(8), Arg::Value(8)}}, {{"dim", 0}}, 1},
      {"Tensor.__getitem__",
       {Arg::Value(9), Tuple{{Slice{{Arg(1), Arg(None{}), Arg(2)}}, Arg(Ellipsis{}), Arg(0)}}},
       {},
       1},
      {"Tensor.mul_", {Arg::Value(10), 3}, {}, 1},
      {"nn.functional.pad", {Arg::Value(6), Arg::Ints({1, -1})}, {{"value", HUGE_VAL}}, 1},
      {"clone", {Arg::Value(3)}, {{"memory_format", Constant{"contiguous_format"}}}, 1}};
  p.regions = {{Region::Kind::kAutocastOff, 0, 2},
               {Region::Kind::kNoGrad, 1, 1},
               {Region::Kind::kCheckpoint, 3, 3}};
  p.outputs = {{11, {normal, Cotangent::Layout::kColumnMajor}},
               {12, {uniform, Cotangent::Layout::kExpanded}},
               {13, {choice, Cotangent::Layout::kSliced}}};
  p.call.dynamic = CallPlan::Dynamic::kYes;
  p.call.no_grad_first = true;
  p.call.config = {{"inductor.cpp.simdlen", 1}, {"functorch.activation_memory_budget", 0.5}};
  p.call.second_storages = p.storages;
  p.call.second_leaves = p.leaves;
  p.call.second_leaves[0].offset = 1;
  p.statements[0].kwargs[0].second.second = -0.25;  // alpha is a parameter
  return p;
}

}  // namespace gradfuzz::program
