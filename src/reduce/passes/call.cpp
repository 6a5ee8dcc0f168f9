// SPDX-License-Identifier: BSD-3-Clause
// Calls the program plainly: no regions, no second call, default options.
//
//   dynamic=True, backward="accumulate" -> the plain call
#include "all.h"

namespace gradfuzz::reduce {
namespace {

using program::CallPlan;
using program::Program;

struct Simplification {
  const char* change;
  void (*apply)(CallPlan* call);
};
constexpr Simplification kSimplifications[] = {
    {"plain call", [](CallPlan* call) { *call = CallPlan(); }},
    {"no second call",
     [](CallPlan* call) {
       call->second_storages.clear();
       call->second_leaves.clear();
     }},
    {"default dynamic", [](CallPlan* call) { call->dynamic = CallPlan::Dynamic::kDefault; }},
    {"plain backward", [](CallPlan* call) { call->backward = CallPlan::Backward::kGrad; }},
    {"no autocast", [](CallPlan* call) { call->autocast = false; }},
    {"no call under no_grad", [](CallPlan* call) { call->no_grad_first = false; }},
    {"default config", [](CallPlan* call) { call->config.clear(); }},
};

}  // namespace

std::vector<Candidate> Call(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  if (!program.regions.empty()) {
    Program plain = program;
    plain.regions.clear();
    plain.call = CallPlan();
    out.push_back({std::move(plain), "plain call, no regions"});
  }
  for (const Simplification& simplification : kSimplifications) {
    Program simpler = program;
    simplification.apply(&simpler.call);
    if (!(simpler.call == program.call)) {
      out.push_back({std::move(simpler), simplification.change});
    }
  }
  for (const auto& [name, value] : program.call.config) {
    Program simpler = program;
    simpler.call.config.erase(name);
    if (!simpler.call.config.empty()) out.push_back({std::move(simpler), "default " + name});
  }
  for (size_t i = 0; i < program.regions.size(); ++i) {
    Program simpler = program;
    simpler.regions.erase(simpler.regions.begin() + static_cast<std::ptrdiff_t>(i));
    out.push_back({std::move(simpler), "drop region " + std::to_string(i)});
  }
  return out;
}

}  // namespace gradfuzz::reduce
