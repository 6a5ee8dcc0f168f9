// SPDX-License-Identifier: BSD-3-Clause
// The commands of gradfuzz: one file each, one row each in command.cpp.
#pragma once

#include <span>

namespace gradfuzz::cli {

// Exit codes of every command; a command may add to them in its own help.
inline constexpr int kExitClean = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitInternal = 70;

struct Command {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);  // argv[0] is the command's name
};
std::span<const Command> Commands();

int RunFuzz(int argc, char** argv);
int RunReplay(int argc, char** argv);
int RunReduce(int argc, char** argv);
int RunTriage(int argc, char** argv);
int RunReport(int argc, char** argv);
int RunMerge(int argc, char** argv);
int RunOps(int argc, char** argv);
int RunDoctor(int argc, char** argv);

// The whole program. `gradfuzz` without the name of a command is `gradfuzz fuzz`.
int Main(int argc, char** argv);

}  // namespace gradfuzz::cli
