// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz ops`: the catalogue of operators.
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"

namespace gradfuzz::cli {

int RunOps(int argc, char** argv) {
  CLI::App app{"Lists the operators that programs are made of", "gradfuzz ops"};
  PoolFlags pool_flags;
  bool json = false;
  AddPoolFlags(app, &pool_flags);
  app.add_flag("--json", json, "Print as JSON");
  if (const auto code = Parse(app, argc, argv)) return *code;
  auto pool = MakePool(pool_flags);
  if (!pool) return Fail(pool.error());
  auto answer = (*pool)->Ask({{"type", "ops"}});
  if (!answer) return Fail(answer.error());
  const auto& rows = answer->at("ops");
  if (json) {
    std::puts(rows.dump(2).c_str());
    return kExitClean;
  }
  std::printf("%-36s %-12s %-6s %-9s %s\n", "operator", "family", "lane", "gradient", "weight");
  for (const auto& row : rows) {
    std::printf(
        "%-36s %-12s %-6s %-9s %g\n", row.at("name").get<std::string>().c_str(),
        row.at("family").get<std::string>().c_str(), row.at("exact").get<bool>() ? "exact" : "real",
        row.at("differentiable").get<bool>() ? "yes" : "no", row.at("weight").get<double>());
  }
  std::printf("%zu operators\n", rows.size());
  return kExitClean;
}

}  // namespace gradfuzz::cli
