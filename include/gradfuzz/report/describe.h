// SPDX-License-Identifier: BSD-3-Clause
// What a finding or an outcome is, in words. Terminal, Markdown, HTML and JUnit say the same thing
// because they all ask here.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::report {

// The rung that the outcome blames, null when none is wrong.
const RungOutcome* FirstWrong(const Outcome& outcome);
// The comparisons of a rung that are findings, the gravest and most wrong first.
std::vector<const Comparison*> WrongComparisons(const RungOutcome& rung);

// "grad x0" -> "gradient of x0"; "out1" -> "output 1"; "input x2" -> "x2 after the call".
std::string QuantityInWords(const std::string& what);
// "12 of 16 elements wrong, all zero"; "None where eager has a gradient".
std::string WhatIsWrong(const Comparison& comparison);
// Whom the fp64 reference sides with: "float64 sides with eager: eager is off by 0, inductor by 1,
// allowed is 2e-06". Empty when there are no numbers to say it with.
std::string Sides(const Comparison& comparison, const std::string& rung);
// PyTorch's own rules: "torch._dynamo.utils.same says different, assert_close ... fails". Empty
// where they have nothing to say.
std::string PyTorchSays(const Comparison& comparison);
// What the first wrong rung does, in one phrase: "wrong gradient of x0 and x1 (outputs right)".
std::string Accusation(const Outcome& outcome);
// "eager and aot_eager right, inductor wrong", in ladder order; each rung with its device when the
// outcome spans several.
std::string Isolation(const Outcome& outcome);
// "aot_eager" -> what it adds to the rung below, for a reader who doesn't know the ladder.
std::string RungInWords(const std::string& rung);

// A wrong element, or the most suspicious ones where none is outside the tolerance by itself.
struct Element {
  int64_t flat = 0;
  std::complex<double> reference, eager, got;
};
// At most `limit`, in the order of the tensor. Empty when the comparison carries no values.
std::vector<Element> WrongElements(const Comparison& comparison, size_t limit);
bool IsWrongElement(const Comparison& comparison, size_t flat);

// "float32 (4, 4), requires grad, strides (1, 4), offset 2, whole numbers in [-4, 4]".
std::string DescribeLeaf(const program::Program& program, size_t index);

// How it is compiled and called where that is not the plain way: "dynamic=True", "called under
// autocast(bfloat16)", "inductor.cpp.simdlen=1", ...; empty for the plain way.
std::vector<std::string> DescribeCall(const program::Program& program);

// "ran 3 of 3 times in fresh processes"; empty when never confirmed.
std::string Confirmation(const Finding& finding);
// The headline of a finding; its title, or one built from what it holds.
std::string Title(const Finding& finding);
// The parts of the environment that a reader needs, as label and value: torch, device, python, ...
std::vector<std::pair<std::string, std::string>> EnvironmentRows(const nlohmann::json& environment);

}  // namespace gradfuzz::report
