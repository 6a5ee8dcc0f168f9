// SPDX-License-Identifier: BSD-3-Clause
// One attempt at a program: statements, then outputs, then the checks of the whole.
#pragma once

#include <optional>
#include <vector>

#include "gradfuzz/generate/generator.h"
#include "gradfuzz/generate/leaf.h"
#include "gradfuzz/generate/motifs.h"
#include "gradfuzz/generate/propose.h"

namespace gradfuzz::generate {

struct Counters {
  int proposals = 0, refused = 0, unsuitable = 0;
};

// A record and its weight within one draw.
struct Choice {
  const ops::OpRecord* record;  // nullptr for a harvested operator
  double weight;
  const HarvestedOperator* harvested = nullptr;
};

// Draws a record, proposes a call of it, runs it; anew until one is kept or `tries` are spent.
bool AddStatement(const Rng& rng, Context& context, const std::vector<Choice>& choices,
                  const Wish& wish, int tries, Counters* counters);

// All records with their weights under these options; none that the profile rules out.
std::vector<Choice> FreeChoices(const Context& context);

// RETURNS: false when a step that must be there could not be made.
bool RunMotif(const Rng& rng, Context& context, const Motif& motif, Counters* counters);

// Picks what the program returns, with a cotangent each. RETURNS: none when nothing would do.
std::vector<program::Output> DrawOutputs(Rng& rng, Context& context, bool all_results,
                                         std::vector<std::string>* features);

// True when the backward runs on every draw, and its gradients are finite, bounded and not all 0.
bool BackwardSuits(const Context& context, const std::vector<program::Output>& outputs);

// True when outputs and gradients belong to the exact lane.
bool IsExact(const Context& context, const std::vector<program::Output>& outputs);

// `program`, which is Take(outputs), with a second call of other sizes: one size, wherever a leaf
// has it, one more or one less. What holds of the program holds of the second call as well: it was
// run the same way. RETURNS: nothing where no size will do, or where a harvested operator fixes
// them.
std::optional<program::Program> WithSecondCall(Rng& rng, const Context& context,
                                               const std::vector<program::Output>& outputs,
                                               const program::Program& program, bool exact);

// `program`, which is Take(outputs), with a second call whose floats are other ones, on the sizes
// that it has for a second call already or else its own. RETURNS: nothing where there is no float,
// or where the second call would not be as well behaved.
std::optional<program::Program> WithSecondFloats(Rng& rng, const Context& context,
                                                 const std::vector<program::Output>& outputs,
                                                 const program::Program& program, bool exact);

// Appends the names of weights that cotangents look up in tables.
void AppendCotangentNames(std::vector<std::string>* names);

}  // namespace gradfuzz::generate
