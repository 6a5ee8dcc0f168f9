// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/evaluate/dispatched.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/program/sample.h"

namespace gradfuzz::evaluate {
namespace {

TEST(DispatchedOperators, AreThoseOfForwardAndBackward) {
  const program::Program p = program::DiagonalScatterSum();
  const auto both = DispatchedOperators(p, at::kCPU);
  EXPECT_TRUE(both.contains("diagonal_scatter"));
  EXPECT_TRUE(both.contains("expand"));  // the derivative of the sum
  EXPECT_FALSE(both.contains("sin"));

  program::Program forward = p;
  forward.call.backward = program::CallPlan::Backward::kNone;
  const auto alone = DispatchedOperators(forward, at::kCPU);
  EXPECT_TRUE(alone.contains("sum"));
  EXPECT_FALSE(alone.contains("expand"));
  EXPECT_EQ(DispatchedOperators(p, at::kCPU), both);  // nothing is left from the run before
}

TEST(OperatorsNamed, InWordsAndInLinesOfGeneratedCode) {
  const std::string error =
      "AssertionError: expected size 5==5, stride 5==1 at dim=0\n"
      "Error in op: torch.ops.aten.linalg_solve_triangular.default\n"
      "    buf3 = torch.ops.aten._conj.default(buf2)\n  File \"aten.py\", line 3, at aten.";
  const std::set<std::string> expected = {"_conj", "linalg_solve_triangular", "py"};
  EXPECT_EQ(OperatorsNamed(error), expected);
  EXPECT_TRUE(OperatorsNamed("AssertionError").empty());
}

}  // namespace
}  // namespace gradfuzz::evaluate
