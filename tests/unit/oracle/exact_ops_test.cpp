// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/oracle/exact_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <set>

namespace gradfuzz::oracle {
namespace {

TEST(AtenTableTest, EveryRowIsAnOperatorOfThisTorch) {
  std::set<std::string> names;
  for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) names.insert(op.name);
  for (const AtenOp& row : AtenTable()) {
    const std::string name = "aten::" + std::string(row.name);
    EXPECT_TRUE(names.count(name) || names.count(name + "_")) << name;
  }
}

TEST(AtenTableTest, NamesAreFoundInEverySpelling) {
  ASSERT_NE(FindAten("aten::amin"), nullptr);
  EXPECT_EQ(FindAten("aten::amin"), FindAten("amin"));
  EXPECT_EQ(FindAten("aten::masked_fill_"), FindAten("masked_fill"));
  EXPECT_EQ(FindAten("aten::no_such_operator"), nullptr);
}

TEST(AtenTableTest, NoNameTwice) {
  std::set<std::string_view> names;
  for (const AtenOp& row : AtenTable()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

// The operand that a backward decides by must be one that its schema has.
TEST(AtenTableTest, DecisiveOperandsAreTensors) {
  for (const AtenOp& row : AtenTable()) {
    if (row.decisive < 0) continue;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (name.name != "aten::" + std::string(row.name) || !name.overload_name.empty()) continue;
      const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), "");
      const auto& arguments = op.schema().arguments();
      ASSERT_GT(arguments.size(), static_cast<size_t>(row.decisive)) << row.name;
      const auto& argument = arguments[static_cast<size_t>(row.decisive)];
      EXPECT_EQ(argument.type()->kind(), c10::TypeKind::TensorType) << row.name;
      EXPECT_NE(argument.name().find("self"), std::string::npos) << row.name;
    }
  }
}

}  // namespace
}  // namespace gradfuzz::oracle
