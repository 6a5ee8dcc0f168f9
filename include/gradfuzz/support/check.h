// SPDX-License-Identifier: BSD-3-Clause
// GF_CHECK: aborts with a message when an invariant of gradfuzz itself is broken.
// NEVER reachable by user input: that is what Result is for.
#pragma once

#include <cstdio>
#include <cstdlib>

#define GF_CHECK(condition, message)                                                           \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "gradfuzz: internal error at %s:%d: %s (%s)\n", __FILE__, __LINE__, \
                   message, #condition);                                                       \
      std::abort();                                                                            \
    }                                                                                          \
  } while (false)
