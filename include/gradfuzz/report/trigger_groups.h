// SPDX-License-Identifier: BSD-3-Clause
// The trigger table (up to 64 neighbours of the reduced program) in a form that fits on a screen:
// one line per axis of change.
#pragma once

#include <string>
#include <vector>

#include "gradfuzz/message/finding.h"

namespace gradfuzz::report {

struct TriggerGroup {
  std::string axis;                // "op", "dtype", "in between"
  std::vector<std::string> wrong;  // changes that keep the bug, short: "slice_scatter"
  std::vector<std::string> right;  // changes that remove it
  std::vector<std::string> other;  // another verdict, named: "index_fill (does not compile)"
};

// Axes in the order of the table; rows that were not tried are left out, so are groups of none.
std::vector<TriggerGroup> GroupTriggers(const std::vector<TriggerRow>& rows);

}  // namespace gradfuzz::report
