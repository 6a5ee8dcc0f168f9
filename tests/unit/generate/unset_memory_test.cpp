// SPDX-License-Identifier: BSD-3-Clause
// What unset memory has a part in is not made: it would be another program on another day.
#include "gradfuzz/evaluate/unset_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gradfuzz/generate/workspace.h"
#include "gradfuzz/ops/record.h"

namespace gradfuzz::generate {
namespace {

using evaluate::UnsetMemory;
using program::Arg;

double FirstElement() { return at::empty({16})[0].item<double>(); }

TEST(UnsetMemory, IsFilledAndGuardsNest) {
  const UnsetMemory nan(UnsetMemory::kNan);
  EXPECT_TRUE(std::isnan(FirstElement()));
  {
    const UnsetMemory finite(UnsetMemory::kFinite);
    EXPECT_TRUE(std::isfinite(FirstElement()));
    EXPECT_GT(at::empty({16}, at::kLong)[0].item<int64_t>(), 0);
  }
  EXPECT_TRUE(std::isnan(FirstElement()));
}

TEST(UnsetMemory, TensorsOutliveTheGuard) {
  at::Tensor kept;
  {
    const UnsetMemory nan(UnsetMemory::kNan);
    kept = at::ones({1000});
  }
  kept.resize_({4000});
  EXPECT_EQ(kept.slice(0, 0, 1000).sum().item<double>(), 1000);
}

// A leaf whose second dimension is expanded.
Arg AddExpanded(Workspace* workspace, program::DType dtype) {
  program::Storage storage;
  storage.dtype = dtype;
  storage.numel = 3;
  program::Leaf leaf;
  leaf.sizes = {3, 5};
  leaf.strides = {1, 0};
  return Arg::Value(workspace->AddLeaf(storage, leaf, {}, {}));
}

Verdict AddCall(Workspace* workspace, const std::string& op, std::vector<Arg> args, int results) {
  program::Statement statement;
  statement.op = op;
  statement.args = std::move(args);
  statement.results = results;
  ops::OpRecord record;
  record.name = op;
  record.results = results;
  return workspace->Add(statement, record);
}

TEST(UnsetMemory, WhatReadsItIsUnsuitable) {
  const UnsetMemory nan(UnsetMemory::kNan);
  Workspace workspace({});
  const Arg x = AddExpanded(&workspace, program::DType::kFloat32);
  const Arg n = AddExpanded(&workspace, program::DType::kInt64);
  // Eager's median reads beyond an operand with an expanded dimension (CPU, 2.11 and 2.15).
  EXPECT_EQ(AddCall(&workspace, "median", {x, 1}, 2), Verdict::kUnsuitable);
  EXPECT_EQ(AddCall(&workspace, "median", {n, 1}, 2), Verdict::kUnsuitable);
  EXPECT_EQ(AddCall(&workspace, "empty_like", {x}, 1), Verdict::kUnsuitable);
  EXPECT_EQ(AddCall(&workspace, "empty_like", {n}, 1), Verdict::kUnsuitable);
  EXPECT_EQ(AddCall(&workspace, "kthvalue", {x, 1, 1}, 2), Verdict::kAdded);
  EXPECT_EQ(AddCall(&workspace, "zeros_like", {n}, 1), Verdict::kAdded);
}

TEST(OverlappingResult, IsUnsuitableUnlessAView) {
  Workspace workspace({});
  program::Storage storage;
  storage.numel = 5;
  program::Leaf windows;
  windows.sizes = {2, 3};
  windows.strides = {2, 1};
  const Arg x = Arg::Value(workspace.AddLeaf(storage, windows, {}, {}));
  storage.numel = 3;
  program::Leaf row;
  row.sizes = {3};
  row.strides = {1};
  const Arg y = Arg::Value(workspace.AddLeaf(storage, row, {}, {}));
  // Eager clones x with its strides: what is written into row 0 is in row 1 as well.
  EXPECT_EQ(AddCall(&workspace, "select_scatter", {x, y, 0, 0}, 1), Verdict::kUnsuitable);
  EXPECT_EQ(AddCall(&workspace, "select", {x, 0, 0}, 1), Verdict::kAdded);
  EXPECT_EQ(AddCall(&workspace, "t", {x}, 1), Verdict::kAdded);
  EXPECT_EQ(AddCall(&workspace, "sin", {x}, 1), Verdict::kAdded);
  EXPECT_EQ(AddCall(&workspace, "expand_copy", {y, Arg::Ints({2, 3})}, 1), Verdict::kAdded);
}

}  // namespace
}  // namespace gradfuzz::generate
