// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz report OUT`: the reports of a campaign's folder.
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/store/store.h"

namespace gradfuzz::cli {

int RunReport(int argc, char** argv) {
  CLI::App app{"Writes report.html, junit.xml and summary.md of a campaign's folder",
               "gradfuzz report"};
  std::string folder;
  bool json = false;
  app.add_option("out", folder, "The campaign's folder")->required();
  app.add_flag("--json", json, "Print the summary as JSON, write nothing");
  if (const auto code = Parse(app, argc, argv)) return *code;
  auto store = store::Store::Read(folder);
  if (!store) return Fail(store.error());
  auto summary = (*store)->Summary();
  if (!summary) return Fail(summary.error());
  if (json) {
    std::puts(report::ToJson(*summary).dump(2).c_str());
    return kExitClean;
  }
  if (Status written = report::WriteRunReports(*summary, folder); !written.ok())
    return Fail(written.error());
  std::fputs(report::RenderTotals(*summary, Style()).c_str(), stdout);
  std::printf("Wrote report.html, junit.xml and summary.md into %s\n", folder.c_str());
  return kExitClean;
}

}  // namespace gradfuzz::cli
