// SPDX-License-Identifier: BSD-3-Clause
// What Monte Carlo arithmetic must know of ATen's operators: one table, by name.
//
// An operator that is not in the table rounds: its operands and results are nudged by one unit.
// Nudged operands stand for what its inside may do: partial sums, another formula.
// In-place variants (a trailing underscore) are found under the plain name; views are recognised
// by their schema and are never nudged.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gradfuzz::oracle {

enum AtenTrait : uint32_t {
  // Selects, copies, moves, compares, or is exact in floating point (neg, abs, fmod): no noise.
  kExactOp = 1u << 0,
  // Transcendental: library versions differ by up to Model::wide.
  kWideOp = 1u << 1,
  // Adds up more terms than the sizes of operand and result tell: matmul, scatter-add, scans.
  kManyTerms = 1u << 2,
  // A floating result that jumps (sign, floor): a decision, kept in replays that follow a trace.
  kDiscreteOp = 1u << 3,
  // A result that jumps by a multiple of an operand (remainder): kept, with absolute noise.
  kModuloOp = 1u << 4,
  // Its integer results are choices among equals at a tie (max, sort, topk).
  kPicksOp = 1u << 5,
  // Cancels, or computes coordinates, inside one kernel: replayed by its decomposition (fused.h).
  kFusedOp = 1u << 6,
  // Its kernel is a composition of other operators, each of which is nudged instead.
  kThroughOp = 1u << 7,
  // Correctly rounded in one step, or accurate relative to its result: only the result is nudged.
  // So x - x and the distance of a point to itself stay 0, as they do in every honest program.
  kRoundedOp = 1u << 9,
  // An addition that a compiler may contract with the product before it (a * b - a * b is then not
  // 0): operands that are themselves computed with rounding are nudged.
  kContractsOp = 1u << 11,
  // Of the operands only the first, the incoming gradient, is nudged: the others are differences
  // that stay 0.
  kFirstOperandOp = 1u << 10,
  // Rounds inside, relative to its operands: spelled as several operators (Dynamo does so with
  // addcdiv), or stores each partial sum, whose order is anybody's (scatters). In low precision
  // operands are nudged as well.
  kStepsOp = 1u << 12,
  // Draws random numbers or leaves memory uninitialised: no noise, and no decision.
  kSourceOp = 1u << 8,
};

struct AtenOp {
  std::string_view name;  // without namespace, overload and trailing underscore
  uint32_t traits = 0;
  int decisive = -1;  // backward of a kinked function: the operand that says on which side
};

std::span<const AtenOp> AtenTable();  // sorted by name
// `name`: "aten::amin", "amin", "amin_"; nullptr when the table has no row.
const AtenOp* FindAten(std::string_view name);

}  // namespace gradfuzz::oracle
