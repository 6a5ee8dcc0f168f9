// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/host_check.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gradfuzz::evaluate {
namespace {

using program::Arg;
using program::DType;
using program::Program;
using program::ValueRecipe;

std::string ErrorOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

// One call of each kernel that asserts on a GPU; a torch that words one anew fails here.
TEST(HostCheck, KnowsTheWordsOfEveryKernelThatAsserts) {
  const at::Tensor x = at::ones({3, 4});
  const at::Tensor row = at::full({4}, 7, at::kLong);
  const at::Tensor index = at::full({1, 4}, 7, at::kLong);
  const at::Tensor values = at::ones({1, 4});
  const at::Tensor rows = at::ones({4, 4});
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"index", [&] { (void)x.index({row}); }},
      {"index_put", [&] { (void)x.index_put({row}, at::ones({})); }},
      {"gather", [&] { (void)at::gather(x, 0, index); }},
      {"scatter", [&] { (void)at::scatter(x, 0, index, values); }},
      {"scatter_add", [&] { (void)at::scatter_add(x, 0, index, values); }},
      {"scatter_reduce", [&] { (void)at::scatter_reduce(x, 0, index, values, "amax"); }},
      {"index_select", [&] { (void)at::index_select(x, 0, row); }},
      {"index_add", [&] { (void)at::index_add(x, 0, row, rows); }},
      {"index_copy", [&] { (void)at::index_copy(x, 0, row, rows); }},
      {"index_fill", [&] { (void)at::index_fill(x, 0, row, 1.0); }},
      {"index_reduce", [&] { (void)at::index_reduce(x, 0, row, rows, "prod"); }},
      {"take", [&] { (void)at::take(x, at::full({2}, 99, at::kLong)); }},
      {"put", [&] { (void)at::put(x, at::full({2}, 99, at::kLong), at::ones({2})); }},
      {"embedding", [&] { (void)at::embedding(x, row); }},
      {"nll_loss", [&] { (void)at::nll_loss(x, at::full({3}, 7, at::kLong)); }},
      {"one_hot", [&] { (void)at::one_hot(row, 3); }},
      {"binary_cross_entropy", [&] { (void)at::binary_cross_entropy(x * 2, x); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string said = ErrorOf(call);
    EXPECT_FALSE(said.empty()) << name;
    EXPECT_TRUE(SaysOutOfRange(said)) << name << ": " << said;
  }
}

TEST(HostCheck, OtherErrorsAreLeftToTheGpu) {
  EXPECT_FALSE(SaysOutOfRange(ErrorOf([] { (void)at::mm(at::ones({2, 3}), at::ones({2, 3})); })));
  EXPECT_FALSE(SaysOutOfRange("\"addmm_impl_cpu_\" not implemented for 'Bool'"));
}

// index_select of 4 rows; the index is the same in every draw.
Program SelectRow(double row) {
  Program p;
  const ValueRecipe normal{.kind = ValueRecipe::Kind::kNormal, .seed = 1, .scale = 1};
  const ValueRecipe at{.kind = ValueRecipe::Kind::kLiteral, .values = {row}};
  p.storages = {{DType::kFloat32, 8, normal}, {DType::kInt64, 1, at}};
  p.leaves = {{0, {4, 2}, {2, 1}, 0, true}, {1, {1}, {1}, 0, false}};
  program::Statement select;
  select.op = "index_select";
  select.args = {Arg::Value(0), Arg(0), Arg::Value(1)};
  p.statements = {select};
  p.outputs = {{2, {}}};
  return p;
}

TEST(HostCheck, AsksBothCalls) {
  EXPECT_EQ(OutOfRange(SelectRow(3), 2), "");
  EXPECT_NE(OutOfRange(SelectRow(4), 2), "");
  Program shrunk = SelectRow(3);  // the second call's first leaf is one row shorter
  shrunk.call.second_storages = shrunk.storages;
  shrunk.call.second_leaves = shrunk.leaves;
  shrunk.call.second_leaves[0].sizes = {3, 2};
  EXPECT_NE(OutOfRange(shrunk, 1), "");
}

}  // namespace
}  // namespace gradfuzz::evaluate
