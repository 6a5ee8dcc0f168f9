// SPDX-License-Identifier: BSD-3-Clause
// What makes two operators the same kind of thing: for the identity of a bug (one root cause in the
// lowering of writes shows with a dozen operators that write) and for putting a simpler operator in
// the place of another.
//
// Everything is read off the operator records (ops/record.h); an operator without a record is a
// class of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::reduce {

// "Tensor.index_add_" -> "index_add", "nn.functional.pad" -> "pad".
std::string BareName(const std::string& op);

// The record of an operator, or of its functional form, or nullptr.
const ops::OpRecord* RecordOf(const std::string& op);

// "write", "aggregation" (linear), "extremum", "transcendental", "pointwise", "view", "gather",
// else the bare name; a trailing "_" when it writes its operand in place.
std::string OpClass(const program::Statement& statement);

// The keyword or the record's name for an argument ("dim", "offset"), for people; "argument 2" when
// nothing is known.
std::string ArgumentName(const program::Statement& statement, size_t positional);

// The sampler kind of an argument by its place or keyword; nothing when the record does not tell.
std::optional<ops::Sampler::Kind> ArgumentKind(const program::Statement& statement,
                                               size_t positional);
std::optional<ops::Sampler::Kind> ArgumentKind(const program::Statement& statement,
                                               const std::string& keyword);
// True for the kinds that number dimensions: kDim, kDims, kPermutation, ...
bool NumbersDimensions(ops::Sampler::Kind kind);

// What may stand at the place of a tensor operand of this statement: the record's domain.
ops::Domain OperandDomain(const program::Statement& statement, program::ValueId operand);

// Statements that call another operator of the same class with the same arguments, the simplest
// first; only operators simpler than the statement's own when `simpler_only`.
// Indices that must be unique in the new operator only: the statement is left out.
std::vector<program::Statement> Interchangeable(const program::Statement& statement,
                                                bool simpler_only);

}  // namespace gradfuzz::reduce
