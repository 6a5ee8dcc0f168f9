// SPDX-License-Identifier: BSD-3-Clause
// Motifs: short patterns known to be fertile, with holes for operators, shapes, layouts and values.
// Data: generate/run_motif.cpp interprets them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gradfuzz/generate/profile.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::generate {

// What fills a parameter of a motif's step.
struct Filler {
  enum class Kind : uint8_t {
    kLatest,    // the first result of the latest step run; a new leaf when there is none
    kLeaf,      // leaf `index` of the motif
    kStep,      // the first result of step `index`
    kLeafList,  // a list that holds just leaf `index`
    kStepList,  // a list that holds just the first result of step `index`
    kLiteral,
  };
  Kind kind = Kind::kLatest;
  int index = 0;
  program::Arg literal;
};

struct MotifLeaf {
  enum class Kind : uint8_t {
    kGrad,      // requires a gradient
    kNoGrad,    // does not, and may be written
    kRepeated,  // indices into dimension 0 of leaf `of`, twice the first one at least
    kRows,      // 0 .. size - 1 in some order: all rows of leaf `of`
  };
  Kind kind = Kind::kGrad;
  int of = 0;
  std::vector<std::vector<int64_t>> shapes;  // one is picked; the same one for all leaves
  std::string_view layout;                   // empty = drawn
};

struct MotifStep {
  std::vector<std::string_view> ops;         // records by Id; or, when empty:
  uint32_t traits = 0;                       // any record with all of these traits
  std::vector<std::pair<int, Filler>> fill;  // by parameter index
  bool new_others = false;                   // other operands are new leaves, with gradient
  bool plain = false;                        // no optional arguments
  double presence = 1;                       // probability that the step is there at all
  std::string_view layout;                   // of a new first operand
};

struct Motif {
  std::string_view name;
  double weight = 1;
  std::vector<MotifLeaf> leaves;
  std::vector<MotifStep> steps;
  std::vector<std::vector<int64_t>> shapes;  // of a new first operand; empty = drawn
  bool real = false;                         // never in the exact lane
  bool mutation = false;                     // writes in place
  bool all_results = false;                  // every result is an output, index tensors too
  bool dynamic = false;                      // compiled with dynamic=True half the time
  bool forward_only = false;                 // no gradient by design
  double tail = 0.15;                        // probability of one or two free statements behind it
};

std::span<const Motif> Motifs();

}  // namespace gradfuzz::generate
