// SPDX-License-Identifier: BSD-3-Clause
// One bug, one text: what is left of an error message when everything that differs from program to
// program, run to run and machine to machine is taken out.
#pragma once

#include <string>

namespace gradfuzz::isolate {

// One line: the innermost exception's type and the normalised head of its message. Empty for an
// empty text. A pure function.
std::string ErrorKey(const std::string& error);

}  // namespace gradfuzz::isolate
