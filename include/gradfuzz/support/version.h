// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace gradfuzz {

// "0.1.0". Within one version a seed means one program.
const char* Version();

}  // namespace gradfuzz
