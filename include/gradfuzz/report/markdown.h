// SPDX-License-Identifier: BSD-3-Clause
// report.md of a finding and summary.md of a run.
#pragma once

#include <string>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/report/summary.h"

namespace gradfuzz::report {

// The finding in the order of PyTorch's form "torch.compile Bug Report" (pt2-bug-report.yml):
// title, "Describe the bug" with minimal reproducer and ablation, "Error logs", "Versions". It can
// be pasted as it is.
std::string RenderReport(const Finding& finding);

// The run on one page: for a CI job's summary. Finding folders are linked relative to `OUT`.
std::string RenderSummary(const RunSummary& summary);

}  // namespace gradfuzz::report
