// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/reduce/op_class.h"

#include <algorithm>

#include "gradfuzz/program/cost.h"
#include "gradfuzz/program/edit.h"

namespace gradfuzz::reduce {
namespace {

using ops::Family;
using ops::OpRecord;
using program::Statement;

struct ClassRow {
  Family family;
  uint32_t traits;  // all of them
  const char* name;
};
// The first row that fits names the class.
constexpr ClassRow kClasses[] = {
    {Family::kScatter, ops::kWriteOp, "write"},
    {Family::kMutation, ops::kWriteOp, "write"},
    {Family::kAggregation, ops::kExtremum, "extremum"},
    {Family::kAggregation, ops::kLinear | ops::kFullAggregation, "aggregation"},
    {Family::kPointwise, ops::kTranscendental, "transcendental"},
    {Family::kNn, ops::kTranscendental, "transcendental"},
    {Family::kPointwise, 0, "pointwise"},
    {Family::kView, 0, "view"},
    {Family::kGather, 0, "gather"},
};

const ClassRow* ClassOf(const OpRecord* record) {
  if (record == nullptr) return nullptr;
  const auto* row = std::find_if(std::begin(kClasses), std::end(kClasses), [&](const ClassRow& r) {
    return record->family == r.family && (record->traits & r.traits) == r.traits;
  });
  return row == std::end(kClasses) ? nullptr : row;
}

bool IsRequired(const ops::Param& param) { return param.presence >= 1 && param.needs < 0; }

bool SameSampler(const ops::Param& a, const ops::Param& b) {
  return a.keyword == b.keyword && a.sampler.kind == b.sampler.kind &&
         a.sampler.of == b.sampler.of && a.sampler.dim == b.sampler.dim &&
         a.sampler.text == b.sampler.text && a.sampler.unique == b.sampler.unique;
}

// Defined on about everything: an operand made for another operator will do.
bool AcceptsAnything(const OpRecord& record) {
  return std::all_of(record.params.begin(), record.params.end(), [](const ops::Param& param) {
    return param.sampler.domain == ops::Domain::kAny ||
           param.sampler.domain == ops::Domain::kModerate ||
           param.sampler.domain == ops::Domain::kNonZero;
  });
}

// One may be called wherever the other is: same required parameters in the same order, and every
// optional one of `a` known to `b`.
bool FitsCallsOf(const OpRecord& a, const OpRecord& b) {
  if (a.results != b.results) return false;
  std::vector<const ops::Param*> need_a, need_b;
  for (const ops::Param& p : a.params) {
    if (IsRequired(p)) need_a.push_back(&p);
  }
  for (const ops::Param& p : b.params) {
    if (IsRequired(p)) need_b.push_back(&p);
  }
  return std::equal(need_a.begin(), need_a.end(), need_b.begin(), need_b.end(),
                    [](const ops::Param* x, const ops::Param* y) { return SameSampler(*x, *y); });
}

bool KnowsKeywords(const OpRecord& record, const Statement& statement) {
  return std::all_of(statement.kwargs.begin(), statement.kwargs.end(), [&](const auto& kwarg) {
    return std::any_of(record.params.begin(), record.params.end(),
                       [&](const ops::Param& p) { return p.keyword == kwarg.first; });
  });
}

}  // namespace

std::string BareName(const std::string& op) {
  const size_t dot = op.rfind('.');
  std::string name = dot == std::string::npos ? op : op.substr(dot + 1);
  if (name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  return name;
}

const OpRecord* RecordOf(const std::string& op) {
  if (const OpRecord* record = ops::Find(op)) return record;
  const std::string bare = BareName(op);
  for (const std::string& name : {bare, "Tensor." + bare, "nn.functional." + bare}) {
    if (const OpRecord* record = ops::Find(name)) return record;
  }
  return nullptr;
}

std::string OpClass(const Statement& statement) {
  std::string name = BareName(statement.op);
  if (name == "__setitem__") return "write_";
  // What writes in place is of the class of its functional form.
  const ClassRow* row = ClassOf(RecordOf(statement.op));
  if (row == nullptr) row = ClassOf(RecordOf(name));
  if (row != nullptr) name = row->name;
  return program::IsInPlace(statement) ? name + "_" : name;
}

bool NumbersDimensions(ops::Sampler::Kind kind) {
  using Kind = ops::Sampler::Kind;
  return kind == Kind::kDim || kind == Kind::kOtherDim || kind == Kind::kNewDim ||
         kind == Kind::kConcatDim || kind == Kind::kDims || kind == Kind::kDimOrDims ||
         kind == Kind::kPermutation;
}

std::optional<ops::Sampler::Kind> ArgumentKind(const Statement& statement, size_t positional) {
  const OpRecord* record = RecordOf(statement.op);
  if (record == nullptr) return std::nullopt;
  size_t index = 0;
  for (const ops::Param& param : record->params) {
    if (param.keyword.empty() && index++ == positional) return param.sampler.kind;
  }
  // What a record spells as a keyword may be given by its place: the order is the record's, too.
  if (positional < record->params.size()) return record->params[positional].sampler.kind;
  return std::nullopt;
}

std::optional<ops::Sampler::Kind> ArgumentKind(const Statement& statement,
                                               const std::string& keyword) {
  if (keyword == "dim") return ops::Sampler::Kind::kDim;
  const std::string name = statement.op;
  for (const OpRecord& record : ops::Catalogue()) {
    if (record.name != name) continue;
    for (const ops::Param& param : record.params) {
      if (param.keyword == keyword) return param.sampler.kind;
    }
  }
  return std::nullopt;
}

std::string ArgumentName(const Statement& statement, size_t positional) {
  const auto kind = ArgumentKind(statement, positional);
  if (kind && NumbersDimensions(*kind)) return "dim";
  return "argument " + std::to_string(positional);
}

ops::Domain OperandDomain(const Statement& statement, program::ValueId operand) {
  const OpRecord* record = RecordOf(statement.op);
  if (record == nullptr) return ops::Domain::kAny;
  size_t index = 0;
  for (const ops::Param& param : record->params) {
    if (!param.keyword.empty()) continue;
    if (index < statement.args.size() && statement.args[index].Is<program::ValueRef>() &&
        statement.args[index].As<program::ValueRef>().id == operand &&
        param.sampler.domain != ops::Domain::kAny) {
      return param.sampler.domain;
    }
    ++index;
  }
  return ops::Domain::kAny;
}

std::vector<Statement> Interchangeable(const Statement& statement, bool simpler_only) {
  std::vector<Statement> out;
  const OpRecord* own = RecordOf(statement.op);
  if (own == nullptr) return out;
  const std::string own_class = OpClass(statement);
  for (const OpRecord& record : ops::Catalogue()) {
    if (record.family != own->family || record.name == statement.op) continue;
    Statement other = statement;
    other.op = std::string(record.name);
    if (OpClass(other) != own_class || program::IsInPlace(other) != program::IsInPlace(statement)) {
      continue;
    }
    if (!FitsCallsOf(record, *own) || !KnowsKeywords(record, statement)) continue;
    if (!AcceptsAnything(record)) continue;
    if (simpler_only && program::OperatorRank(other.op) >= program::OperatorRank(statement.op)) {
      continue;
    }
    if (std::find(out.begin(), out.end(), other) == out.end()) out.push_back(std::move(other));
  }
  std::stable_sort(out.begin(), out.end(), [](const Statement& a, const Statement& b) {
    return program::OperatorRank(a.op) < program::OperatorRank(b.op);
  });
  return out;
}

}  // namespace gradfuzz::reduce
