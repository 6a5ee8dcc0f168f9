// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/rung_table.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

// Outputs, gradients, inputs, others; within a kind x2 comes before x10.
std::tuple<int, size_t, std::string> Order(const std::string& what) {
  int kind = 3;
  if (what.starts_with("out")) kind = 0;
  if (what.starts_with("grad ")) kind = 1;
  if (what.starts_with("input")) kind = 2;
  return {kind, kind == 3 ? 0 : what.size(), what};
}

RungCell CellOf(const Comparison& c) {
  RungCell cell;
  if (c.verdict == Verdict::kAgree) {
    return {RungCell::State::kRight, "right", ""};
  }
  cell.state = IsFinding(c.verdict) ? RungCell::State::kWrong : RungCell::State::kOther;
  cell.detail = WhatIsWrong(c);
  switch (c.verdict) {
    case Verdict::kMissingGradient:
      cell.text = c.got.empty() ? "MISSING" : "NOT NONE";
      break;
    case Verdict::kNanMismatch:
      cell.text = "NaN/Inf";
      break;
    case Verdict::kMetadataMismatch:
      cell.text = "METADATA";
      break;
    case Verdict::kNondeterministic:
      cell.text = "UNSTABLE";
      break;
    case Verdict::kSelfCheckFailed:
      cell.text = "FAILS";
      break;
    case Verdict::kConvention:
      cell.text = "tie";
      break;
    case Verdict::kIllConditioned:
      cell.text = "unsure";
      break;
    case Verdict::kTradeOff:
      cell.text = "trade-off";
      break;
    default:
      cell.text = cell.state == RungCell::State::kWrong ? "WRONG" : "other";
  }
  return cell;
}

// Most programs write to none of their inputs: one column says that for all of them.
bool InputsAreRight(const Outcome& outcome) {
  for (const RungOutcome& rung : outcome.rungs) {
    for (const Comparison& c : rung.comparisons) {
      if (c.what.starts_with("input ") && c.verdict != Verdict::kAgree) return false;
    }
  }
  return true;
}

std::string ColumnOf(const Comparison& c, bool one_for_inputs) {
  return one_for_inputs && c.what.starts_with("input ") ? "inputs after" : c.what;
}

std::string Remark(const RungOutcome& r) {
  std::vector<std::string> parts;
  // Where a cell says what is wrong, the row need not say it again.
  const bool said = std::any_of(r.comparisons.begin(), r.comparisons.end(),
                                [](const Comparison& c) { return c.verdict != Verdict::kAgree; });
  if (r.verdict != Verdict::kAgree && !said) parts.emplace_back(InWords(r.verdict));
  if (r.graph_breaks > 0) parts.push_back(Count(r.graph_breaks, "graph break"));
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
  return out;
}

}  // namespace

RungTable MakeRungTable(const Outcome& outcome) {
  RungTable table;
  std::set<std::string> columns, devices;
  const bool one_for_inputs = InputsAreRight(outcome);
  for (const RungOutcome& rung : outcome.rungs) {
    devices.insert(rung.device);
    for (const Comparison& c : rung.comparisons) columns.insert(ColumnOf(c, one_for_inputs));
  }
  table.columns.assign(columns.begin(), columns.end());
  std::sort(table.columns.begin(), table.columns.end(),
            [](const std::string& a, const std::string& b) { return Order(a) < Order(b); });
  for (const RungOutcome& rung : outcome.rungs) {
    RungRow row;
    row.name = OneLine(devices.size() > 1 ? rung.rung + " " + rung.device : rung.rung);
    row.remark = Remark(rung);
    row.wrong = IsFinding(rung.verdict);
    for (const std::string& column : table.columns) {
      RungCell cell;
      for (const Comparison& c : rung.comparisons) {
        if (ColumnOf(c, one_for_inputs) == column) cell = CellOf(c);
      }
      // Eager is what the others are held against; its own row may carry no comparison.
      if (rung.rung == "eager" && rung.comparisons.empty() && rung.verdict == Verdict::kAgree) {
        cell = {RungCell::State::kOther, "reference", ""};
      }
      row.cells.push_back(cell);
    }
    table.rows.push_back(std::move(row));
  }
  for (std::string& column : table.columns) column = OneLine(column);
  return table;
}

}  // namespace gradfuzz::report
