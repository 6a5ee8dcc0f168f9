// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz doctor`: what the workers find on this machine.
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/isolate/investigate.h"

namespace gradfuzz::cli {

int RunDoctor(int argc, char** argv) {
  CLI::App app{"Describes the environment, and says what is missing", "gradfuzz doctor"};
  PoolFlags pool_flags;
  bool json = false;
  AddPoolFlags(app, &pool_flags);
  app.add_flag("--json", json, "Print as JSON");
  if (const auto code = Parse(app, argc, argv)) return *code;
  auto pool = MakePool(pool_flags);
  if (!pool) return Fail(pool.error());
  const nlohmann::json facts = isolate::DescribeWithKnobs(**pool);
  if (json) {
    std::puts(facts.dump(2).c_str());
    return kExitClean;
  }
  for (const char* key : {"torch", "python", "executable", "triton", "devices", "gpu", "cuda",
                          "cpu", "cpu_capability", "cxx", "os", "rungs"}) {
    if (!facts.contains(key) || facts.at(key).is_null()) continue;
    const auto& value = facts.at(key);
    std::printf("%-16s %s\n", key,
                value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
  if (facts.value("cxx", "").empty()) {
    std::puts("missing          a C++ compiler: Inductor cannot compile for the CPU");
    return kExitEnvironment;
  }
  std::puts("Everything that gradfuzz needs is there.");
  return kExitClean;
}

}  // namespace gradfuzz::cli
