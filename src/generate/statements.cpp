// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "builder.h"

namespace gradfuzz::generate {

std::vector<Choice> FreeChoices(const Context& context) {
  std::vector<Choice> choices;
  for (const ops::OpRecord& record : ops::Catalogue()) {
    double weight = record.weight * context.weights.Factor("op." + ops::Id(record)) *
                    context.weights.Factor("family." + std::string(ops::Name(record.family)));
    if (record.Has(ops::kInPlace)) {
      if (!context.profile.mutation) continue;
      weight *= 6;  // in the programs that may write at all, writes are common
    }
    if (context.profile.exact &&
        (!record.Has(ops::kExactOnIntegers) || record.Has(ops::kProducts))) {
      continue;
    }
    if (weight > 0) choices.push_back({&record, weight});
  }
  return choices;
}

bool AddStatement(const Rng& rng, Context& context, const std::vector<Choice>& choices,
                  const Wish& wish, int tries, Counters* counters) {
  std::vector<double> weights;
  double total = 0;
  for (const Choice& choice : choices) {
    weights.push_back(choice.weight);
    total += choice.weight;
  }
  if (!(total > 0)) return false;
  for (int t = 0; t < tries; ++t) {
    Rng draw = rng.Fork("try", static_cast<uint64_t>(t));
    const ops::OpRecord& record = *choices[draw.PickWeighted(weights)].record;
    const Workspace::Mark mark = context.workspace.Save();
    if (const auto statement = Propose(draw, context, record, wish)) {
      ++counters->proposals;
      const Verdict verdict = context.workspace.Add(*statement, record);
      if (verdict == Verdict::kAdded) return true;
      ++(verdict == Verdict::kRefused ? counters->refused : counters->unsuitable);
    }
    context.workspace.Rollback(mark);
  }
  return false;
}

}  // namespace gradfuzz::generate
