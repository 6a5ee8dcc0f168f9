// SPDX-License-Identifier: BSD-3-Clause
// Programs a minute over the time of a run, with a mark where each finding came: inline SVG.
#pragma once

#include <string>
#include <vector>

#include "gradfuzz/report/summary.h"

namespace gradfuzz::report {

// Empty when there are fewer than two samples that differ in time.
std::string RenderRateChart(const std::vector<RateSample>& samples);

}  // namespace gradfuzz::report
