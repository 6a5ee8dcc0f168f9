// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C: the first SIGINT or SIGTERM asks the program to stop, the second ends it at once.
#pragma once

namespace gradfuzz {

inline constexpr int kExitInterrupted = 130;

// Call once, before threads start. The second signal leaves with _exit(kExitInterrupted); workers
// die with us (support/guardian.h).
void InstallInterruptHandler();

// True once the user asked to stop.
bool InterruptRequested();

}  // namespace gradfuzz
