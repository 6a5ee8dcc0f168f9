// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace gradfuzz::oracle {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Row {
  const char* name;
  std::vector<int64_t> sizes;
  std::vector<std::complex<double>> expected, got;
  const char* pattern;
};

class PatternTest : public testing::TestWithParam<Row> {};

TEST_P(PatternTest, IsNamed) {
  const Row& row = GetParam();
  std::vector<uint8_t> wrong;
  for (size_t i = 0; i < row.got.size(); ++i) {
    wrong.push_back(!(std::abs(row.got[i] - row.expected[i]) < 1e-9));
  }
  EXPECT_EQ(DescribePattern(row.sizes, row.expected, row.got, wrong), row.pattern);
}

INSTANTIATE_TEST_SUITE_P(
    All, PatternTest,
    testing::Values(
        Row{"Nothing", {3}, {1, 2, 3}, {1, 2, 3}, "nothing"},
        Row{"NaN", {3}, {1, 2, 3}, {1, kNaN, 3}, "NaN"},
        Row{"Infinity", {3}, {1, 2, 3}, {1, kInf, -kInf}, "infinity"},
        Row{"AllZero", {3}, {1, 2, 3}, {0, 0, 0}, "all zero"},
        Row{"AllOne", {3}, {0, 2, 3}, {1, 1, 1}, "all one value"},
        Row{"Sign", {3}, {1, 2, 0}, {-1, -2, 0}, "sign flipped"},
        Row{"Factor", {3}, {1, 2, -3}, {2, 4, -6}, "constant factor 2"},
        Row{"ComplexFactor", {2}, {1, {0, 1}}, {{1, 2}, {-2, 1}}, "constant factor 1+2j"},
        Row{"Conjugated", {3}, {1, {2, 1}, {0, -3}}, {1, {2, -1}, {0, 3}}, "conjugated"},
        Row{"OneConjugated", {2}, {{1, 1}, {2, 1}}, {{1, 1}, {2, -1}}, "one element"},
        Row{"ImaginaryLeft", {3}, {{1, 1}, {2, 3}, 1}, {{0, 1}, {0, 4}, 1}, "head"},
        Row{"SmallFactor", {3}, {1, 2, -3}, {1.001, 2.002, -3.003}, "constant factor 1.001"},
        Row{"OneOfOne", {1}, {1}, {5}, "one element"},
        Row{"One", {4}, {1, 2, 3, 4}, {1, 2, 7, 4}, "one element"},
        Row{"OneZero", {4}, {1, 2, 3, 4}, {1, 2, 0, 4}, "one element, zero"},
        Row{"Row", {3, 2}, {1, 2, 3, 4, 5, 6}, {1, 2, 9, 8, 5, 6}, "one row"},
        Row{"RowZero", {3, 2}, {1, 2, 3, 4, 5, 6}, {1, 2, 0, 0, 5, 6}, "one row, zero"},
        Row{"Column", {3, 2}, {1, 2, 3, 4, 5, 6}, {1, 7, 3, 9, 5, 8}, "one column"},
        Row{"Slice",
            {2, 2, 2},
            {1, 2, 3, 4, 5, 6, 7, 8},
            {1, 2, 0, 0, 5, 6, 0, 0},
            "one slice of dimension 1, zero"},
        Row{"Tail", {5}, {1, 2, 3, 4, 5}, {1, 2, 3, 9, 8}, "tail"},
        Row{"Head", {5}, {1, 2, 3, 4, 5}, {9, 8, 3, 4, 5}, "head"},
        Row{"Permuted", {6}, {1, 2, 3, 4, 5, 6}, {1, 3, 2, 6, 5, 4}, "permuted"},
        Row{"Everything", {3}, {1, 2, 3}, {5, -7, 9}, "everything"},
        Row{"Scattered", {6}, {1, 2, 3, 4, 5, 6}, {1, 20, 3, 40, 5, 6}, "scattered"},
        Row{"ScatteredZero", {6}, {1, 2, 3, 4, 5, 6}, {1, 0, 3, 0, 5, 6}, "scattered, zero"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace gradfuzz::oracle
