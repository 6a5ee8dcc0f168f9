// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz reduce FILE`: from a wrong program to a finding's folder.
#include <unistd.h>

#include "gradfuzz/campaign/campaign.h"
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::cli {

int RunReduce(int argc, char** argv) {
  CLI::App app{
      "Makes a wrong program as small as it gets; exit 1 when it is wrong, 0 when it is not",
      "gradfuzz reduce"};
  PoolFlags pool_flags;
  RunFlags run_flags;
  std::string file, known_bugs;
  std::string out = "gradfuzz-out";
  isolate::InvestigateOptions options;
  AddRunFlags(app, &run_flags);
  AddPoolFlags(app, &pool_flags);
  app.add_option("file", file, "A module (.py), a program or finding (.json), a finding's folder")
      ->required();
  app.add_option("--out", out, "The finding goes to OUT/findings")->capture_default_str();
  app.add_option("--known-bugs", known_bugs, "JSON of known bugs (default: the corpus)");
  app.add_option("--seconds", options.reduction.max_seconds, "Wall budget of the search")
      ->capture_default_str();
  app.add_option("--queries", options.reduction.max_queries, "Query budget of the search")
      ->capture_default_str();
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (!Exists(file)) return Fail(UsageError("there is no file " + file));
  if (Status writable = CheckWritableFolder(out); !writable) return Fail(writable.error());
  auto known = LoadKnownBugs(known_bugs);
  if (!known) return Fail(known.error());
  options.known = &*known;
  auto pool = MakePool(pool_flags);
  if (!pool) return Fail(pool.error());
  auto run = MakeRunOptions(run_flags, (*pool)->description());
  if (!run) return Fail(run.error());
  auto loaded = LoadProgram(file, **pool);
  if (!loaded) return Fail(loaded.error());
  WorkItem item;
  item.program = loaded->program;
  const CaseResult result = (*pool)->Run({item}, {}, *run).front();
  if ((*pool)->Interrupted()) return kExitInterrupted;
  if (Status accepted = CheckAccepted(file, result); !accepted) return Fail(accepted.error());
  std::fputs(report::RenderCase(result, *run, Style(), file).c_str(), stdout);
  if (!campaign::IsMismatch(result)) {
    std::puts("There is nothing to reduce.");
    return kExitClean;
  }
  std::fflush(stdout);
  options.on_progress = [](const std::string& what) {
    if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", what.c_str());
  };
  const auto investigation = isolate::Investigate(**pool, result, *run, options);
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  const Finding& finding = investigation.finding;
  if (finding.reduction.status == "lost" || finding.confirmed < finding.confirmations) {
    std::puts("It did not show every time in fresh processes with empty caches: no finding.");
    return kExitClean;
  }
  const std::string folder = JoinPath(JoinPath(out, "findings"), finding.id);
  if (Status made = report::WriteFindingFolder(folder, finding); !made.ok())
    return Fail(made.error());
  std::fputs(report::RenderFinding(finding, Style(), folder).c_str(), stdout);
  return (*pool)->Interrupted() ? kExitInterrupted : kExitFindings;
}

}  // namespace gradfuzz::cli
