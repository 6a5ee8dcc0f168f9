// SPDX-License-Identifier: BSD-3-Clause
// One operator, one record: everything that gradfuzz knows of an operator.
//
//  1. A record is constant plain data in src/ops/<family>.cpp. Nothing about an operator is stated
//     anywhere else: generation, execution, emission, reduction, tolerance class, the `gradfuzz
//     ops` table and the contract tests all read the record.
//  2. A record never states shapes: the sampler proposes arguments from the values in hand, eager
//     runs them, and what eager rejects is drawn again.
//  3. Parameters are drawn in order, so a later one may refer to an earlier one by its index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradfuzz/program/program.h"

namespace gradfuzz::ops {

// A statement that could be generated without a record (op_db's harvest) still has a name: the
// Python path below `torch.`, or "Tensor.<method>" (program::Statement::op).

enum class Family : uint8_t {
  kScatter,      // writes into a copy or in place: slice_scatter, index_add, masked_fill, ...
  kGather,       // reads by index: gather, index_select, take_along_dim, ...
  kPointwise,    // one or more operands, element by element
  kAggregation,  // reductions over dimensions, and scans
  kView,         // views and shape changes
  kJoin,         // cat, stack, pad, unfold
  kOrder,        // sort, topk, ...
  kLinalg,       // matmul, ...
  kNn,           // neural-network functions
  kMutation,     // in place on an operand
  kHarvested,    // from op_db
};
const char* Name(Family family);

// Traits, ored together.
enum Trait : uint32_t {
  kExact = 1u << 0,            // selects, moves, copies or compares: no rounding in any dtype
  kExactOnIntegers = 1u << 1,  // exact while operands are integers within the dtype's exact range
  kLinear = 1u << 2,           // linear in its differentiable operands (sum, mean, scatter, views)
  kWriteOp = 1u << 3,          // member of the scatter motif
  kTranscendental = 1u << 4,   // vector and scalar library versions may differ by ULPs
  kHasKinks = 1u << 5,         // gradient is set-valued somewhere: ties, |x| at 0
  kInPlace = 1u << 6,          // writes its first operand
  kFullAggregation = 1u << 7,  // member of the "linear aggregation inside the program" motif
  kExtremum = 1u << 8,         // amin, amax, min, max: member of the pointwise-then-extremum motif
  kNoGradient = 1u << 9,       // result is not differentiable (comparison, argmax, ...)
};

// What values an operand may hold for the operator to be defined and well behaved.
enum class Domain : uint8_t {
  kAny,
  kPositive,     // > 0: log, rsqrt, pow base
  kNonNegative,  // >= 0: sqrt
  kUnit,         // [-1, 1]: asin, erfinv
  kUnitOpen,     // (0, 1): logit
  kAtLeastOne,   // acosh
  kNonZero,      // divisors
  kModerate,     // |x| <= 8: exp, sinh, tan away from poles
};

// A sampler: how one parameter is proposed. Interpreted by generate/sampler.cpp.
struct Sampler {
  enum class Kind : uint8_t {
    // Tensors: a value in hand that fits, or a new leaf that does.
    kTensor,         // any differentiable value with min_dim <= dim <= max_dim
    kSameShape,      // shape of parameter `of`
    kBroadcastable,  // shape broadcastable with parameter `of`
    kLikeResult,     // shape of the result of op `text` applied to the parameters before this one
    kIndex,          // integer tensor indexing dimension parameter `dim` of parameter `of`
    kIndexLike,      // integer tensor shaped like gather/scatter's index for `of` along `dim`
    kMask,           // bool tensor broadcastable with `of`
    kTensorList,     // two or three tensors for cat/stack along `dim`
    // Attributes.
    kDim,          // a dimension of `of`, negative half the time
    kDims,         // a non-empty set of distinct dimensions of `of`
    kPermutation,  // of the dimensions of `of`
    kInt,          // in [low, high]
    kFloat,        // a float from `floats`
    kBool,
    kChoice,       // a string from `choices`
    kShape,        // a shape with the same number of elements as `of`
    kExpandShape,  // a shape that `of` expands to
    kIndexAt,      // an int index into dimension `dim` of `of`, negative half the time
    kDType,
    kLiteral,  // always `literal`
  };
  Kind kind = Kind::kTensor;
  int of = 0;                 // index of the parameter referred to
  int dim = -1;               // index of the parameter that holds the dimension, -1 = none
  int64_t low = 0, high = 0;  // kInt; for tensors min and max number of dimensions
  bool unique = false;        // kIndex: no index twice (writes without accumulation)
  Domain domain = Domain::kAny;
  std::string_view text;
  std::vector<double> floats;
  std::vector<std::string_view> choices;
  program::Arg literal;
};

struct Param {
  std::string_view keyword;  // empty = positional
  Sampler sampler;
  double presence = 1;  // probability that an optional parameter is given at all
};

struct OpRecord {
  std::string_view name;  // program::Statement::op
  std::string_view aten;  // dispatcher's name without overload; default "aten::<last part of name>"
  Family family = Family::kPointwise;
  uint32_t traits = 0;
  std::vector<Param> params;
  int results = 1;
  double weight = 1;  // of being drawn, within all records

  bool Has(Trait trait) const { return (traits & trait) != 0; }
};

// All records, ordered by family, then as written. The same on every machine.
std::span<const OpRecord> Catalogue();
// The record of that name, or nullptr.
const OpRecord* Find(std::string_view name);
// The dispatcher's name of an operator, with its default filled in: "aten::amin".
std::string AtenName(const OpRecord& record);

}  // namespace gradfuzz::ops
