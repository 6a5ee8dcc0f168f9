// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/generate/harvest.h"

#include <algorithm>
#include <map>

#include "gradfuzz/generate/weights.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/check.h"

namespace gradfuzz::generate {
namespace {

using nlohmann::json;

// Everything that may be so is taken to be so.
constexpr uint32_t kUnknown =
    ops::kTranscendental | ops::kHasKinks | ops::kAccumulates | ops::kJumps | ops::kProducts;

const HarvestRuleRow* RuleOf(const std::string& op) {
  for (const HarvestRuleRow& row : HarvestRules()) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

HarvestedLeaf LeafFromJson(const json& value) {
  HarvestedLeaf leaf;
  const auto dtype = program::DTypeFromName(value.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("unknown dtype");
  leaf.dtype = *dtype;
  leaf.sizes = value.at("sizes").get<std::vector<int64_t>>();
  leaf.grad = value.at("grad").get<bool>();
  if (value.contains("values")) leaf.values = value.at("values").get<std::vector<double>>();
  leaf.low = value.value("low", 0.0);
  leaf.high = value.value("high", 0.0);
  return leaf;
}

// Elements that are positions in another operand are right for the sizes that they were made for,
// and not every kernel checks them (segment_reduce reads and writes where its offsets point). The
// kernels that checked functions call, known by their names, check less still
// (_native_batch_norm_legit).
bool IsRigid(const HarvestedCall& call) {
  const std::string path = "." + call.statement.op;
  const size_t underscore = path.find("._");
  const bool kernel = path.find(".native_") != std::string::npos ||
                      (underscore != std::string::npos && path.compare(underscore, 3, ".__") != 0);
  return kernel || std::ranges::any_of(call.leaves, [](const HarvestedLeaf& leaf) {
           return !leaf.number() && leaf.dtype != program::DType::kBool;
         });
}

ops::OpRecord MakeRecord(int results) {
  ops::OpRecord record;
  record.family = ops::Family::kHarvested;
  record.traits = kUnknown;
  record.results = results;
  return record;
}

}  // namespace

const ops::OpRecord& HarvestedOperator::RecordOf(const HarvestedCall& call) const {
  const auto found = std::find_if(records.begin(), records.end(), [&](const ops::OpRecord& record) {
    return record.results == call.statement.results;
  });
  GF_CHECK(found != records.end(), "a harvested call without a record");
  return *found;
}

Result<Harvest> Harvest::FromJson(const json& value) {
  Harvest harvest;
  std::map<std::string, HarvestedOperator> by_name;
  try {
    for (const json& item : value.at("calls")) {
      HarvestedCall call;
      auto statement = program::StatementFromJson(item);
      if (!statement) return InternalError("the harvest holds " + statement.error().message);
      call.statement = std::move(*statement);
      call.statement.op = ops::RecordedName(call.statement.op);
      const HarvestRuleRow* rule = RuleOf(call.statement.op);
      if (rule != nullptr && rule->rule == HarvestRule::kLeaveOut) continue;
      for (const json& leaf : item.at("leaves")) call.leaves.push_back(LeafFromJson(leaf));
      call.rigid = IsRigid(call) || (rule != nullptr && rule->rule == HarvestRule::kRigid);
      HarvestedOperator& op = by_name[call.statement.op];
      op.name = call.statement.op;
      op.contiguous_first = rule != nullptr && rule->rule == HarvestRule::kContiguous;
      op.contiguous_rest =
          op.contiguous_first || (rule != nullptr && rule->rule == HarvestRule::kContiguousRest);
      op.calls.push_back(std::move(call));
    }
    for (const json& item : value.at("operators")) {
      DatabaseEntry entry;
      entry.name = item.at("name").get<std::string>();
      entry.paths = item.at("paths").get<std::vector<std::string>>();
      entry.left_out = item.at("reason").get<std::string>();
      for (const std::string& path : entry.paths) {
        const HarvestRuleRow* rule = RuleOf(path);
        if (rule != nullptr && rule->rule == HarvestRule::kLeaveOut) entry.left_out = rule->reason;
      }
      harvest.database_.push_back(std::move(entry));
    }
  } catch (const std::exception& e) {
    return InternalError("the harvest of torch's operators cannot be read: " +
                         std::string(e.what()));
  }
  for (auto& [name, op] : by_name) {
    op.recorded = ops::Find(name) != nullptr;
    for (const HarvestedCall& call : op.calls) {
      const int results = call.statement.results;
      const bool known =
          std::any_of(op.records.begin(), op.records.end(),
                      [&](const ops::OpRecord& record) { return record.results == results; });
      if (!known) op.records.push_back(MakeRecord(results));
    }
    harvest.operators_.push_back(std::move(op));
  }
  // Names stay where they are from now on: moving the harvest moves no operator.
  for (HarvestedOperator& op : harvest.operators_) {
    for (ops::OpRecord& record : op.records) record.name = op.name;
  }
  return harvest;
}

double HarvestWeight(const HarvestedOperator& op) { return op.recorded ? 0.2 : 1.0; }

bool WantsHarvest(const GenerateOptions& options) {
  return Weights(options).Factor("family." + std::string(Name(ops::Family::kHarvested))) > 0;
}

}  // namespace gradfuzz::generate
