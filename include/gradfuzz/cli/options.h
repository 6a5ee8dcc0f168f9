// SPDX-License-Identifier: BSD-3-Clause
// What the commands share: options of the same name and meaning, the worker pool, output.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/campaign/pool.h"
#include "gradfuzz/isolate/investigate.h"
#include "gradfuzz/isolate/known_bugs.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/report/terminal.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::cli {

// --worker, --workers, --deadline: how programs are run.
struct PoolFlags {
  std::string worker;
  int workers = 0;      // 0 = one per core
  double deadline = 0;  // seconds per program, 0 = the default
  int batch = 8;
  // Without options of their own: for foreign code (triage).
  double ask_deadline = 0;   // seconds per question, 0 = the default
  int64_t memory_limit = 0;  // bytes of a worker, 0 = none
};
void AddPoolFlags(CLI::App& app, PoolFlags* flags);
Result<std::unique_ptr<campaign::WorkerPool>> MakePool(
    const PoolFlags& flags, std::function<void(const campaign::PoolEvent&)> on_event = nullptr);

// --device, --rungs, --draws, --knob: what is run.
struct RunFlags {
  std::string device = "cpu";
  std::vector<std::string> rungs;
  int draws = RunOptions{}.draws;
  std::vector<std::string> knobs;  // "inductor.cpp.simdlen=1"
  std::string fault;
};
void AddRunFlags(CLI::App& app, RunFlags* flags);
// RETURNS: a UsageError for an unknown device, rung or knob value; an EnvironmentError for a device
// that this machine or torch does not have. `description`: a worker's answer.
Result<RunOptions> MakeRunOptions(const RunFlags& flags, const nlohmann::json& description);
// "all" is every device of the description.
Result<std::vector<std::string>> Devices(const std::string& device,
                                         const nlohmann::json& description);

// --known-bugs: defaults to the corpus; an absent default is no known bugs.
Result<isolate::KnownBugs> LoadKnownBugs(const std::string& path);

// Checks of option values; their message names the value and what would do. CLI11's own ones state
// the limits of double.
CLI::Validator WholeNumber(uint64_t least);
CLI::Validator PositiveNumber();

// Parses argv. RETURNS: the exit code when the command is over (help, bad usage).
std::optional<int> Parse(CLI::App& app, int argc, char** argv);

// Prints "gradfuzz: <message>" on stderr. RETURNS: the exit code of its kind.
int Fail(const Error& error);

report::TerminalStyle Style();  // of stdout; looks at NO_COLOR, TERM and the terminal's width

// "90", "90s", "15m", "2h", "1h30m" in seconds.
Result<double> ParseDuration(const std::string& text);

// A UsageError when eager rejects the program of `result`, which then is no program for this torch.
Status CheckAccepted(const std::string& name, const CaseResult& result);

// A program of a file: a module (.py, through the worker), a program or a finding (.json), a
// finding's folder.
struct LoadedProgram {
  std::string name;  // as the user typed it
  program::Program program;
  nlohmann::json header;  // of a module; else an object without keys
};
Result<LoadedProgram> LoadProgram(const std::string& path, ProgramRunner& runner);

}  // namespace gradfuzz::cli
