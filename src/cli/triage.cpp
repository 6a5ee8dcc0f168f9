// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/cli/triage.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "gradfuzz/campaign/pool.h"
#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/isolate/known_bugs.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"
#include "gradfuzz/support/paths.h"
#include "gradfuzz/triage/page.h"
#include "gradfuzz/triage/triage.h"

namespace gradfuzz::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A file's folder followed to its end, its name kept: an environment's python is a link to the
// system's, and tells its environment by where the link is.
std::string Canonical(const std::string& path) {
  std::error_code failure;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path, failure).parent_path(), failure);
  return (folder / fs::path(path).filename()).string();
}

// The value of an entry in a build folder's CMakeCache.txt.
std::string CacheEntry(const fs::path& build, const std::string& name) {
  std::ifstream file(build / "CMakeCache.txt");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name + ":")) continue;
    const size_t at = line.find('=');
    return at == std::string::npos ? "" : line.substr(at + 1);
  }
  return "";
}

std::string NameWithoutVersion(const std::string& path) {  // "python3.11" -> "python"
  std::string name = fs::path(path).filename().string();
  while (!name.empty() &&
         (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == '.')) {
    name.pop_back();
  }
  return name;
}

bool SamePython(const std::string& a, const std::string& b) {
  const std::string x = Canonical(a);
  const std::string y = Canonical(b);
  return x == y || (fs::path(x).parent_path() == fs::path(y).parent_path() &&
                    NameWithoutVersion(x) == NameWithoutVersion(y));
}

class Progress {
 public:
  Progress() : live_(isatty(STDERR_FILENO) != 0) {}
  void Say(const std::string& what) const {
    if (live_) {
      std::fprintf(stderr, "\r\x1b[K%s ...", what.c_str());
      std::fflush(stderr);
    } else {
      std::fprintf(stderr, "gradfuzz: %s\n", what.c_str());
    }
  }
  void End() const {
    if (live_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  bool live_;
};

Result<std::unique_ptr<campaign::WorkerPool>> StartPool(const std::string& worker,
                                                        const TriageArguments& arguments) {
  campaign::PoolOptions options;
  options.worker.path = worker;
  options.worker.machine_cache = JoinPath(CacheFolder(), "machine");
  options.worker.ask_deadline = arguments.deadline;
  options.worker.item_deadline = arguments.deadline;
  options.worker.first_item_deadline = 2 * arguments.deadline;
  options.worker.memory_limit = static_cast<int64_t>(arguments.memory_gib * (int64_t{1} << 30));
  options.workers = arguments.workers;
  options.interrupted = InterruptRequested;
  InstallInterruptHandler();
  return campaign::WorkerPool::Create(std::move(options));
}

// A folder with the script in it, which every worker can read; gone at the end.
class ScriptFolder {
 public:
  static Result<ScriptFolder> Make(const std::string& text) {
    auto folder = MakeTempFolder(TempFolder(), "gradfuzz-triage-");
    if (!folder) return folder.error();
    ScriptFolder made(*folder);
    if (Status written = WriteFileAtomic(made.path(), text); !written) return written.error();
    return made;
  }
  ScriptFolder(ScriptFolder&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}
  ScriptFolder& operator=(ScriptFolder&&) = delete;
  ~ScriptFolder() {
    if (!folder_.empty()) RemoveTree(folder_);
  }
  std::string path() const { return JoinPath(folder_, "report.py"); }

 private:
  explicit ScriptFolder(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

Status WriteFiles(const triage::Report& report, const std::string& out) {
  if (Status made = MakeWritableFolder(out); !made) return made;
  if (Status written = WriteJsonFile(JoinPath(out, "triage.json"), triage::ToJson(report));
      !written) {
    return written;
  }
  if (Status written = WriteFileAtomic(JoinPath(out, "triage.txt"), triage::RenderPage(report, {}));
      !written) {
    return written;
  }
  if (!report.investigation) return {};
  return report::WriteFindingFolder(out, report.investigation->finding);
}

}  // namespace

void AddTriageOptions(CLI::App* app, TriageArguments* arguments) {
  app->add_option("script", arguments->script,
                  "Python script, Markdown file whose first Python block is the script, or -")
      ->required();
  app->add_option("--python", arguments->pythons,
                  "Python of the environment to triage with; again for each further torch version");
  app->add_option("--device", arguments->device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--out", arguments->out, "Folder for repro.py, report.md, triage.json");
  app->add_flag("--json", arguments->json, "Print JSON instead of the page");
  app->add_flag("--log", arguments->show_log, "Print what the script printed, on stderr");
  app->add_flag("--no-reduce", arguments->no_reduce, "Do not look for a smaller repro");
  app->add_flag("--bisect", arguments->bisect, "Ask torch's bisector which pass is at fault");
  app->add_option("--workers", arguments->workers, "Processes at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--deadline", arguments->deadline, "Seconds for one run of the script")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--reduce-seconds", arguments->reduce_seconds, "Seconds for the reduction")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--memory", arguments->memory_gib, "GiB that the script may use")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

Result<std::string> WorkerFor(const std::string& python, const std::string& program_folder) {
  const fs::path build = fs::path(program_folder).parent_path();
  std::vector<fs::path> builds = {build};
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(build.parent_path(), failure)) {
    if (entry.path() != build) builds.push_back(entry.path());
  }
  std::sort(builds.begin() + 1, builds.end());
  for (const fs::path& candidate : builds) {
    const fs::path worker = candidate / "bin" / "gradfuzz-worker";
    if (!fs::exists(worker, failure)) continue;
    const std::string built_for = CacheEntry(candidate, "Python_EXECUTABLE");
    if (!built_for.empty() && SamePython(built_for, python)) return worker.string();
  }
  return EnvironmentError("no worker is built for " + python +
                          "; build one with: scripts/setup --python " + python);
}

int RunTriage(const TriageArguments& arguments) {
  auto source = triage::ReadScript(arguments.script);
  if (!source) return Fail(source.error());
  const std::string own = ProgramFolder();
  std::string worker = JoinPath(own, "gradfuzz-worker");
  if (!arguments.pythons.empty()) {
    auto found = WorkerFor(arguments.pythons.front(), own);
    if (!found) return Fail(found.error());
    worker = *found;
  }
  const Progress progress;
  progress.Say("starting");
  auto pool = StartPool(worker, arguments);
  if (!pool) return Fail(pool.error());
  auto devices = Devices(arguments.device, (*pool)->description());
  if (!devices) return Fail(devices.error());
  auto folder = ScriptFolder::Make(source->text);
  if (!folder) return Fail(folder.error());
  const auto known = LoadKnownBugs("");
  if (!known) return Fail(known.error());

  triage::TriageOptions options;
  options.gather.path = folder->path();
  options.gather.device = arguments.device;
  options.gather.on_progress = [&](const std::string& what) { progress.Say(what); };
  options.investigate.reduce = !arguments.no_reduce;
  options.investigate.reduction.max_seconds = arguments.reduce_seconds;
  options.investigate.known = &*known;
  options.bisect = arguments.bisect;
  auto report = triage::Triage(**pool, *source, options);
  if (!report) {
    progress.End();
    return InterruptRequested() ? kExitInterrupted : Fail(report.error());
  }
  pool.value().reset();
  for (size_t i = 1; i < arguments.pythons.size() && !InterruptRequested(); ++i) {
    const std::string& python = arguments.pythons[i];
    progress.Say("trying " + python);
    triage::Version version;
    version.python = python;
    auto other = WorkerFor(python, own);
    auto other_pool = other ? StartPool(*other, arguments)
                            : Result<std::unique_ptr<campaign::WorkerPool>>(other.error());
    if (other_pool) {
      version = triage::TryVersion(**other_pool, python, options.gather);
    } else {
      version.error = other_pool.error().message;
    }
    report->versions.push_back(std::move(version));
  }
  progress.End();

  if (arguments.show_log) std::fputs(report->evidence.capture.log.c_str(), stderr);
  if (!arguments.out.empty()) {
    if (Status written = WriteFiles(*report, arguments.out); !written) return Fail(written.error());
  }
  const std::string text =
      arguments.json
          ? triage::ToJson(*report).dump(2, ' ', false, json::error_handler_t::replace) + "\n"
          : triage::RenderPage(*report, Style(), arguments.out);
  std::fputs(text.c_str(), stdout);
  if (InterruptRequested()) return kExitInterrupted;
  return triage::ExitCode(report->decision);
}

int RunTriage(int argc, char** argv) {
  CLI::App app{
      "Says what is wrong with a script of a bug report; exit 0 not a bug, 1 a bug, 4 could not "
      "tell",
      "gradfuzz triage"};
  TriageArguments arguments;
  AddTriageOptions(&app, &arguments);
  if (const auto code = Parse(app, argc, argv)) return *code;
  return RunTriage(arguments);
}

}  // namespace gradfuzz::cli
