// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "build.h"

namespace gradfuzz::ops {
namespace {

using MakeRecords = std::vector<OpRecord> (*)();
constexpr MakeRecords kFamilies[] = {
    ScatterRecords, GatherRecords, PointwiseRecords, AggregationRecords, ViewRecords,
    JoinRecords,    OrderRecords,  LinalgRecords,    NnRecords,          MutationRecords};

const std::vector<OpRecord>& All() {
  static const std::vector<OpRecord>* const records = [] {
    auto* all = new std::vector<OpRecord>;  // never destroyed: read until the process ends
    for (const MakeRecords make : kFamilies) {
      for (OpRecord& record : make()) all->push_back(std::move(record));
    }
    return all;
  }();
  return *records;
}

}  // namespace

const char* Name(Family family) {
  static constexpr const char* kNames[kFamilyCount] = {
      "scatter", "gather", "pointwise", "aggregation", "view",     "join",
      "order",   "linalg", "nn",        "mutation",    "harvested"};
  return kNames[static_cast<size_t>(family)];
}

std::span<const OpRecord> Catalogue() { return All(); }

const OpRecord* Find(std::string_view name) {
  static const auto* const by_name = [] {
    auto* index = new std::map<std::string_view, const OpRecord*>;
    for (const OpRecord& record : All()) index->emplace(record.name, &record);
    return index;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

std::string RecordedName(std::string name) {
  std::string method = "Tensor." + name;
  return Find(name) == nullptr && Find(method) != nullptr ? std::move(method) : std::move(name);
}

std::string Id(const OpRecord& record) {
  std::string id(record.name);
  if (!record.variant.empty()) id += "." + std::string(record.variant);
  return id;
}

std::string AtenName(const OpRecord& record) {
  if (record.aten == kPythonOnly) return "";
  if (!record.aten.empty()) return std::string(record.aten);
  std::string_view name = record.name;
  // torch.special.erfcx is aten::special_erfcx; the other prefixes leave no trace.
  for (const std::string_view prefix : {"Tensor.", "nn.functional."}) {
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  }
  std::string aten = "aten::";
  for (const char c : name) aten += c == '.' ? '_' : c;
  return aten;
}

}  // namespace gradfuzz::ops
