// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/cli/command.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "gradfuzz/support/version.h"

namespace gradfuzz::cli {
namespace {

constexpr Command kCommands[] = {
    {"fuzz", "Generate programs and compare eager, aot_eager and Inductor (the default)", RunFuzz},
    {"replay", "Run programs of files under the ladder", RunReplay},
    {"reduce", "Make a wrong program of a file as small as it gets, and say what triggers it",
     RunReduce},
    {"triage", "Say what is wrong with a script of a bug report", RunTriage},
    {"report", "Write the reports of a campaign's folder anew", RunReport},
    {"merge", "Unite the folders of several shards", RunMerge},
    {"ops", "List the operators that programs are made of", RunOps},
    {"doctor", "Describe the environment, and say what is missing", RunDoctor},
};

int Help() {
  std::printf(
      "gradfuzz %s: a differential gradient-correctness fuzzer for torch.compile\n\n"
      "  gradfuzz --device cpu --seed 7      one program, and all that is to be said of it\n"
      "  gradfuzz --duration 2h --out DIR    a campaign; findings in DIR\n\nCommands:\n",
      Version());
  for (const Command& command : kCommands)
    std::printf("  %-8s %s\n", command.name, command.summary);
  std::printf(
      "\n`gradfuzz COMMAND --help` lists a command's options.\n"
      "Exit codes: 0 clean, 1 findings, 2 usage, 3 environment, 130 interrupted.\n");
  return kExitClean;
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int Main(int argc, char** argv) {
  // A limit on file sizes is then an error of the write, which is said in a sentence.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h" || first == "help") return Help();
  if (first == "--version") {
    std::printf("gradfuzz %s\n", Version());
    return kExitClean;
  }
  for (const Command& command : kCommands) {
    if (first == command.name) return command.run(argc - 1, argv + 1);
  }
  if (!first.empty() && first[0] != '-') {
    std::fprintf(stderr, "gradfuzz: there is no command '%s' (gradfuzz --help)\n", first.c_str());
    return kExitUsage;
  }
  std::vector<char*> arguments(argv, argv + argc);
  static char kFuzz[] = "fuzz";
  arguments[0] = kFuzz;
  arguments.push_back(nullptr);
  return RunFuzz(argc, arguments.data());
}

}  // namespace gradfuzz::cli
