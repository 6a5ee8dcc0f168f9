// SPDX-License-Identifier: BSD-3-Clause
// The rungs between eager and Inductor, lowest first, as one table.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace gradfuzz::isolate {

struct Rung {
  const char* name;
  const char* meaning;  // for reports: what runs here, and what it adds to the rung below
  bool screening;       // run on every program
  // On the way from eager to Inductor: of these, the first wrong one names the guilty layer. The
  // others are side branches that tell more of it; they are never blamed.
  bool on_the_way;
};

std::span<const Rung> Ladder();
const Rung* FindRung(const std::string& name);  // nullptr when there is none

std::vector<std::string> ScreeningRungs();
// The rungs that this torch has, by its `describe` answer (all when it does not say).
std::vector<std::string> MainRungs(const nlohmann::json& description);
std::vector<std::string> SideRungs(const nlohmann::json& description);  // eager and the branches

// Enough to hold "right below, wrong here": eager, the nearest rung below, the rung itself.
std::vector<std::string> RungsAround(const std::string& rung, const nlohmann::json& description);

}  // namespace gradfuzz::isolate
