// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/heat_map.h"
#include "gradfuzz/report/rate_chart.h"
#include "gradfuzz/report/text.h"
#include "unit/report/golden.h"
#include "unit/report/sample.h"
#include "unit/report/well_formed.h"

namespace gradfuzz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Elements of HTML that have no end.
const std::set<std::string> kVoid = {"meta", "input", "br", "wbr"};

RunSummary HostileRun() {
  RunSummary run = sample::Run();
  run.findings.push_back(sample::Hostile());
  run.findings[0].known_issue = sample::kHostile;
  run.command = run.end = run.shard = run.started = run.finished = sample::kHostile;
  run.gradfuzz_version = sample::kHostile;
  run.devices = run.warnings = {sample::kHostile};
  run.environment = {{"torch", sample::kHostile}, {sample::kHostile, {sample::kHostile}}};
  for (KnownBug& bug : run.known_bugs) bug.name = bug.link = sample::kHostile;
  for (Yield& y : run.yields) y.axis = y.name = sample::kHostile;
  return run;
}

TEST(Html, IsOneWellFormedFile) {
  const std::string html = RenderHtml(sample::Run());
  ExpectWellFormed(html, kVoid);
  // Nothing is fetched: no sources, and links only lead to anchors, files beside it and issues.
  EXPECT_THAT(html, Not(HasSubstr(" src=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(http")));
  EXPECT_EQ(CountOf(html, "<script"), 1U);
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Html, HostileTextIsOnlyText) {
  std::string html = RenderHtml(HostileRun());
  ExpectWellFormed(html, kVoid);
  EXPECT_EQ(CountOf(html, "<script"), 1U);
  EXPECT_EQ(CountOf(html, "</script"), 1U);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  for (size_t at; (at = html.find("<wbr>")) != std::string::npos;) html.erase(at, 5);
  EXPECT_GT(CountOf(html, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"), 20U);
  EXPECT_THAT(html, HasSubstr("é∂🐛"));  // what is fine stays
  // The page's script holds nothing foreign.
  const size_t begin = html.find("<script>");
  EXPECT_THAT(html.substr(begin, html.find("</script>") - begin), Not(HasSubstr("onerror")));
}

TEST(Html, NewFindingsFirstAndTheFirstIsOpen) {
  const std::string html = RenderHtml(sample::Run());
  const size_t diagonal = html.find("id=\"f-3f1c9a5d2b7e8041\"");
  const size_t atan2 = html.find("id=\"f-b04d77c2e95a6013\"");
  const size_t known = html.find("id=\"f-77aa00ff11223344\"");
  EXPECT_LT(diagonal, atan2);
  EXPECT_LT(atan2, known);
  EXPECT_EQ(CountOf(html, "class=\"finding\" id=\"f-3f1c9a5d2b7e8041\" open"), 1U);
  EXPECT_EQ(CountOf(html, " open>"), 1U);
}

TEST(Html, EmptyRun) {
  const std::string html = RenderHtml(RunSummary{});
  ExpectWellFormed(html, kVoid);
  EXPECT_THAT(html, HasSubstr("No finding."));
}

TEST(HeatMap, MarksWhatIsWrongAndWhatIsNoNumber) {
  Comparison c;
  c.sizes = {2, 3};
  c.numel = 6;
  c.tolerance = 0.1;
  c.reference = {1, -2, 0, 1, 1, 1};
  c.eager = c.reference;
  c.got = {1, -2.05, NAN, INFINITY, -1, 1};
  const HeatMaps maps = RenderHeatMaps(c);
  EXPECT_EQ(maps.scale, 2);
  EXPECT_EQ(maps.shown, 6U);
  EXPECT_EQ(CountOf(maps.got, "class=\"wrong\""), 3U);
  EXPECT_EQ(CountOf(maps.expected, "class=\"wrong\""), 0U);
  EXPECT_EQ(CountOf(maps.got, "url(#nan)"), 1U);
  EXPECT_THAT(maps.got, HasSubstr("[0, 2]: NaN, expected 0"));
  EXPECT_THAT(maps.got, HasSubstr(">+∞</text>"));
  // -2 is full blue, on the scale of the reference.
  EXPECT_THAT(maps.expected, HasSubstr("#2166ac"));
}

TEST(HeatMap, EachElementHasATolerance) {
  Comparison c;
  c.sizes = {3};
  c.numel = 3;
  c.wrong = 1;
  c.tolerance = 0.001;  // of the element that is worst beside what it may do
  c.reference = {100, 1, 0.5};
  c.eager = c.reference;
  c.got = {100.01, 1, 0.502};
  c.wrong_at = {2};
  EXPECT_EQ(CountOf(RenderHeatMaps(c).got, "class=\"wrong\""), 1U);
  const std::vector<Element> elements = WrongElements(c, 4);
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_EQ(elements[0].flat, 2);
}

TEST(HeatMap, ComplexNumbersShowBothParts) {
  Comparison c;
  c.sizes = {2};
  c.numel = 2;
  c.wrong = 1;
  c.tolerance = 0.1;
  c.reference = {{3, 4}, 1};
  c.eager = c.reference;
  c.got = {{3, -4}, 1};
  const HeatMaps maps = RenderHeatMaps(c);
  EXPECT_TRUE(maps.moduli);
  EXPECT_EQ(maps.scale, 5);
  EXPECT_THAT(maps.got, HasSubstr("[0]: 3-4j, expected 3+4j"));
  EXPECT_THAT(maps.got, HasSubstr(">5</text>"));
  EXPECT_EQ(CountOf(maps.got, "class=\"wrong\""), 1U);
  const std::vector<Element> elements = WrongElements(c, 4);
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_EQ(Number(elements[0].got), "3-4j");
}

TEST(HeatMap, EveryShapeFits) {
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {}, {1}, {0}, {5}, {1025}, {1, 300}, {300, 1}, {2, 3, 4}, {2, 2, 2, 2}, {64, 64}}) {
    Comparison c;
    c.sizes = sizes;
    c.numel = 1;
    for (int64_t s : sizes) c.numel *= s;
    c.reference.assign(static_cast<size_t>(c.numel), 1);
    c.got.assign(static_cast<size_t>(c.numel), 0);
    const HeatMaps maps = RenderHeatMaps(c);
    if (c.numel == 0) {
      EXPECT_EQ(maps.got, "");
      continue;
    }
    const size_t at = maps.got.find(" width=\"") + 8;
    EXPECT_LE(std::stoi(maps.got.substr(at)), 310) << c.numel;
    EXPECT_EQ(CountOf(maps.got, "<title>"), std::min<size_t>(c.got.size(), kMaxCells));
  }
}

TEST(RateChart, NeedsTimeThatPasses) {
  EXPECT_EQ(RenderRateChart({}), "");
  EXPECT_EQ(RenderRateChart({{.seconds = 1}, {.seconds = 1}}), "");
  const std::string chart = RenderRateChart({{.seconds = 0},
                                             {.seconds = 60, .programs = 150},
                                             {.seconds = 120, .programs = 280, .findings = 2}});
  EXPECT_THAT(chart, HasSubstr(">200</text>"));  // the axis ends at a round number
  EXPECT_THAT(chart, HasSubstr("<title>2 findings at 2 min 00 s</title>"));
}

}  // namespace
}  // namespace gradfuzz::report
