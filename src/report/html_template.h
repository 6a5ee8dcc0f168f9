// SPDX-License-Identifier: BSD-3-Clause
// The parts of report.html that no run changes.
#pragma once

namespace gradfuzz::report {

extern const char* const kHtmlStyle;
extern const char* const kHtmlScript;

}  // namespace gradfuzz::report
