// SPDX-License-Identifier: BSD-3-Clause
// The files of a finding and of a run.
#pragma once

#include <string>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/report/summary.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz::report {

// Writes `folder` (OUT/findings/<id>) with repro.py, report.md, program.json (the reduced program),
// finding.json (all of it) and environment.json. The folder appears whole or not at all; one that
// is there is replaced as a whole.
Status WriteFindingFolder(const std::string& folder, const Finding& finding);

// Writes report.html, junit.xml and summary.md into `folder` (OUT), each whole or not at all.
Status WriteRunReports(const RunSummary& summary, const std::string& folder);

}  // namespace gradfuzz::report
