// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "gradfuzz/report/escape.h"
#include "unit/report/golden.h"
#include "unit/report/sample.h"

namespace gradfuzz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The text without fenced blocks and code spans: what a renderer may take for markup.
std::string WithoutCode(const std::string& text) {
  std::istringstream lines(text);
  std::string out, fence;
  for (std::string line; std::getline(lines, line);) {
    const size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence.empty() && ticks >= 3) {
      fence = line.substr(0, ticks);
    } else if (!fence.empty()) {
      if (line == fence) fence.clear();
    } else {
      out += line + "\n";
    }
  }
  EXPECT_EQ(fence, "");
  for (size_t begin; (begin = out.find('`')) != std::string::npos;) {
    if (begin > 0 && out[begin - 1] == '\\') {
      out.replace(begin - 1, 2, "'");
      continue;
    }
    const size_t ticks = out.find_first_not_of('`', begin) - begin;
    const size_t end = out.find(std::string(ticks, '`'), begin + ticks);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a code span that does not end: " << out.substr(begin, 80);
      break;
    }
    out.erase(begin, end + ticks - begin);
  }
  return out;
}

TEST(Markdown, Report) {
  ExpectGolden("report_atan2_amin.md", RenderReport(sample::Atan2Amin()));
  ExpectGolden("report_compile_error.md", RenderReport(sample::CompileError()));
}

TEST(Markdown, Summary) { ExpectGolden("summary.md", RenderSummary(sample::Run())); }

TEST(Markdown, OrderIsThatOfTheBugForm) {
  const std::string text = RenderReport(sample::DiagonalScatter());
  size_t last = 0;
  for (const char* section :
       {"# Inductor", "Describe the bug", "Minimal reproducer", "which backend", "trigger it",
        "which settings", "Error logs", "Versions"}) {
    const size_t at = text.find(section);
    ASSERT_NE(at, std::string::npos) << section;
    EXPECT_GE(at, last) << section;
    last = at;
  }
}

TEST(Markdown, HostileTextStaysText) {
  RunSummary run = sample::Run();
  run.findings.push_back(sample::Hostile());
  run.command = run.end = run.shard = sample::kHostile;
  run.warnings = {sample::kHostile};
  run.known_bugs[1].name = run.known_bugs[1].link = sample::kHostile;
  for (const std::string& text : {RenderReport(sample::Hostile()), RenderSummary(run)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    const std::string markup = WithoutCode(text);
    EXPECT_GT(markup.size(), 500U);
    EXPECT_THAT(markup, Not(HasSubstr("<img")));
    EXPECT_THAT(markup, Not(HasSubstr("</script>")));
    EXPECT_THAT(markup, Not(HasSubstr("\n# heading")));
    EXPECT_THAT(markup, Not(HasSubstr("](javascript")));
    // Every table row has as many cells as the head of its table.
    std::istringstream lines(markup);
    std::ptrdiff_t bars = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("|")) {
        bars = 0;
        continue;
      }
      std::ptrdiff_t here = 0;
      for (size_t i = 0; i < line.size(); ++i)
        here += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      if (bars == 0) bars = here;
      EXPECT_EQ(here, bars) << line;
    }
  }
}

TEST(Escape, Markdown) {
  EXPECT_EQ(EscapeMarkdown("a|b_c _d_ <x> @y"), "a\\|b_c \\_d\\_ &lt;x> &#64;y");
  EXPECT_EQ(MarkdownCode("a`b|c"), "``a`b\\|c``");
  EXPECT_EQ(MarkdownCode("`"), "`` ` ``");
  EXPECT_EQ(MarkdownBlock("x\n```\ny\n", "text"), "````text\nx\n```\ny\n````\n");
  EXPECT_EQ(SafeLink("https://github.com/pytorch/pytorch/issues/1"),
            "https://github.com/pytorch/pytorch/issues/1");
  EXPECT_EQ(SafeLink("javascript:alert(1)"), "");
  EXPECT_EQ(SafeLink("https://x/\" onclick=\"y"), "");
}

TEST(Escape, HtmlAndXml) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  EXPECT_EQ(EscapeHtml("\x01\xFF"), "\\x01\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("\x1b[2J\xEF\xBF\xBF"), "\\x1b[2J\xEF\xBF\xBD");
  EXPECT_EQ(EscapeJsonForHtml("{\"a\": \"</script><!--\"}"),
            "{\"a\": \"\\u003c/script>\\u003c!--\"}");
}

}  // namespace
}  // namespace gradfuzz::report
