// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz triage SCRIPT`: which layer is wrong, since when, why, and what to do about it.
#include "gradfuzz/triage/triage.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "gradfuzz/cli/command.h"
#include "gradfuzz/cli/environments.h"
#include "gradfuzz/cli/options.h"
#include "gradfuzz/report/finding_folder.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"
#include "gradfuzz/support/paths.h"
#include "gradfuzz/triage/page.h"

namespace gradfuzz::cli {
namespace {

class Progress {
 public:
  void Say(const std::string& what) const {
    if (live_) {
      std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
    } else {
      std::fprintf(stderr, "gradfuzz: %s\n", what.c_str());
    }
  }
  void End() const {
    if (live_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool live_ = isatty(STDERR_FILENO) != 0;
};

// A folder with the script in it that every worker can read; gone at the end.
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

// The finding's files, where there is a finding, and the page.
Status WriteFiles(const triage::Report& report, const std::string& out) {
  if (report.investigation) {
    Status written = report::WriteFindingFolder(out, report.investigation->finding);
    if (!written) return written;
  }
  if (Status made = MakeWritableFolder(out); !made) return made;
  Status written = WriteJsonFile(JoinPath(out, "triage.json"), triage::ToJson(report));
  if (!written) return written;
  return WriteFileAtomic(JoinPath(out, "triage.txt"), triage::RenderPage(report, {}));
}

triage::Version TryPython(const std::string& python, PoolFlags flags,
                          const triage::GatherOptions& gather) {
  triage::Version version;
  version.python = python;
  auto worker = WorkerFor(python, ProgramFolder());
  if (!worker) {
    version.error = worker.error().message;
    return version;
  }
  flags.worker = *worker;
  auto pool = MakePool(flags);
  if (!pool) {
    version.error = pool.error().message;
    return version;
  }
  return triage::TryVersion(**pool, python, gather);
}

}  // namespace

int RunTriage(int argc, char** argv) {
  CLI::App app{
      "Says what is wrong with a script that calls torch.compile.\n"
      "Exit codes: 0 not a bug, 1 a bug, 2 usage, 3 environment, 4 could not tell.\n"
      "The script runs in a worker with a deadline, a memory limit and no input. That is no "
      "sandbox:"
      "\nit can do whatever you can.",
      "gradfuzz triage"};
  PoolFlags pool_flags;
  std::string script, known_bugs, out;
  std::string device = "cpu";
  std::vector<std::string> pythons;
  double memory_gib = 8;
  bool json = false;
  bool log = false;
  bool no_reduce = false;
  triage::TriageOptions options;
  options.investigate.reduction.max_seconds = 30;
  options.investigate.reduction.min_queries = 96;
  options.investigate.neighbours = 24;
  AddPoolFlags(app, &pool_flags);
  app.add_option("script", script,
                 "A Python script, a Markdown file whose first Python block is the script, or -")
      ->required();
  app.add_option("--python", pythons,
                 "The environment to triage with; again: another one to compare with");
  app.add_option("--device", device, "cpu or cuda")->capture_default_str();
  app.add_option("--out", out, "Folder for repro.py, report.md, triage.txt and triage.json");
  app.add_option("--known-bugs", known_bugs, "JSON of known bugs (default: the corpus)");
  app.add_option("--seconds", options.investigate.reduction.max_seconds,
                 "Wall budget of the reduction")
      ->capture_default_str();
  app.add_option("--memory", memory_gib, "GiB that the script may use")
      ->check(PositiveNumber())
      ->capture_default_str();
  app.add_flag("--verdict-only", options.verdict_only,
               "Only say what is wrong and since which rung: much faster");
  app.add_flag("--no-reduce", no_reduce, "Do not look for a smaller repro");
  app.add_flag("--bisect", options.bisect, "Ask torch's bisector which pass is at fault");
  app.add_flag("--json", json, "Print JSON instead of the page");
  app.add_flag("--log", log, "Show what the script printed, on stderr");
  if (const auto code = Parse(app, argc, argv)) return *code;

  auto source = triage::ReadScript(script);
  if (!source) return Fail(source.error());
  auto known = LoadKnownBugs(known_bugs);
  if (!known) return Fail(known.error());
  if (pool_flags.deadline <= 0) pool_flags.deadline = 120;
  pool_flags.ask_deadline = pool_flags.deadline;
  pool_flags.memory_limit = static_cast<int64_t>(memory_gib * 1024) << 20;
  if (!pythons.empty()) {
    auto worker = WorkerFor(pythons.front(), ProgramFolder());
    if (!worker) return Fail(worker.error());
    pool_flags.worker = *worker;
  }
  auto folder = ScriptFolder::Make(source->text);
  if (!folder) return Fail(folder.error());
  const Progress progress;
  progress.Say("starting");
  auto pool = MakePool(pool_flags);
  if (!pool) {
    progress.End();
    return Fail(pool.error());
  }
  if (auto devices = Devices(device, (*pool)->description()); !devices || devices->size() != 1) {
    progress.End();
    return devices ? Fail(UsageError("triage takes one device")) : Fail(devices.error());
  }
  options.gather.path = folder->path();
  options.gather.device = device;
  options.gather.on_progress = [&](const std::string& what) { progress.Say(what); };
  options.investigate.reduce = !no_reduce;
  options.investigate.known = &*known;
  auto report = triage::Triage(**pool, *source, options);
  pool.value().reset();
  for (size_t i = 1; report && i < pythons.size() && !InterruptRequested(); ++i) {
    progress.Say("trying " + pythons[i]);
    report->versions.push_back(TryPython(pythons[i], pool_flags, options.gather));
  }
  progress.End();
  if (InterruptRequested()) return kExitInterrupted;
  if (!report) return Fail(report.error());

  if (log) std::fputs(report->evidence.capture.log.c_str(), stderr);
  if (!out.empty()) {
    if (Status written = WriteFiles(*report, out); !written) return Fail(written.error());
  }
  const std::string text =
      json ? triage::ToJson(*report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                 "\n"
           : triage::RenderPage(*report, Style(), out);
  std::fputs(text.c_str(), stdout);
  return triage::ExitCode(report->decision);
}

}  // namespace gradfuzz::cli
