// SPDX-License-Identifier: BSD-3-Clause
// The harvest: valid calls of every differentiable operator, from the operator database that torch
// ships. A call becomes a statement when its tensors are replaced by values in hand or new leaves.
//
//  1. Made by Python (gradfuzz_bridge/harvest.py), once per torch version; plain data here.
//  2. What is compared must be defined: a table (HarvestRules) leaves out, with its reason, each
//     operator whose results or gradients are not.
//  3. Nothing is known of such an operator: its traits are those that demand the most care.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradfuzz/message/request.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::generate {

// A tensor of a harvested call.
struct HarvestedLeaf {
  program::DType dtype = program::DType::kFloat32;
  std::vector<int64_t> sizes;
  bool grad = false;
  std::vector<double> values;  // its elements; empty: any within [low, high] will do
  double low = 0, high = 0;

  bool free() const { return values.empty(); }
  bool number() const { return program::IsDifferentiable(dtype); }  // else positions or a mask
  // A range as wide as what op_db draws by default is no limit, only a habit.
  bool has_low() const { return low > -2; }
  bool has_high() const { return high < 2; }
};

struct HarvestedCall {
  program::Statement statement;  // uses numbers of `leaves`
  std::vector<HarvestedLeaf> leaves;
  bool rigid = false;  // other sizes might be read or written out of bounds
};

// What a rule makes of an operator.
enum class HarvestRule : uint8_t {
  kLeaveOut,
  kContiguous,      // sees the layout of its operands: only contiguous ones
  kContiguousRest,  // as that, but for the operand that carries the chain
  kRigid,           // checks no sizes: only those that it was harvested with
};

struct HarvestRuleRow {
  std::string_view op;  // path below torch
  HarvestRule rule;
  std::string_view reason;
};
std::span<const HarvestRuleRow> HarvestRules();

struct HarvestedOperator {
  std::string name;               // path below torch
  bool recorded = false;          // a hand-written record knows it as well
  bool contiguous_first = false;  // by rule: the operand that carries the chain
  bool contiguous_rest = false;   // by rule: the others
  std::vector<HarvestedCall> calls;
  std::vector<ops::OpRecord> records;  // one for each number of results

  const ops::OpRecord& RecordOf(const HarvestedCall& call) const;
};

// One entry of torch's operator database: what coverage is measured by.
struct DatabaseEntry {
  std::string name;
  std::vector<std::string> paths;  // how programs may spell it
  std::string left_out;            // why it is not in the harvest; empty when it is
};

class Harvest {
 public:
  // RETURNS: the harvest of the file's contents, rules applied; an InternalError for other JSON.
  static Result<Harvest> FromJson(const nlohmann::json& json);

  Harvest(Harvest&&) = default;
  Harvest(const Harvest&) = delete;  // records refer to the names of their operators
  Harvest& operator=(const Harvest&) = delete;

  const std::vector<HarvestedOperator>& operators() const { return operators_; }  // by name
  const std::vector<DatabaseEntry>& database() const { return database_; }

 private:
  Harvest() = default;
  std::vector<HarvestedOperator> operators_;
  std::vector<DatabaseEntry> database_;
};

// The weight of being drawn within the harvest: less for what a record, with its samplers, knows.
double HarvestWeight(const HarvestedOperator& op);

// False when the weights switch the harvest off: then none need be made.
bool WantsHarvest(const GenerateOptions& options);

}  // namespace gradfuzz::generate
