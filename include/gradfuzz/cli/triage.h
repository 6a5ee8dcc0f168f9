// SPDX-License-Identifier: BSD-3-Clause
// `gradfuzz triage SCRIPT`.
#pragma once

#include <string>
#include <vector>

#include "gradfuzz/support/result.h"

namespace CLI {
class App;
}

namespace gradfuzz::cli {

struct TriageArguments {
  std::string script;                // a path, or "-"
  std::vector<std::string> pythons;  // the first one triages, the others get a row each
  std::string device = "cpu";
  std::string out;  // folder for repro.py, report.md, triage.json; empty = none
  bool json = false;
  bool show_log = false;  // what the script printed, on stderr
  bool no_reduce = false;
  bool bisect = false;
  int workers = 2;
  double deadline = 120;       // seconds for one run of the script
  double reduce_seconds = 30;  // for the reduction
  double memory_gib = 8;       // of one worker
};

// Adds the options of the command to `app`, which is the subcommand.
void AddTriageOptions(CLI::App* app, TriageArguments* arguments);

// RETURNS: the exit code: 0 not a bug, 1 a bug, 2 usage, 3 environment, 4 could not tell, 130
// interrupted.
int RunTriage(const TriageArguments& arguments);

// The worker that was built for `python`: in our own build folder or one beside it.
// RETURNS: an EnvironmentError that says how to build it.
Result<std::string> WorkerFor(const std::string& python, const std::string& program_folder);

}  // namespace gradfuzz::cli
