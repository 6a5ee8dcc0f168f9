// SPDX-License-Identifier: BSD-3-Clause
// Calls the program plainly: no regions, no second call, default options.
//
//   dynamic=True, backward="accumulate" -> the plain call
#include "all.h"
#include "gradfuzz/program/edit.h"

namespace gradfuzz::reduce {
namespace {

using program::CallPlan;
using program::Program;

void PlainCall(Program* program) {
  program::DropSecondCall(program);
  program->call = CallPlan();
}

struct Simplification {
  const char* change;
  void (*apply)(Program* program);
};
constexpr Simplification kSimplifications[] = {
    {"plain call", &PlainCall},
    {"no second call", &program::DropSecondCall},
    {"same sizes in the second call",
     [](Program* p) {
       if (p->call.second_leaves.empty()) return;
       p->call.second_storages = p->storages;
       p->call.second_leaves = p->leaves;
     }},
    {"default dynamic", [](Program* p) { p->call.dynamic = CallPlan::Dynamic::kDefault; }},
    {"plain backward", [](Program* p) { p->call.backward = CallPlan::Backward::kGrad; }},
    {"no autocast", [](Program* p) { p->call.autocast = false; }},
    {"no call under no_grad", [](Program* p) { p->call.no_grad_first = false; }},
    {"default config", [](Program* p) { p->call.config.clear(); }},
};

// Each float that is a parameter as a literal.
void FloatsAsLiterals(const Program& program, std::vector<Candidate>* out) {
  const size_t count = program::Floats(program).size();
  for (size_t i = 0; i < count; ++i) {
    Program simpler = program;
    size_t next = 0;
    for (program::Statement& statement : simpler.statements) {
      program::ForEachArg(statement, [&](program::Arg& arg) {
        if (arg.second && next++ == i) arg.second.reset();
      });
    }
    out->push_back({std::move(simpler), "f" + std::to_string(i) + " as a literal"});
  }
}

}  // namespace

std::vector<Candidate> Call(const Program& program, const Facts&) {
  std::vector<Candidate> out;
  if (!program.regions.empty()) {
    Program plain = program;
    plain.regions.clear();
    PlainCall(&plain);
    out.push_back({std::move(plain), "plain call, no regions"});
  }
  for (const Simplification& simplification : kSimplifications) {
    Program simpler = program;
    simplification.apply(&simpler);
    if (!(simpler == program)) {
      out.push_back({std::move(simpler), simplification.change});
    }
  }
  FloatsAsLiterals(program, &out);
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
