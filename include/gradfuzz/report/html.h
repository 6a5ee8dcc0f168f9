// SPDX-License-Identifier: BSD-3-Clause
// report.html: a run on one page, in one file.
//
//  1. No network: style, script and pictures are inline, and a content security policy forbids the
//     rest. Readable without the script, which only filters, copies and moves the focus.
//  2. Every foreign text is escaped; none stands inside a script or an event handler.
//  3. New findings first; the first one is open: what is wrong, a script to run, the workaround.
#pragma once

#include <string>

#include "gradfuzz/report/summary.h"

namespace gradfuzz::report {

std::string RenderHtml(const RunSummary& summary);

}  // namespace gradfuzz::report
