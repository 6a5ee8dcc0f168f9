// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/known_bugs.h"

#include <algorithm>
#include <utility>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/reduce/op_class.h"
#include "gradfuzz/support/file.h"

namespace gradfuzz::isolate {
namespace {

using nlohmann::json;

bool IsOneOf(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

// "2.11" is a prefix of "2.11.0+cu130", "2.1" is not.
bool IsVersion(const std::vector<std::string>& prefixes, const std::string& version) {
  return prefixes.empty() ||
         std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
           if (!version.starts_with(prefix)) return false;
           return version.size() == prefix.size() || version[prefix.size()] == '.' ||
                  version[prefix.size()] == '+';
         });
}

bool CallsOneOf(const std::vector<std::string>& ops, const program::Program& program) {
  return IsOneOf(ops, program::TransformName(program)) ||
         std::any_of(program.statements.begin(), program.statements.end(),
                     [&](const program::Statement& s) {
                       return IsOneOf(ops, s.op) || IsOneOf(ops, reduce::BareName(s.op));
                     });
}

KnownBug EntryFrom(const json& value) {
  KnownBug bug;
  bug.title = value.at("title").get<std::string>();
  bug.issue = value.value("issue", "");
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"torch", &bug.torch}, {"device", &bug.device}, {"rung", &bug.rung},
      {"class", &bug.bug},   {"ops", &bug.ops},       {"cause", &bug.cause},
  };
  for (const auto& [name, list] : lists) {
    if (value.contains(name)) *list = value.at(name).get<std::vector<std::string>>();
  }
  // A misspelt class would never match, and nobody would notice.
  for (const std::string& name : bug.bug) {
    bool known = false;
    for (int c = 0; c <= static_cast<int>(BugClass::kTimeout); ++c) {
      known = known || name == Name(static_cast<BugClass>(c));
    }
    if (!known) throw std::invalid_argument("unknown class '" + name + "'");
  }
  for (const std::string& text : value.value("skeleton", std::vector<std::string>())) {
    bug.skeletons.push_back(SkeletonFromText(text));
  }
  bug.error = value.value("error", "");
  if (!bug.error.empty()) bug.error_pattern = std::make_shared<const std::regex>(bug.error);
  bug.cure = value.value("cure", json());
  static const char* const kFields[] = {"title", "issue", "torch", "device",   "rung", "class",
                                        "ops",   "cause", "error", "skeleton", "note", "cure"};
  for (const auto& [name, unused] : value.items()) {
    if (std::find(std::begin(kFields), std::end(kFields), name) == std::end(kFields)) {
      throw std::invalid_argument("unknown field '" + name + "'");
    }
  }
  return bug;
}

}  // namespace

Result<KnownBugs> KnownBugs::FromJson(const json& value) {
  KnownBugs known;
  size_t index = 0;
  try {
    for (const json& entry : value.at("bugs")) {
      known.entries_.push_back(EntryFrom(entry));
      ++index;
    }
  } catch (const std::exception& e) {
    return UsageError("known bugs: entry " + std::to_string(index) + ": " + e.what());
  }
  return known;
}

Result<KnownBugs> KnownBugs::Load(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return text.error();
  const json value = json::parse(*text, nullptr, false);
  if (value.is_discarded()) return UsageError(path + " is not JSON");
  auto known = FromJson(value);
  if (!known) return UsageError(path + ": " + known.error().message);
  return known;
}

const KnownBug* KnownBugs::Match(const Target& target, const program::Program& program,
                                 const std::optional<std::string>& cause,
                                 const std::string& torch_version) const {
  for (const KnownBug& bug : entries_) {
    if (!IsVersion(bug.torch, torch_version) || !IsOneOf(bug.device, target.device) ||
        !IsOneOf(bug.rung, target.rung) || !IsOneOf(bug.bug, Name(target.bug)) ||
        !CallsOneOf(bug.ops, program)) {
      continue;
    }
    if (cause && !IsOneOf(bug.cause, *cause)) continue;
    if (bug.error_pattern && !std::regex_search(target.error, *bug.error_pattern)) continue;
    if (!bug.skeletons.empty() &&
        std::none_of(bug.skeletons.begin(), bug.skeletons.end(),
                     [&](const Skeleton& skeleton) { return Contains(program, skeleton); })) {
      continue;
    }
    return &bug;
  }
  return nullptr;
}

}  // namespace gradfuzz::isolate
