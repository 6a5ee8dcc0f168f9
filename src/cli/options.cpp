// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/cli/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gradfuzz/cli/command.h"
#include "gradfuzz/isolate/ladder.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/interrupt.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::cli {
namespace {

std::string Joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

Status CheckDevice(const std::string& device, const nlohmann::json& description) {
  if (device != "cpu" && device != "cuda") {
    return UsageError("unknown device '" + device + "': cpu, cuda or all");
  }
  const auto devices = description.value("devices", std::vector<std::string>{"cpu"});
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
    return EnvironmentError("torch " + description.value("torch", "") + " sees no device '" +
                            device + "' on this machine");
  }
  return {};
}

Result<std::pair<std::string, nlohmann::json>> ParseKnob(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return UsageError("a knob is NAME=VALUE, as in inductor.cpp.simdlen=1, not '" + text + "'");
  }
  std::string value = text.substr(equals + 1);
  if (value == "True") value = "true";
  if (value == "False") value = "false";
  if (value == "None") value = "null";
  nlohmann::json parsed = nlohmann::json::parse(value, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) parsed = value;  // a bare word is a string
  return std::pair(text.substr(0, equals), parsed);
}

}  // namespace

void AddPoolFlags(CLI::App& app, PoolFlags* flags) {
  app.add_option("--workers", flags->workers, "Worker processes (default: one per core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--worker", flags->worker, "The gradfuzz-worker to use");
  app.add_option("--deadline", flags->deadline, "Seconds allowed per program")
      ->check(PositiveNumber());
}

Result<std::unique_ptr<campaign::WorkerPool>> MakePool(
    const PoolFlags& flags, std::function<void(const campaign::PoolEvent&)> on_event) {
  campaign::PoolOptions options;
  options.worker.path = flags.worker.empty()
                            ? EnvOr("GRADFUZZ_WORKER", JoinPath(ProgramFolder(), "gradfuzz-worker"))
                            : flags.worker;
  if (!Exists(options.worker.path)) {
    return EnvironmentError("there is no worker at " + options.worker.path +
                            ": build it, or name one with --worker");
  }
  // Facts about the machine differ between torch versions; the worker's build folder tells them
  // apart.
  const std::string build =
      std::filesystem::path(options.worker.path).parent_path().parent_path().filename();
  options.worker.machine_cache = EnvOr("GRADFUZZ_MACHINE_CACHE", JoinPath(CacheFolder(), build));
  if (flags.deadline > 0) {
    options.worker.item_deadline = flags.deadline;
    options.worker.first_item_deadline = 2 * flags.deadline;
  }
  if (flags.ask_deadline > 0) options.worker.ask_deadline = flags.ask_deadline;
  options.worker.memory_limit = flags.memory_limit;
  options.workers = flags.workers > 0
                        ? flags.workers
                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.batch = flags.batch;
  options.interrupted = InterruptRequested;
  options.on_event = std::move(on_event);
  InstallInterruptHandler();
  return campaign::WorkerPool::Create(std::move(options));
}

void AddRunFlags(CLI::App& app, RunFlags* flags) {
  app.add_option("--device", flags->device, "cpu, cuda or all")->capture_default_str();
  app.add_option("--rungs", flags->rungs, "Rungs of the ladder, lowest first")->delimiter(',');
  app.add_option("--draws", flags->draws, "Value sets per compiled program")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--knob", flags->knobs, "A torch setting, as in inductor.cpp.simdlen=1");
  app.add_option("--fault", flags->fault, "FILE:NAME of a backend in Inductor's place")
      ->group("");  // for tests
}

Result<RunOptions> MakeRunOptions(const RunFlags& flags, const nlohmann::json& description) {
  RunOptions run;
  run.device = flags.device == "all" ? "cpu" : flags.device;
  if (Status known = CheckDevice(run.device, description); !known.ok()) return known.error();
  run.draws = flags.draws;
  run.fault = flags.fault;
  if (!flags.rungs.empty()) {
    run.rungs = flags.rungs;
    if (run.rungs.front() != "eager") run.rungs.insert(run.rungs.begin(), "eager");
    const auto available = description.value("rungs", std::vector<std::string>{});
    for (const std::string& rung : run.rungs) {
      if (isolate::FindRung(rung) == nullptr) {
        return UsageError("unknown rung '" + rung + "': this torch has " + Joined(available));
      }
      if (std::find(available.begin(), available.end(), rung) == available.end()) {
        return EnvironmentError("torch " + description.value("torch", "") + " has no rung '" +
                                rung + "': it has " + Joined(available));
      }
    }
  }
  for (const std::string& text : flags.knobs) {
    auto knob = ParseKnob(text);
    if (!knob) return knob.error();
    run.knobs.push_back(std::move(*knob));
  }
  return run;
}

Result<std::vector<std::string>> Devices(const std::string& device,
                                         const nlohmann::json& description) {
  if (device == "all") return description.value("devices", std::vector<std::string>{"cpu"});
  if (Status known = CheckDevice(device, description); !known.ok()) return known.error();
  return std::vector<std::string>{device};
}

Result<isolate::KnownBugs> LoadKnownBugs(const std::string& path) {
  if (!path.empty()) return isolate::KnownBugs::Load(path);
  const std::string standard = std::string(GRADFUZZ_SOURCE_DIR) + "/corpus/known_bugs.json";
  if (!Exists(standard)) return isolate::KnownBugs();
  return isolate::KnownBugs::Load(standard);
}

CLI::Validator WholeNumber(uint64_t least) {
  return CLI::Validator(
      [least](std::string& text) -> std::string {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
        char* end = nullptr;
        errno = 0;
        const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
        if (digits && errno == 0 && value >= least && value <= INT64_MAX) return "";
        return "'" + text + "' is no whole number from " + std::to_string(least) + " to " +
               std::to_string(INT64_MAX);
      },
      "");
}

CLI::Validator PositiveNumber() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (!text.empty() && *end == '\0' && value > 0 && std::isfinite(value)) return "";
        return "'" + text + "' is no number above 0";
      },
      "");
}

Status CheckAccepted(const std::string& name, const CaseResult& result) {
  if (result.outcome.verdict != Verdict::kInvalid) return {};
  return UsageError(name + ": " + result.outcome.note.substr(0, result.outcome.note.find('\n')));
}

std::optional<int> Parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return Fail(UsageError(std::string(e.what()) + " (gradfuzz " + argv[0] + " --help)"));
  }
  return std::nullopt;
}

int Fail(const Error& error) {
  std::fprintf(stderr, "gradfuzz: %s\n", error.message.c_str());
  switch (error.kind) {
    case ErrorKind::kUsage:
      return kExitUsage;
    case ErrorKind::kEnvironment:
      return InterruptRequested() ? kExitInterrupted : kExitEnvironment;
    case ErrorKind::kInternal:
      break;
  }
  return InterruptRequested() ? kExitInterrupted : kExitInternal;
}

report::TerminalStyle Style() {
  report::TerminalStyle style;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  style.color = terminal && EnvOr("NO_COLOR", "").empty() && EnvOr("TERM", "") != "dumb";
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) {
    style.width = std::min<int>(size.ws_col, 140);
  }
  return style;
}

Result<double> ParseDuration(const std::string& text) {
  if (const auto seconds = gradfuzz::ParseDuration(text)) return *seconds;
  return UsageError("'" + text + "' is no duration: 90s, 15m, 2h or 1h30m");
}

Result<LoadedProgram> LoadProgram(const std::string& path, ProgramRunner& runner) {
  std::string file = path;
  if (std::filesystem::is_directory(path)) file = JoinPath(path, "finding.json");
  LoadedProgram loaded{path, {}, nlohmann::json::object()};
  if (file.ends_with(".json")) {
    auto json = ReadJsonFile(file);
    if (!json) return json.error();
    const bool is_finding = json->is_object() && json->contains("reduced");
    auto program = program::FromJson(is_finding ? json->at("reduced") : *json);
    if (!program) return UsageError(path + ": " + program.error().message);
    loaded.program = std::move(*program);
    return loaded;
  }
  auto text = ReadFile(file);
  if (!text) return text.error();
  auto answer = runner.Ask({{"type", "parse"}, {"path", path}, {"text", *text}});
  if (!answer) return answer.error();
  auto program = program::FromJson(answer->at("program"));
  if (!program) return UsageError(path + ": " + program.error().message);
  loaded.program = std::move(*program);
  loaded.header = answer->at("header");
  return loaded;
}

}  // namespace gradfuzz::cli
