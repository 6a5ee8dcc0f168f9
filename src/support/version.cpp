// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/version.h"

namespace gradfuzz {

const char* Version() { return GRADFUZZ_VERSION; }

}  // namespace gradfuzz
