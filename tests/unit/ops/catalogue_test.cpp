// SPDX-License-Identifier: BSD-3-Clause
// The catalogue as data: names, references between parameters, traits that must agree.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gradfuzz/ops/record.h"

namespace gradfuzz::ops {
namespace {

using Kind = Sampler::Kind;

bool IsTensor(Kind kind) { return kind <= Kind::kListLike; }

TEST(Catalogue, HoldsEveryFamilyThatIsCurated) {
  std::set<Family> families;
  for (const OpRecord& record : Catalogue()) families.insert(record.family);
  EXPECT_EQ(families.size(), static_cast<size_t>(kFamilyCount) - 1);  // all but the harvest
  EXPECT_GE(Catalogue().size(), 300U);
}

TEST(Catalogue, IsOrderedByFamily) {
  const auto records = Catalogue();
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_LE(records[i - 1].family, records[i].family) << Id(records[i]);
  }
}

TEST(Catalogue, IdsAreUnique) {
  std::set<std::string> ids;
  for (const OpRecord& record : Catalogue())
    EXPECT_TRUE(ids.insert(Id(record)).second) << Id(record);
}

TEST(Catalogue, FindReturnsTheFirstRecordOfAName) {
  const OpRecord* max = Find("max");
  ASSERT_NE(max, nullptr);
  EXPECT_EQ(max->name, "max");
  EXPECT_TRUE(max->variant.empty());
  EXPECT_EQ(Find("no_such_operator"), nullptr);
}

TEST(Catalogue, DispatcherNamesFollowFromTheSpelling) {
  EXPECT_EQ(AtenName(*Find("amin")), "aten::amin");
  EXPECT_EQ(AtenName(*Find("special.erfcx")), "aten::special_erfcx");
  EXPECT_EQ(AtenName(*Find("nn.functional.pad")), "aten::pad");
  EXPECT_EQ(AtenName(*Find("Tensor.add_")), "aten::add_");
  EXPECT_EQ(AtenName(*Find("nn.functional.cross_entropy")), "aten::cross_entropy_loss");
  EXPECT_EQ(AtenName(*Find("nn.functional.softsign")), "");
  // Records of one name are one operator of the dispatcher.
  for (const OpRecord& record : Catalogue()) {
    EXPECT_EQ(AtenName(record), AtenName(*Find(record.name))) << Id(record);
  }
}

// Kinds whose `of` names an earlier parameter.
bool RefersToTensor(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
    case Kind::kLikeResult:
    case Kind::kConcatList:
    case Kind::kStackList:
    case Kind::kTargetList:
    case Kind::kEinsumList:
    case Kind::kListShaped:
    case Kind::kHalfOf:
    case Kind::kEquation:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kBool:
    case Kind::kChoice:
    case Kind::kIntList:
    case Kind::kShifts:
    case Kind::kLiteral:
      return false;
    default:
      return true;
  }
}

TEST(Catalogue, ParametersReferOnlyToEarlierOnes) {
  for (const OpRecord& record : Catalogue()) {
    SCOPED_TRACE(Id(record));
    for (size_t i = 0; i < record.params.size(); ++i) {
      const Param& param = record.params[i];
      const Sampler& sampler = param.sampler;
      EXPECT_LT(sampler.dim, static_cast<int>(i));
      EXPECT_LT(param.needs, static_cast<int>(i));
      if (param.needs >= 0) {
        EXPECT_LT(record.params[static_cast<size_t>(param.needs)].presence, 1.0);
      }
      if (RefersToTensor(sampler.kind)) {
        ASSERT_LT(sampler.of, static_cast<int>(i));
        EXPECT_TRUE(IsTensor(record.params[static_cast<size_t>(sampler.of)].sampler.kind));
      }
      for (const Extent& extent : sampler.extents) {
        EXPECT_LT(extent.of, static_cast<int>(i));
        EXPECT_LT(extent.over, static_cast<int>(i));
        EXPECT_LT(extent.times, static_cast<int>(i));
      }
      if (sampler.kind == Kind::kFloat) {
        EXPECT_FALSE(sampler.floats.empty());
      }
      if (sampler.kind == Kind::kChoice) {
        EXPECT_FALSE(sampler.choices.empty());
      }
      if (sampler.kind == Kind::kLikeResult) {
        EXPECT_FALSE(sampler.text.empty());
      }
    }
  }
}

TEST(Catalogue, PositionsAreDistinctAndRequiredOnesComeFirst) {
  for (const OpRecord& record : Catalogue()) {
    SCOPED_TRACE(Id(record));
    std::set<int> positions;
    for (size_t i = 0; i < record.params.size(); ++i) {
      const Param& param = record.params[i];
      if (!param.keyword.empty()) {
        EXPECT_EQ(param.position, -1) << "a keyword has no position";
        continue;
      }
      const int position = param.position >= 0 ? param.position : static_cast<int>(i);
      EXPECT_TRUE(positions.insert(position).second);
    }
  }
}

TEST(Catalogue, TraitsAgree) {
  for (const OpRecord& record : Catalogue()) {
    SCOPED_TRACE(Id(record));
    EXPECT_EQ(record.Has(kInPlace), record.family == Family::kMutation);
    if (record.Has(kWriteOp)) {
      EXPECT_EQ(record.family, Family::kScatter);
    }
    if (record.Has(kExtremum)) {
      EXPECT_TRUE(record.Has(kExact) && record.Has(kHasKinks));
    }
    if (record.Has(kTranscendental)) {
      EXPECT_FALSE(record.Has(kExactOnIntegers));
    }
    if (record.results == 0) {
      EXPECT_TRUE(record.Has(kInPlace));
    }
    EXPECT_GT(record.weight, 0);
  }
}

// Duplicate indices are undefined where a write neither accumulates nor writes one constant.
TEST(Catalogue, WritesWithoutAccumulationTakeUniqueIndices) {
  for (const OpRecord& record : Catalogue()) {
    SCOPED_TRACE(Id(record));
    if (record.family != Family::kScatter && record.family != Family::kMutation) continue;
    bool takes_source = false;
    for (size_t i = 1; i < record.params.size(); ++i) {
      const Kind kind = record.params[i].sampler.kind;
      takes_source = takes_source || kind == Kind::kLikeResult || kind == Kind::kSameShape;
    }
    if (!takes_source || record.Has(kAccumulates) || record.Has(kProducts)) continue;
    const bool reduces = record.Has(kHasKinks);  // amin and amax of what meets
    for (const Param& param : record.params) {
      switch (param.sampler.kind) {
        case Kind::kIndex:
        case Kind::kIndexLike:
        case Kind::kFlatIndex:
        case Kind::kIndexList:
          EXPECT_TRUE(param.sampler.unique || reduces);
          break;
        default:
          break;
      }
    }
  }
}

}  // namespace
}  // namespace gradfuzz::ops
