// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/passes.h"

#include "passes/all.h"

namespace gradfuzz::reduce {

std::span<const Pass> AllPasses() {
  // What removes most comes first; what only tidies comes last, on a program that is small by then.
  static constexpr Pass kPasses[] = {
      {"core", "keeps one to three connected statements, the rest become leaves", Core, 6},
      {"outputs", "returns fewer values, or an earlier one", Outputs, 6},
      {"cuts", "makes a leaf of an intermediate value", Cuts, 6},
      {"statements", "leaves a statement out, an operand takes its place", Statements, 6},
      {"call", "calls it plainly, without regions", Call, 2},
      {"gradients", "asks for fewer gradients", Gradients, 2},
      {"leaves", "passes one leaf where two were, ends aliases", Leaves, 2},
      {"arguments", "leaves optional arguments out", Arguments, 2},
      {"dimensions", "takes a dimension away", Dimensions, 2},
      {"sizes", "makes dimensions smaller", Sizes, 2},
      {"layouts", "makes leaves contiguous, without offset", Layouts, 2},
      {"types", "prefers float64, then float32", Types, 2},
      {"attributes", "makes the numbers in arguments smaller", Attributes, 2},
      {"cotangents", "makes the vector for backward all ones", Cotangents, 2},
      {"values", "makes inputs short lists of small whole numbers", Values, 2},
      {"elements", "makes single elements of a list 0 or 1", Elements, 2},
      {"operators", "calls a simpler operator of the same class", Operators, 2},
  };
  return kPasses;
}

}  // namespace gradfuzz::reduce
