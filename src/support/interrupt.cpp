// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace gradfuzz {
namespace {

// A signal handler has no other way to speak to the program.
std::atomic<int> g_requests{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int) {
  if (g_requests.fetch_add(1) >= 1) _exit(kExitInterrupted);
}

}  // namespace

void InstallInterruptHandler() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool InterruptRequested() { return g_requests.load(std::memory_order_relaxed) > 0; }

}  // namespace gradfuzz
