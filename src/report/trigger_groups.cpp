// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/trigger_groups.h"

#include <algorithm>

#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

// "sum -> mean" is "mean" once the axis is known; "sum dim=0 -> 1" would lose what it is about.
std::string Short(const std::string& change) {
  constexpr std::string_view kArrow = " -> ";
  const std::string text = OneLine(change);
  const size_t arrow = text.find(kArrow);
  const bool one_word = arrow != std::string::npos && text.find(' ') == arrow;
  return one_word ? text.substr(arrow + kArrow.size()) : text;
}

}  // namespace

std::vector<TriggerGroup> GroupTriggers(const std::vector<TriggerRow>& rows) {
  std::vector<TriggerGroup> groups;
  for (const TriggerRow& row : rows) {
    if (!row.tried) continue;
    const std::string axis = OneLine(row.axis);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const TriggerGroup& g) { return g.axis == axis; });
    if (group == groups.end()) group = groups.insert(groups.end(), {axis, {}, {}, {}});
    if (row.wrong) {
      group->wrong.push_back(Short(row.change));
    } else if (row.verdict == Verdict::kAgree) {
      group->right.push_back(Short(row.change));
    } else {
      group->other.push_back(Short(row.change) + " (" + InWords(row.verdict) + ")");
    }
  }
  return groups;
}

}  // namespace gradfuzz::report
