// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz ops`: the operators that programs are made of, and how far a campaign came through
// them.
#include <set>

#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/store/store.h"

namespace gradfuzz::cli {
namespace {

using nlohmann::json;

void PrintOperators(const json& rows) {
  std::printf("%-44s %-12s %-6s %-9s %s\n", "operator", "family", "lane", "gradient", "weight");
  for (const json& row : rows) {
    std::printf(
        "%-44s %-12s %-6s %-9s %g\n", row.at("name").get<std::string>().c_str(),
        row.at("family").get<std::string>().c_str(), row.at("exact").get<bool>() ? "exact" : "real",
        row.at("differentiable").get<bool>() ? "yes" : "no", row.at("weight").get<double>());
  }
  std::printf("%zu operators\n", rows.size());
}

// Names of op_db with the reason why the campaign in `folder` never compared their gradient under
// Inductor: {"total": n, "covered": [names], "missing": [{"name", "left_out"}]}.
Result<json> Coverage(const json& database, const std::string& folder) {
  auto store = store::Store::Read(folder);
  if (!store) return store.error();
  auto summary = (*store)->Summary();
  if (!summary) return summary.error();
  std::set<std::string> done;
  for (const report::Yield& yield : summary->yields) {
    if (yield.axis == "op_gradient" && yield.programs > 0) done.insert(yield.name);
  }
  json covered = json::array(), missing = json::array();
  for (const json& entry : database) {
    bool found = false;
    for (const json& path : entry.at("paths")) found |= done.count(path.get<std::string>()) != 0;
    if (found) {
      covered.push_back(entry.at("name"));
    } else {
      missing.push_back({{"name", entry.at("name")}, {"left_out", entry.at("left_out")}});
    }
  }
  return json{{"total", database.size()}, {"covered", covered}, {"missing", missing}};
}

void PrintCoverage(const json& coverage) {
  const size_t total = coverage.at("total").get<size_t>();
  const size_t covered = coverage.at("covered").size();
  for (const json& row : coverage.at("missing")) {
    const std::string reason = row.at("left_out").get<std::string>();
    std::printf("%-44s %s\n", row.at("name").get<std::string>().c_str(),
                reason.empty() ? "not yet" : ("left out: " + reason).c_str());
  }
  std::printf(
      "%zu of %zu operators of torch's op_db with float32 and autograd had a gradient compared "
      "under "
      "inductor: %.1f %%\n",
      covered, total,
      total == 0 ? 0.0 : 100.0 * static_cast<double>(covered) / static_cast<double>(total));
}

}  // namespace

int RunOps(int argc, char** argv) {
  CLI::App app{"Lists the operators that programs are made of", "gradfuzz ops"};
  PoolFlags pool_flags;
  bool as_json = false;
  std::string folder;
  AddPoolFlags(app, &pool_flags);
  app.add_flag("--json", as_json, "Print as JSON");
  app.add_option("--coverage", folder,
                 "Instead, the operators of torch's op_db that the campaign in this folder missed");
  if (const auto code = Parse(app, argc, argv)) return *code;
  auto pool = MakePool(pool_flags);
  if (!pool) return Fail(pool.error());
  auto answer = (*pool)->Ask({{"type", "ops"}});
  if (!answer) return Fail(answer.error());
  if (!folder.empty()) {
    auto coverage = Coverage(answer->value("database", json::array()), folder);
    if (!coverage) return Fail(coverage.error());
    as_json ? static_cast<void>(std::puts(coverage->dump(2).c_str())) : PrintCoverage(*coverage);
    return kExitClean;
  }
  const json& rows = answer->at("ops");
  as_json ? static_cast<void>(std::puts(rows.dump(2).c_str())) : PrintOperators(rows);
  return kExitClean;
}

}  // namespace gradfuzz::cli
