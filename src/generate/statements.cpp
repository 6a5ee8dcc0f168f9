// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>
#include <string>

#include "builder.h"

namespace gradfuzz::generate {

namespace {

constexpr double kHarvestShare = 0.4;  // of the statements of free programs in the real lane

// `total`: of the records' own weights.
void AppendHarvested(const Context& context, double total, std::vector<Choice>* choices) {
  if (context.harvest == nullptr || context.profile.exact) return;
  const double family =
      context.weights.Factor("family." + std::string(ops::Name(ops::Family::kHarvested)));
  double sum = 0;
  for (const HarvestedOperator& op : context.harvest->operators()) sum += HarvestWeight(op);
  for (const HarvestedOperator& op : context.harvest->operators()) {
    const double share = total * kHarvestShare / (1 - kHarvestShare) * HarvestWeight(op) / sum;
    const double weight = share * family * context.weights.Factor("op." + op.name);
    if (weight > 0) choices->push_back({nullptr, weight, &op});
  }
}

double Total(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

}  // namespace

std::vector<Choice> FreeChoices(const Context& context) {
  std::vector<Choice> choices;
  double total = 0;
  for (const ops::OpRecord& record : ops::Catalogue()) {
    double weight = record.weight;
    if (record.Has(ops::kInPlace)) {
      if (!context.profile.mutation) continue;
      weight *= 6;  // in the programs that may write at all, writes are common
    }
    if (context.profile.exact &&
        (!record.Has(ops::kExactOnIntegers) || record.Has(ops::kProducts))) {
      continue;
    }
    total += weight;
    weight *= context.weights.Factor("op." + ops::Id(record)) *
              context.weights.Factor("family." + std::string(ops::Name(record.family)));
    if (weight > 0) choices.push_back({&record, weight});
  }
  // Of harvested operators nobody has said which turn elements into positions: NaN is none.
  if (!context.profile.non_finite) AppendHarvested(context, total, &choices);
  return choices;
}

bool AddStatement(const Rng& rng, Context& context, const std::vector<Choice>& choices,
                  const Wish& wish, int tries, Counters* counters) {
  std::vector<double> records, harvested;
  for (const Choice& choice : choices) {
    records.push_back(choice.harvested == nullptr ? choice.weight : 0);
    harvested.push_back(choice.harvested == nullptr ? 0 : choice.weight);
  }
  const double total = Total(records) + Total(harvested);
  if (!(total > 0)) return false;
  // Where the operator comes from is drawn once: eager refuses more of what is harvested, and a new
  // draw for each try would lower its share.
  bool from_harvest = rng.Fork("source").Chance(Total(harvested) / total);
  for (int t = 0; t < tries; ++t) {
    if (t == tries / 2 && Total(records) > 0) from_harvest = false;
    Rng draw = rng.Fork("try", static_cast<uint64_t>(t));
    const Choice& choice = choices[draw.PickWeighted(from_harvest ? harvested : records)];
    const Workspace::Mark mark = context.workspace.Save();
    const ops::OpRecord* record = choice.record;
    std::optional<program::Statement> statement;
    if (choice.harvested != nullptr) {
      const HarvestedCall& call = draw.Pick(choice.harvested->calls);
      record = &choice.harvested->RecordOf(call);
      statement = ProposeHarvested(draw, context, *choice.harvested, call, wish);
    } else {
      statement = Propose(draw, context, *record, wish);
    }
    if (statement) {
      ++counters->proposals;
      const Verdict verdict = context.workspace.Add(*statement, *record);
      if (verdict == Verdict::kAdded) return true;
      ++(verdict == Verdict::kRefused ? counters->refused : counters->unsuitable);
    }
    context.workspace.Rollback(mark);
  }
  return false;
}

}  // namespace gradfuzz::generate
