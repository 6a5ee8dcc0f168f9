// SPDX-License-Identifier: BSD-3-Clause
// The operator contract, over the whole catalogue: each record can be drawn, eager takes what its
// samplers propose, and the statement survives both spellings.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "gradfuzz/generate/propose.h"
#include "gradfuzz/generate/workspace.h"
#include "gradfuzz/ops/record.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"

namespace gradfuzz::generate {
namespace {

constexpr int kProposals = 30;

struct Tally {
  int proposals = 0, added = 0, refused = 0, unsuitable = 0;
  std::string first_refusal;
};

// Calls of one record, each in a workspace of its own, some with values of other shapes in hand.
Tally Draw(const ops::OpRecord& record, bool exact) {
  Tally tally;
  const GenerateOptions options;
  const Weights weights(options);
  for (uint64_t i = 0; tally.proposals < kProposals && i < 20 * kProposals; ++i) {
    Rng rng = Rng(i).Fork(ops::Id(record));
    Profile profile = DrawProfile(rng, weights, 6);
    profile.dtype = i % 4 == 0 ? program::DType::kFloat64 : program::DType::kFloat32;
    profile.exact = exact;
    profile.empty = profile.forward_only = false;
    Workspace workspace({});
    Context context{weights, profile, workspace};
    if (i % 2 == 0) {
      AddFloatLeaf(rng, context, {.sizes = DrawSizes(rng, profile, 0, 4)});
    }
    Wish wish;
    const auto statement = Propose(rng, context, record, wish);
    if (!statement) continue;
    ++tally.proposals;
    switch (workspace.Add(*statement, record)) {
      case Verdict::kRefused:
        ++tally.refused;
        if (tally.first_refusal.empty()) {
          tally.first_refusal = program::ToJson(*statement).dump();
          for (const Value& value : workspace.values()) {
            tally.first_refusal += " " + c10::str(value.first().sizes());
          }
        }
        continue;
      case Verdict::kUnsuitable:
        ++tally.unsuitable;
        continue;
      case Verdict::kAdded:
        ++tally.added;
        break;
    }
    if (workspace.steps().empty()) continue;
    // Both spellings.
    program::Output output;
    const std::vector<int>& results = workspace.steps()[0].results;
    output.value = results.empty() ? workspace.steps()[0].operands[0] : results[0];
    output.cotangent.values.kind = program::ValueRecipe::Kind::kInts;
    const program::Program program = workspace.Take({output});
    EXPECT_EQ(program::Validate(program), "");
    const auto copy = program::FromJson(nlohmann::json::parse(program::ToJson(program).dump()));
    EXPECT_TRUE(copy.ok()) << (copy.ok() ? "" : copy.error().message);
    if (copy.ok()) {
      EXPECT_EQ(*copy, program) << program::ToJson(program).dump();
    }
    EXPECT_FALSE(program::EmitModule(program).empty());
  }
  return tally;
}

// One test for all: a process for each of hundreds of records would mostly load libraries.
TEST(OperatorContract, EagerTakesWhatSamplersPropose) {
  for (const ops::OpRecord& record : ops::Catalogue()) {
    if (record.aten == ops::kPythonOnly) continue;
    SCOPED_TRACE(ops::Id(record));
    const Tally tally = Draw(record, false);
    EXPECT_EQ(tally.proposals, kProposals) << "the samplers find no operands";
    EXPECT_LE(tally.refused * 10, tally.proposals) << tally.first_refusal;
    EXPECT_GE(tally.added * 3, tally.proposals) << tally.unsuitable << " results would not do";
  }
}

TEST(OperatorContract, ExactLaneTakesSmallIntegers) {
  for (const ops::OpRecord& record : ops::Catalogue()) {
    if (!record.Has(ops::kExactOnIntegers) || record.Has(ops::kProducts)) continue;
    SCOPED_TRACE(ops::Id(record));
    const Tally tally = Draw(record, true);
    EXPECT_GT(tally.added, 0);
  }
}

}  // namespace
}  // namespace gradfuzz::generate
