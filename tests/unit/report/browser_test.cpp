// SPDX-License-Identifier: BSD-3-Clause
// report.html in a real browser: a Chromium, on PATH or named by GRADFUZZ_TEST_BROWSER.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "gradfuzz/report/html.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"
#include "unit/report/golden.h"
#include "unit/report/sample.h"

namespace gradfuzz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The command that starts a Chromium; empty where there is none.
std::string Browser() {
  const std::string given = EnvOr("GRADFUZZ_TEST_BROWSER", "");
  if (!given.empty()) return given;
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) {
      return name;
    }
  }
  return "";
}

// Loads the page with a script appended that acts as a user would and returns a list of strings;
// RETURNS: the page after it, as the browser has it.
std::string Act(const std::string& html, const std::string& script, const std::string& hash = "",
                int width = 1280) {
  const std::string folder = *MakeTempFolder(TempFolder(), "gradfuzz-browser-");
  std::string page = html;
  page.insert(page.rfind("</body>"),
              "<pre id=\"answers\"></pre><script>\n"
              "const answers = [];\n"
              "const press = (key) => (document.activeElement || document.body).dispatchEvent("
              "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));\n"
              "const say = (name, value) => answers.push(name + '=' + value);\n" +
                  script +
                  "\ndocument.getElementById('answers').textContent = answers.join(';');\n"
                  "</script>");
  const std::string file = JoinPath(folder, "report.html");
  EXPECT_TRUE(WriteFileAtomic(file, page).ok());
  const std::string command = Browser() +
                              " --headless --no-sandbox --disable-gpu --hide-scrollbars"
                              " --user-data-dir=" +
                              folder + "/profile --window-size=" + std::to_string(width) +
                              ",900 --virtual-time-budget=2000 --dump-dom 'file://" + file + hash +
                              "' 2>/dev/null";
  std::string out;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[65536];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    pclose(pipe);
  }
  RemoveTree(folder);
  return out;
}

std::string Answers(const std::string& dom) {
  const std::string head = "<pre id=\"answers\">";
  const size_t begin = dom.find(head);
  if (begin == std::string::npos) return "no answer: " + dom.substr(0, 200);
  return dom.substr(begin + head.size(), dom.find("</pre>", begin) - begin - head.size());
}

TEST(Browser, FilterKeysAndLinks) {
  if (Browser().empty()) GTEST_SKIP() << "there is no Chromium";
  const std::string answers = Answers(Act(RenderHtml(sample::Run()), R"js(
    const rows = () => [...document.querySelectorAll("table.findings tbody tr")].filter((r) => !r.hidden).length;
    const filter = document.getElementById("filter");
    say("all", rows());
    press("/");
    say("slash focuses", document.activeElement === filter);
    filter.value = "ATAN2 float32";
    filter.dispatchEvent(new Event("input"));
    say("filtered", rows());
    say("said", document.getElementById("shown").textContent);
    press("ArrowDown");
    say("down leads to", document.activeElement.getAttribute("href"));
    filter.focus();
    press("Escape");
    say("escape shows", rows());
    press("j");
    say("j", document.activeElement.getAttribute("href"));
    press("j");
    say("jj", document.activeElement.getAttribute("href"));
    press("k");
    say("jjk", document.activeElement.getAttribute("href"));
    document.getElementById("known").click();
    say("without known", rows());
    say("copy buttons", document.querySelectorAll("button[data-copy]:not([hidden])").length > 3);
    const target = document.getElementById("f-b04d77c2e95a6013");
    say("linked one open", target.open);
  )js",
                                          "#f-b04d77c2e95a6013"));
  EXPECT_EQ(answers,
            "all=3;slash focuses=true;filtered=1;said=1 of 3 shown;"
            "down leads to=#f-b04d77c2e95a6013;escape shows=3;j=#f-3f1c9a5d2b7e8041;"
            "jj=#f-b04d77c2e95a6013;jjk=#f-3f1c9a5d2b7e8041;without known=2;copy buttons=true;"
            "linked one open=true");
}

TEST(Browser, NothingHostileRunsAndNothingOverflows) {
  if (Browser().empty()) GTEST_SKIP() << "there is no Chromium";
  RunSummary run = sample::Run();
  run.findings.push_back(sample::Hostile());
  run.command = run.end = sample::kHostile;
  run.environment = run.findings.back().environment;
  for (int width : {500, 1280}) {  // a window cannot be narrower than 500
    const std::string dom = Act(RenderHtml(run), R"js(
      for (const d of document.querySelectorAll("details")) d.open = true;
      say("images", document.images.length);
      say("scripts", document.scripts.length);
      say("width", innerWidth);
      say("overflow", document.documentElement.scrollWidth > innerWidth);
    )js",
                                "", width);
    // The page's own script and the one of this test.
    EXPECT_EQ(Answers(dom),
              "images=0;scripts=2;width=" + std::to_string(width) + ";overflow=false");
  }
}

}  // namespace
}  // namespace gradfuzz::report
