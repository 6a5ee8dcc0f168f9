// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz merge OUT... --into OUT`: the folders of several shards as one.
#include "gradfuzz/store/merge.h"

#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/store/store.h"

namespace gradfuzz::cli {

int RunMerge(int argc, char** argv) {
  CLI::App app{"Unites the folders of several shards; exit 1 when there are new findings",
               "gradfuzz merge"};
  std::vector<std::string> from;
  std::string into;
  app.add_option("from", from, "Campaign folders")->required();
  app.add_option("--into", into, "The new folder")->required();
  if (const auto code = Parse(app, argc, argv)) return *code;
  auto merged = store::Merge(from, into);
  if (!merged) return Fail(merged.error());
  for (const std::string& warning : merged->warnings)
    std::fprintf(stderr, "gradfuzz: %s\n", warning.c_str());
  auto store = store::Store::Read(into);
  if (!store) return Fail(store.error());
  auto summary = (*store)->Summary();
  if (!summary) return Fail(summary.error());
  if (Status written = report::WriteRunReports(*summary, into); !written.ok())
    return Fail(written.error());
  std::fputs(report::RenderTotals(*summary, Style()).c_str(), stdout);
  for (const Finding& finding : summary->findings) {
    if (finding.known_issue.empty()) return kExitFindings;
  }
  return kExitClean;
}

}  // namespace gradfuzz::cli
