// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>

#include "gradfuzz/cli/command.h"

int main(int argc, char** argv) {
  try {
    return gradfuzz::cli::Main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gradfuzz: internal error: %s\n", e.what());
    return gradfuzz::cli::kExitInternal;
  }
}
