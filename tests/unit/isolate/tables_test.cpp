// SPDX-License-Identifier: BSD-3-Clause
// The tables: ladder and knobs.
#include <gtest/gtest.h>

#include <set>

#include "gradfuzz/isolate/knobs.h"
#include "gradfuzz/isolate/ladder.h"

namespace gradfuzz::isolate {
namespace {

using nlohmann::json;

TEST(LadderTest, ScreeningIsEagerAotEagerInductor) {
  EXPECT_EQ(ScreeningRungs(), (std::vector<std::string>{"eager", "aot_eager", "inductor"}));
}

TEST(LadderTest, OnlyWhatThisTorchHas) {
  const json old = {{"rungs", {"eager", "aot_eager", "inductor"}}};
  EXPECT_EQ(MainRungs(old), (std::vector<std::string>{"eager", "aot_eager", "inductor"}));
  EXPECT_EQ(SideRungs(old), (std::vector<std::string>{"eager"}));
  EXPECT_EQ(MainRungs(json::object()).size(), 5u);
  EXPECT_EQ(SideRungs(json::object()).size(), 3u);
}

TEST(LadderTest, RungsAroundHoldRightBelowAndWrongHere) {
  const json all = json::object();
  EXPECT_EQ(RungsAround("inductor", all),
            (std::vector<std::string>{"eager", "aot_eager_decomp_partition", "inductor"}));
  EXPECT_EQ(RungsAround("aot_eager", all),
            (std::vector<std::string>{"eager", "dynamo", "aot_eager"}));
  EXPECT_EQ(RungsAround("dynamo", all), (std::vector<std::string>{"eager", "dynamo"}));
  EXPECT_EQ(RungsAround("eager", all), (std::vector<std::string>{"eager"}));
}

TEST(LadderTest, EveryRungIsExplained) {
  for (const Rung& rung : Ladder()) {
    EXPECT_GT(std::string(rung.meaning).size(), 10u);
    EXPECT_EQ(FindRung(rung.name), &rung);
  }
  EXPECT_EQ(FindRung("nonsense"), nullptr);
}

TEST(KnobsTest, RowsAreWellFormed) {
  std::set<std::string> rows;
  for (const Knob& knob : Knobs()) {
    const std::string name = knob.name;
    EXPECT_TRUE(name.starts_with("inductor.") || name.starts_with("functorch.") ||
                name.starts_with("dynamo."))
        << name;
    EXPECT_FALSE(ValueOf(knob).is_null()) << name;
    EXPECT_TRUE(rows.insert(name + "=" + knob.value).second) << name << " twice";
    EXPECT_GE(knob.invasiveness, 0);
    EXPECT_LE(knob.invasiveness, 100);
    EXPECT_STRNE(knob.cause, "");
    EXPECT_STRNE(knob.meaning, "");
  }
}

TEST(KnobsTest, OnlyThoseThatCanMatter) {
  for (const Knob* knob : KnobsFor("aot_eager", "cpu")) {
    EXPECT_FALSE(std::string(knob->name).starts_with("inductor.")) << knob->name;
  }
  bool simdlen = false;
  for (const Knob* knob : KnobsFor("inductor", "cuda")) {
    simdlen = simdlen || std::string(knob->name) == "inductor.cpp.simdlen";
  }
  EXPECT_FALSE(simdlen);
  EXPECT_GT(KnobsFor("inductor", "cpu").size(), 30u);
}

}  // namespace
}  // namespace gradfuzz::isolate
