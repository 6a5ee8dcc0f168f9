// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "builder.h"

namespace gradfuzz::generate {
namespace {

using program::Arg;

// What a motif has made so far, by workspace number.
struct Made {
  std::vector<int> leaves;
  std::vector<int> steps;  // the first result of each; -1 where there is none
  int latest = -1;
};

std::optional<Arg> Fill(const Filler& filler, const Made& made) {
  const auto leaf = [&] { return made.leaves[static_cast<size_t>(filler.index)]; };
  const auto step = [&] { return made.steps[static_cast<size_t>(filler.index)]; };
  switch (filler.kind) {
    case Filler::Kind::kLatest:
      if (made.latest < 0) return std::nullopt;
      return Arg::Value(made.latest);
    case Filler::Kind::kLeaf:
      return Arg::Value(leaf());
    case Filler::Kind::kLeafList:
      return Arg(program::ArgList{Arg::Value(leaf())});
    case Filler::Kind::kStep:
      return Arg::Value(step());
    case Filler::Kind::kStepList:
      return Arg(program::ArgList{Arg::Value(step())});
    case Filler::Kind::kLiteral:
      return filler.literal;
  }
  return std::nullopt;
}

int AddMotifLeaf(Rng& rng, Context& context, const MotifLeaf& leaf,
                 const std::vector<int64_t>& sizes, const Made& made) {
  const auto rows = [&] {
    return context.workspace.value(made.leaves[static_cast<size_t>(leaf.of)]).first().size(0);
  };
  switch (leaf.kind) {
    case MotifLeaf::Kind::kRepeated: {
      // The first index twice: what accumulates must accumulate.
      std::vector<double> values;
      for (int64_t i = rng.Between(1, 3); i-- > 0;) {
        values.push_back(static_cast<double>(rng.Below(static_cast<uint64_t>(rows()))));
      }
      values.push_back(values[0]);
      const int64_t length = static_cast<int64_t>(values.size());
      return AddIntLeaf(context, {length}, std::move(values), "index.repeated");
    }
    case MotifLeaf::Kind::kRows:
      return AddIndexLeaf(rng, context, {rows()}, rows(), true, 0);
    default: {
      LeafWish wish;
      wish.sizes = sizes;
      wish.layout = leaf.layout;
      wish.no_grad = leaf.kind == MotifLeaf::Kind::kNoGrad;
      wish.writable = wish.no_grad;
      wish.grad = !wish.no_grad;
      return AddFloatLeaf(rng, context, wish);
    }
  }
}

std::vector<Choice> StepChoices(const Context& context, const MotifStep& step) {
  std::vector<Choice> choices;
  for (const ops::OpRecord& record : ops::Catalogue()) {
    const std::string id = ops::Id(record);
    const bool named = std::find(step.ops.begin(), step.ops.end(), id) != step.ops.end();
    if (step.ops.empty() ? (record.traits & step.traits) != step.traits : !named) continue;
    if (step.ops.empty() && record.Has(ops::kInPlace)) continue;
    if (context.profile.exact &&
        (!record.Has(ops::kExactOnIntegers) || record.Has(ops::kProducts))) {
      continue;
    }
    // Within a motif the operators named stand on equal terms.
    const double own = step.ops.empty() ? record.weight : 1;
    const double weight = own * context.weights.Factor("op." + id) *
                          context.weights.Factor("family." + std::string(ops::Name(record.family)));
    if (weight > 0) choices.push_back({&record, weight});
  }
  return choices;
}

}  // namespace

bool RunMotif(const Rng& rng, Context& context, const Motif& motif, Counters* counters) {
  Made made;
  Rng draw = rng.Fork("shape");
  std::vector<int64_t> sizes;
  const auto& shapes = !motif.leaves.empty() && !motif.leaves[0].shapes.empty()
                           ? motif.leaves[0].shapes
                           : motif.shapes;
  if (!shapes.empty()) sizes = draw.Pick(shapes);
  for (size_t i = 0; i < motif.leaves.size(); ++i) {
    Rng leaf = rng.Fork("leaf", i);
    made.leaves.push_back(AddMotifLeaf(leaf, context, motif.leaves[i], sizes, made));
  }
  for (size_t i = 0; i < motif.steps.size(); ++i) {
    const MotifStep& step = motif.steps[i];
    const Rng fork = rng.Fork("step", i);
    Rng present = fork.Fork("presence");
    if (!present.Chance(step.presence)) {
      made.steps.push_back(-1);
      continue;
    }
    Wish wish;
    wish.new_others = step.new_others;
    wish.plain = step.plain;
    wish.layout = step.layout;
    wish.grad = true;
    wish.has_sizes = !shapes.empty();
    wish.sizes = sizes;
    wish.new_first = true;
    for (const auto& [param, filler] : step.fill) {
      if (auto arg = Fill(filler, made)) wish.fixed.emplace(param, std::move(*arg));
    }
    const size_t before = context.workspace.steps().size();
    if (!AddStatement(fork, context, StepChoices(context, step), wish, 40, counters)) return false;
    const std::vector<int>& results = context.workspace.steps()[before].results;
    made.steps.push_back(results.empty() ? -1 : results.front());
    if (!results.empty()) made.latest = results.front();
  }
  return true;
}

}  // namespace gradfuzz::generate
