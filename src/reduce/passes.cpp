// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/passes.h"

#include "passes/all.h"

namespace gradfuzz::reduce {

std::span<const Pass> AllPasses() {
  // What removes most comes first; what only tidies comes last, on a program that is small by then.
  static constexpr Pass kPasses[] = {
      {"core", "keeps one to three connected statements, the rest become leaves", Core},
      {"outputs", "returns fewer values, or an earlier one", Outputs},
      {"cuts", "makes a leaf of an intermediate value", Cuts},
      {"statements", "leaves a statement out, an operand takes its place", Statements},
      {"call", "calls it plainly, without regions", Call},
      {"gradients", "asks for fewer gradients", Gradients},
      {"leaves", "passes one leaf where two were, ends aliases", Leaves},
      {"operators", "calls a simpler operator of the same class", Operators},
      {"arguments", "leaves optional arguments out", Arguments},
      {"dimensions", "takes a dimension away", Dimensions},
      {"sizes", "makes dimensions smaller", Sizes},
      {"layouts", "makes leaves contiguous, without offset", Layouts},
      {"types", "prefers float64, then float32", Types},
      {"attributes", "makes the numbers in arguments smaller", Attributes},
      {"cotangents", "makes the vector for backward all ones", Cotangents},
      {"values", "makes inputs short lists of small whole numbers", Values},
      {"elements", "makes single elements of a list 0 or 1", Elements},
  };
  return kPasses;
}

}  // namespace gradfuzz::reduce
