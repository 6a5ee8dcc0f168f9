// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz replay FILE...`: programs of files under the ladder; with --expect, against their own
// header: `# expect: <torch version, * for any digits> <device> <rung> <verdict>`.
#include <fnmatch.h>

#include <sstream>

#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"

namespace gradfuzz::cli {
namespace {

struct Expectation {
  std::string torch, device, rung, verdict;
};

Result<std::vector<Expectation>> Expectations(const LoadedProgram& loaded) {
  std::vector<Expectation> found;
  if (!loaded.header.contains("expect")) return found;
  const auto& given = loaded.header.at("expect");
  for (const auto& line : given.is_array() ? given : nlohmann::json::array({given})) {
    std::istringstream words(line.get<std::string>());
    Expectation expectation;
    words >> expectation.torch >> expectation.device >> expectation.rung >> expectation.verdict;
    if (!words || !VerdictFromName(expectation.verdict)) {
      return UsageError(loaded.name + ": '# expect: " + line.get<std::string>() +
                        "' is not TORCH DEVICE RUNG VERDICT");
    }
    found.push_back(std::move(expectation));
  }
  return found;
}

// What the file says of a rung that ran here and that did otherwise; empty when nothing.
std::string Surprise(const std::vector<Expectation>& expectations, const CaseResult& result,
                     const std::string& torch) {
  std::string out;
  const std::string version = torch.substr(0, torch.find('+'));
  for (const RungOutcome& rung : result.outcome.rungs) {
    for (const Expectation& e : expectations) {
      if (e.rung != rung.rung || e.device != rung.device) continue;
      if (fnmatch(e.torch.c_str(), version.c_str(), 0) != 0) continue;
      if (e.verdict == Name(rung.verdict)) continue;
      out += "  expected of " + rung.rung + " on torch " + e.torch + ": " + e.verdict +
             "; it is: " + Name(rung.verdict) + "\n";
    }
  }
  return out;
}

}  // namespace

int RunReplay(int argc, char** argv) {
  CLI::App app{"Runs programs of files under the ladder; exit 1 when one is wrong",
               "gradfuzz replay"};
  PoolFlags pool_flags;
  RunFlags run_flags;
  std::vector<std::string> files;
  bool expect = false;
  bool json = false;
  AddRunFlags(app, &run_flags);
  AddPoolFlags(app, &pool_flags);
  app.add_option("files", files, "Modules (.py), programs or findings (.json), finding folders")
      ->required();
  app.add_flag("--expect", expect, "Exit 1 when reality differs from the files' `# expect:` lines");
  app.add_flag("--json", json, "Print the outcomes as JSON");
  if (const auto code = Parse(app, argc, argv)) return *code;
  // Before a worker is started, which takes a second.
  for (const std::string& file : files) {
    if (!Exists(file)) return Fail(UsageError("there is no file " + file));
  }
  auto pool = MakePool(pool_flags);
  if (!pool) return Fail(pool.error());
  auto run = MakeRunOptions(run_flags, (*pool)->description());
  if (!run) return Fail(run.error());
  auto devices = Devices(run_flags.device, (*pool)->description());
  if (!devices) return Fail(devices.error());
  std::vector<LoadedProgram> programs;
  std::vector<WorkItem> items;
  std::vector<std::vector<Expectation>> expectations;
  for (const std::string& file : files) {
    auto loaded = LoadProgram(file, **pool);
    if (!loaded) return Fail(loaded.error());
    auto expected = Expectations(*loaded);
    if (!expected) return Fail(expected.error());
    WorkItem item;
    item.program = loaded->program;
    items.push_back(std::move(item));
    expectations.push_back(std::move(*expected));
    programs.push_back(std::move(*loaded));
  }
  bool wrong = false;
  bool surprised = false;
  Status accepted;
  nlohmann::json all = nlohmann::json::array();
  const std::string torch = (*pool)->description().value("torch", "");
  for (const std::string& device : *devices) {
    run->device = device;
    const auto results = (*pool)->Run(items, {}, *run);
    if ((*pool)->Interrupted()) return kExitInterrupted;
    if (const auto failure = (*pool)->Failure()) return Fail(*failure);
    for (size_t i = 0; i < results.size(); ++i) {
      if (const Status own = CheckAccepted(programs[i].name, results[i]); !own && !expect) {
        if (accepted.ok()) accepted = own;
        if (!json) continue;
      }
      wrong = wrong || IsFinding(results[i].outcome.verdict);
      const std::string surprise = Surprise(expectations[i], results[i], torch);
      surprised = surprised || !surprise.empty();
      if (json) {
        all.push_back({{"file", programs[i].name},
                       {"device", device},
                       {"surprise", surprise},
                       {"outcome", ToJson(results[i].outcome)}});
        continue;
      }
      std::fputs(report::RenderCase(results[i], *run, Style(), programs[i].name).c_str(), stdout);
      if (expect && !surprise.empty())
        std::printf("%s: not as its header says\n%s", programs[i].name.c_str(), surprise.c_str());
      std::puts("");
    }
  }
  if (json) std::puts(all.dump(2).c_str());
  if (expect) {
    if (!json) std::puts(surprised ? "Reality differs from the files." : "All as the files say.");
    return surprised ? kExitFindings : kExitClean;
  }
  if (!accepted) return Fail(accepted.error());
  return wrong ? kExitFindings : kExitClean;
}

}  // namespace gradfuzz::cli
