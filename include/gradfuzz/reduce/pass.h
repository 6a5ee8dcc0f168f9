// SPDX-License-Identifier: BSD-3-Clause
// A pass proposes simpler programs; reduce/reducer.h tests them. One file per pass in
// src/reduce/passes/, one list of all in passes.h.
//
//  1. A pass is a pure function of the program and of what is known of it; it never runs anything.
//  2. Each candidate is built anew from the program, valid (program::Validate), and costs strictly
//     less; what is not, is dropped by the reducer, so a pass may propose freely.
//  3. The boldest candidates come first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/program/edit.h"
#include "gradfuzz/program/program.h"
#include "gradfuzz/reduce/tester.h"

namespace gradfuzz::reduce {

struct Candidate {
  program::Program program;
  // Names the change within the pass, so that it can be made again in a program that changed
  // elsewhere: "drop x1.requires_grad".
  std::string change;
};

// What is known of the program that a pass looks at.
struct Facts {
  // One per value; empty when it could not be found out.
  std::vector<ValueInfo> values;
  // Outputs and leaves (indices) whose value or gradient was seen to be wrong; may be empty.
  std::vector<size_t> wrong_outputs;
  std::vector<size_t> wrong_leaves;
};

struct Pass {
  const char* name;
  const char* does;  // one line for `gradfuzz reduce --verbose` and the docs
  std::vector<Candidate> (*propose)(const program::Program& program, const Facts& facts);
  // How many candidates it contributes at a time, in turn with the other passes: changes of
  // different kinds that work are then found, and made, together.
  int share = 2;
};

}  // namespace gradfuzz::reduce
