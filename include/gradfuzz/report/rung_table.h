// SPDX-License-Identifier: BSD-3-Clause
// The table rung x quantity: who is right, who is wrong, where. One table, three renderings.
#pragma once

#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"

namespace gradfuzz::report {

struct RungCell {
  enum class State { kRight, kWrong, kOther, kNone };
  State state = State::kNone;
  std::string text = "-";  // "right", "WRONG", "None", "NaN", "tie", ...: never colour alone
  std::string detail;      // one sentence, empty when there is nothing to add
};

struct RungRow {
  std::string name;    // rung, with the device when the outcome spans several
  std::string remark;  // the error in words, graph breaks; may be empty
  bool wrong = false;
  std::vector<RungCell> cells;  // one per column
};

struct RungTable {
  std::vector<std::string> columns;  // outputs, gradients, inputs, the rest; natural order
  std::vector<RungRow> rows;
};

RungTable MakeRungTable(const Outcome& outcome);

}  // namespace gradfuzz::report
