// SPDX-License-Identifier: BSD-3-Clause
// junit.xml: the run as a CI's test report understands it.
//
// One test case for the campaign itself; one per finding, named by its id and title, so that the
// same bug has the same name every night: new = failure, known = skipped with the link; one,
// passed, per known bug that no longer reproduces.
#pragma once

#include <string>

#include "gradfuzz/report/summary.h"

namespace gradfuzz::report {

std::string RenderJunit(const RunSummary& summary);

}  // namespace gradfuzz::report
