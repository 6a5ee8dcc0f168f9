// SPDX-License-Identifier: BSD-3-Clause
// One operator, one record: everything that gradfuzz knows of an operator.
//
//  1. A record is constant plain data in src/ops/<family>.cpp. Nothing about an operator is stated
//     anywhere else: generation, execution, emission, reduction, tolerance class, the `gradfuzz
//     ops` table and the contract tests all read the record.
//  2. A record never states shapes of results: the sampler proposes arguments from the values in
//     hand, eager runs them, and what eager rejects is drawn again.
//  3. Parameters are drawn in order, so a later one may refer to an earlier one by its index.
//     Positional ones are spelled in that order too; one that must be spelled before what it
//     depends on (the source of a slice_scatter) is positional, and what it depends on has
//     keywords.
//  4. A call that yields another number of tensors, or other traits, has a record of its own: same
//     name, other variant ("max" and "max" "dim").
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
  kScatter,      // writes into a copy: slice_scatter, index_add, masked_fill, ...
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
inline constexpr int kFamilyCount = 11;
const char* Name(Family family);

// Traits, ored together.
enum Trait : uint32_t {
  // Forward only selects, moves, copies or compares: no rounding in any dtype.
  kExact = 1u << 0,
  // Forward *and* gradient are exact, in any order of summation and with any fusion, while operands
  // and scalars are integers and every partial result stays within the dtype's exact range; and no
  // tie or kink leaves a choice.
  kExactOnIntegers = 1u << 1,
  kLinear = 1u << 2,           // linear in its differentiable operands (sum, mean, scatter, views)
  kWriteOp = 1u << 3,          // member of the scatter motif
  kTranscendental = 1u << 4,   // vector and scalar library versions may differ by ULPs
  kHasKinks = 1u << 5,         // gradient is set-valued somewhere: ties, |x| at 0
  kInPlace = 1u << 6,          // writes its first operand
  kFullAggregation = 1u << 7,  // member of the "linear aggregation inside the program" motif
  kExtremum = 1u << 8,         // amin, amax, min, max: member of the pointwise-then-extremum motif
  kNoGradient = 1u << 9,       // result is not differentiable (comparison, argmax, ...)
  // One element of the result or of a gradient may add up many terms (sum, matmul, index_select).
  kAccumulates = 1u << 10,
  kJumps = 1u << 11,     // discontinuous: operands must be exact, or not near a jump
  kProducts = 1u << 12,  // the number of factors grows with the size (prod): no useful bound
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

// One size of a tensor that must fit its fellow operands.
struct Extent {
  int of = -1;           // the size of dimension `dim` of parameter `of`, -1 = not of a parameter
  int dim = 0;           // may be negative; is left out where `of` has fewer dimensions
  int over = -1;         // divided by the integer that parameter `over` holds
  int times = -1;        // times the integer that parameter `times` holds
  int64_t constant = 0;  // the size itself; 0 with of == -1: free, drawn small
  bool at_most = false;  // 1 .. min(3, that size): kernels
};

// A sampler: how one parameter is proposed. Interpreted by generate/propose.cpp.
struct Sampler {
  enum class Kind : uint8_t {
    // Tensors: a value in hand that fits, or a new leaf that does.
    kTensor,         // a differentiable value with low <= dim <= high, or with sizes by `extents`
    kSameShape,      // shape of parameter `of`
    kBroadcastable,  // shape broadcastable with parameter `of`
    kExpandable,     // shape that expands to that of parameter `of`
    kLikeResult,     // shape of the result of op `text` on the parameters before this one;
                     // without `exact_shape` sometimes one that expands to it
    kListShaped,     // the sizes that parameter `of` lists
    kIndex,          // 1-D integers indexing dimension parameter `dim` of parameter `of`
    kIndexLike,      // integers shaped like gather's index for `of` along `dim`; `exact_shape`:
                     // other sizes than that of `dim` are those of `of`
    kIndexAny,       // integers of any shape below the first size of `of`
    kFlatIndex,      // integers of any shape below the number of elements of `of`
    kIndexList,      // a list of index tensors for the first dimensions of `of`
    kClass,          // class numbers: `of` without dimension 1, values below its size
    kLabels,         // rows of class numbers below the last size of `of`, ended by -1
    kSmallInts,      // int64 shaped like `of`, in [-2, 2]
    kMask,           // bool tensor that expands to `of`
    kSign,           // tensor of +1 and -1 shaped like `of`
    kConcatList,     // two or three tensors that differ in one dimension at most
    kStackList,      // two or three tensors of one shape
    kEinsumList,     // operands for the equation in parameter `of`
    kTargetList,     // one or two values that may be written in place
    kListLike,       // one tensor for each of list `of`, shaped like it
    // Attributes.
    kDim,          // a dimension of `of`, negative half the time
    kOtherDim,     // a dimension of `of` that parameter `dim` does not hold
    kNewDim,       // a dimension of `of` (of its first, for a list) with one dimension added
    kConcatDim,    // a dimension along which the list `of` can be concatenated
    kDims,         // a non-empty list of distinct dimensions of `of`
    kDimOrDims,    // one dimension, or a list
    kPermutation,  // of the dimensions of `of`
    kInt,          // in [low, high]
    kFloat,        // a float from `floats`
    kBool,
    kChoice,       // a string from `choices`
    kShape,        // a shape with the same number of elements as `of`, sometimes with a -1
    kExpandShape,  // a shape that `of` expands to
    kIndexAt,      // an int index into dimension parameter `dim` of `of`, negative half the time;
                   // without `dim` into the first, never negative
    kStart,
    kStop,           // slice bounds of dimension parameter `dim` of `of`; kStop follows kStart
    kLength,         // of a narrow of `of` along `dim` that starts at the parameter before this
    kWindow,         // 1 .. size of dimension parameter `dim` of `of`
    kPads,           // amounts in [low, high] for one or two last dims of `of`, never emptying it
    kPads1d,         // amounts for the last dim of `of`, less than its size
    kRepeats,        // repeats for the dims of `of`, sometimes with a dim in front
    kShifts,         // one shift for each of the dims in parameter `dim`
    kIntList,        // `length` integers in [low, high], sometimes one integer for all
    kKernel,         // `length` kernel sizes that fit the last dims of `of`
    kHalfOf,         // a padding for the kernel in parameter `of`: at most half of it
    kDivisor,        // of the size of dimension `low` of `of`
    kTrailingShape,  // the last one or two sizes of `of`
    kBasicIndex,     // ints, slices, None and ... for `of`
    kAdvancedIndex,  // the same with one index tensor
    kStridedSizes,   // sizes, strides and offset of a view without overlap inside contiguous `of`
    kStridedStrides,
    kStridedOffset,
    kDType,     // another floating dtype
    kEquation,  // of einsum
    kLiteral,   // always `literal`
  };
  Kind kind = Kind::kTensor;
  int of = 0;    // index of the parameter referred to
  int dim = -1;  // index of the parameter that holds the dimension, -1 = none
  int64_t low = 0, high = 0;
  int length = 0;       // kIntList
  bool unique = false;  // indices: none twice (writes without accumulation)
  bool exact_shape = false;
  bool contiguous = false;  // tensors: only a contiguous value will do
  bool no_grad = false;     // tensors: only one that requires no gradient will do
  bool detached = false;    // tensors: not in hand as a leaf that requires a gradient (in-place)
  Domain domain = Domain::kAny;
  std::string_view text;
  std::vector<Extent> extents;
  std::vector<double> floats;
  std::vector<std::string_view> choices;
  program::Arg literal;
};

struct Param {
  std::string_view keyword;  // empty = positional
  Sampler sampler;
  double presence = 1;  // probability that an optional parameter is given at all
  int needs = -1;       // given only together with that parameter
  int position = -1;    // spelled as that positional argument, -1 = in the order drawn
};

struct OpRecord {
  std::string_view name;     // program::Statement::op
  std::string_view variant;  // tells records of one name apart; empty for most
  std::string_view aten;     // dispatcher's name without overload; default: see AtenName
  Family family = Family::kPointwise;
  uint32_t traits = 0;
  std::vector<Param> params;
  int results = 1;    // kManyResults: as many as eager yields, two or more
  double weight = 1;  // of being drawn, within all records

  bool Has(Trait trait) const { return (traits & trait) != 0; }
};
inline constexpr int kManyResults = -1;
// OpRecord::aten of an operator that only Python knows.
inline constexpr std::string_view kPythonOnly = "python";

// All records, ordered by family, then as written. The same on every machine.
std::span<const OpRecord> Catalogue();
// The first record of that name, or nullptr.
const OpRecord* Find(std::string_view name);
// "Tensor.t" for "t": a function that only a method of that name has a record of. Python's text
// does not tell the two apart. Other names stay as they are.
std::string RecordedName(std::string name);
// "max", "max.dim": unique in the catalogue.
std::string Id(const OpRecord& record);
// The dispatcher's name of an operator, with its default filled in ("aten::amin", for
// "special.erfcx" "aten::special_erfcx"); empty for kPythonOnly.
std::string AtenName(const OpRecord& record);

}  // namespace gradfuzz::ops
