// SPDX-License-Identifier: BSD-3-Clause
// Bugs that somebody has reported: corpus/known_bugs.json. A finding that matches an entry is
// listed with its link and does not fail a run.
//
// An entry matches when each of its conditions holds; a condition that is absent always does.
//   {"title": "...", "issue": "https://github.com/...",
//    "torch": ["2.11"],               version prefixes, at a dot: "2.1" is not "2.11"
//    "device": ["cpu"], "rung": ["inductor"],
//    "class": ["gradient"],           signature.h, Name(BugClass)
//    "skeleton": ["aggregation(write)"],   found in the reduced program, with more around it or not
//    "ops": ["index_reduce"],         one of these is called, or is a part's TransformName
//    "cause": ["vectorisation"],      the ablation's; of findings only, not of raw mismatches
//    "error": "regular expression",   found in Target::error (signature.h)
//    "cure": {"separator": "sin"}}    or {"knob": ["inductor.cpp.simdlen", 1]}: what hides this
//    bug,
//                                     so that a program can be asked whether it shows another
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "gradfuzz/isolate/signature.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::isolate {

struct KnownBug {
  std::string title;
  std::string issue;
  std::vector<std::string> torch, device, rung, bug, ops, cause;
  std::vector<Skeleton> skeletons;
  std::string error;
  std::shared_ptr<const std::regex> error_pattern;  // of `error`; null when it is empty
  nlohmann::json cure;
};

class KnownBugs {
 public:
  // RETURNS: a UsageError that names the entry and the field at fault.
  static Result<KnownBugs> FromJson(const nlohmann::json& json);
  // An absent file is an error, too: the caller decides whether it must exist.
  static Result<KnownBugs> Load(const std::string& path);

  // The first entry that matches, or nullptr. `cause`: nothing while it is not known.
  const KnownBug* Match(const Target& target, const program::Program& program,
                        const std::optional<std::string>& cause,
                        const std::string& torch_version) const;

  const std::vector<KnownBug>& entries() const { return entries_; }

 private:
  std::vector<KnownBug> entries_;
};

}  // namespace gradfuzz::isolate
