// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/ladder.h"

#include <algorithm>

namespace gradfuzz::isolate {
namespace {

constexpr Rung kLadder[] = {
    {"eager", "no compilation: every operator by itself", true, true},
    {"dynamo", "the graph that Dynamo captured, run operator by operator", false, true},
    {"aot_eager", "forward and backward graphs traced by AOTAutograd, not decomposed", true, true},
    {"aot_eager_decomp_partition",
     "the same, with Inductor's decompositions and its split into forward and backward", false,
     true},
    {"aot_eager_decomp_partition_crossref",
     "the same, each operator's real result checked against its predicted shape and strides", false,
     false},
    {"inductor_fallback", "Inductor with the ATen kernel of every operator: no lowering, no fusion",
     false, false},
    {"inductor", "Inductor: lowering, fusion, generated kernels", true, true},
};

bool Has(const nlohmann::json& description, const char* rung) {
  const auto rungs = description.find("rungs");
  return rungs == description.end() ||
         std::find(rungs->begin(), rungs->end(), rung) != rungs->end();
}

}  // namespace

std::span<const Rung> Ladder() { return kLadder; }

const Rung* FindRung(const std::string& name) {
  for (const Rung& rung : kLadder) {
    if (name == rung.name) return &rung;
  }
  return nullptr;
}

std::vector<std::string> ScreeningRungs() {
  std::vector<std::string> names;
  for (const Rung& rung : kLadder) {
    if (rung.screening) names.emplace_back(rung.name);
  }
  return names;
}

std::vector<std::string> MainRungs(const nlohmann::json& description) {
  std::vector<std::string> names;
  for (const Rung& rung : kLadder) {
    if (rung.on_the_way && Has(description, rung.name)) names.emplace_back(rung.name);
  }
  return names;
}

std::vector<std::string> SideRungs(const nlohmann::json& description) {
  std::vector<std::string> names = {"eager"};
  for (const Rung& rung : kLadder) {
    if (!rung.on_the_way && Has(description, rung.name)) names.emplace_back(rung.name);
  }
  return names;
}

std::vector<std::string> RungsAround(const std::string& rung, const nlohmann::json& description) {
  std::vector<std::string> names = {"eager"};
  std::string below;
  for (const Rung& row : kLadder) {
    if (rung == row.name) break;
    if (row.on_the_way && Has(description, row.name)) below = row.name;
  }
  if (!below.empty() && below != "eager") names.push_back(below);
  if (rung != "eager") names.push_back(rung);
  return names;
}

}  // namespace gradfuzz::isolate
