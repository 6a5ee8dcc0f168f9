// SPDX-License-Identifier: BSD-3-Clause
// Proposes one call of an operator: its samplers, interpreted on the values in hand.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "gradfuzz/generate/leaf.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::generate {

// What a caller fixes beforehand; everything else is drawn.
struct Wish {
  std::map<int, program::Arg> fixed;  // by parameter index
  bool chain = true;                  // the first operand is likely to be the latest result
  bool new_first = false;             // the first operand is a new leaf
  bool new_others = false;            // and so are all others
  bool grad = false;                  // new leaves require a gradient
  bool plain = false;                 // no optional argument is given
  std::string_view layout;            // of a new first operand
  std::vector<int64_t> sizes;         // of a new first operand; used when `has_sizes`
  bool has_sizes = false;
};

// RETURNS: a statement over workspace numbers (`results` not yet set), or nothing when no operand
// in hand fits and no new one was to be made. Adds the new leaves that it uses to the workspace.
std::optional<program::Statement> Propose(Rng& rng, Context& context, const ops::OpRecord& record,
                                          const Wish& wish);

// The same for a harvested call: its floating-point tensors are replaced by values in hand that
// fit, or by new leaves; its integers, masks and options stay.
std::optional<program::Statement> ProposeHarvested(Rng& rng, Context& context,
                                                   const HarvestedOperator& op,
                                                   const HarvestedCall& call, const Wish& wish);

}  // namespace gradfuzz::generate
