// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/junit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/escape.h"
#include "gradfuzz/report/terminal.h"
#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

std::string Attribute(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + EscapeXml(OneLine(value)) + "\"";
}

std::string Seconds(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3f", std::isfinite(value) && value > 0 ? value : 0.0);
  return buffer;
}

std::string Case(const std::string& class_name, const std::string& name, double seconds,
                 const std::string& content) {
  return "    <testcase" + Attribute("classname", class_name) + Attribute("name", name) +
         Attribute("time", Seconds(seconds)) + ">\n" + content + "    </testcase>\n";
}

std::string Output(const std::string& text) {
  return "      <system-out>" + EscapeXml(text) + "</system-out>\n";
}

// Dots separate packages in a class name.
std::string Package(const std::string& text) {
  std::string out = OneLine(text);
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

std::string FindingCase(const Finding& f) {
  const std::string name = f.id + " " + Title(f);
  const std::string class_name =
      "gradfuzz." + Package(f.first_wrong_rung) + "." + Package(f.device);
  std::string content;
  if (!f.known_issue.empty()) {
    content = "      <skipped" + Attribute("message", "known bug: " + f.known_issue) + "/>\n";
  } else {
    content = "      <failure" + Attribute("type", Name(f.verdict)) +
              Attribute("message", Accusation(f.outcome)) + ">" +
              EscapeXml(RenderFinding(f, {.color = false, .width = 100})) + "</failure>\n";
  }
  return Case(class_name, name, f.reduction.seconds, content);
}

}  // namespace

std::string RenderJunit(const RunSummary& s) {
  std::string cases;
  int64_t tests = 1, failures = 0, errors = 0, skipped = 0;

  std::string content;
  if (s.totals.programs == 0) {
    ++errors;
    content = "      <error type=\"empty\" message=\"no program was run\"/>\n";
  }
  content += Output(RenderTotals(s, {.color = false, .width = 100}));
  cases += Case("gradfuzz.campaign",
                s.devices.empty() ? "campaign" : "campaign on " + Enumerate(s.devices),
                s.totals.seconds, content);
  for (const Finding* f : InReportOrder(s)) {
    ++tests;
    (f->known_issue.empty() ? failures : skipped) += 1;
    cases += FindingCase(*f);
  }
  for (const KnownBug& bug : s.known_bugs) {
    if (!bug.tried || bug.hits > 0) continue;
    ++tests;
    cases +=
        Case("gradfuzz.known_bugs", bug.name, 0, Output("No longer reproduces here. " + bug.link));
  }

  const std::string counts =
      Attribute("tests", std::to_string(tests)) + Attribute("failures", std::to_string(failures)) +
      Attribute("errors", std::to_string(errors)) + Attribute("skipped", std::to_string(skipped)) +
      Attribute("time", Seconds(s.totals.seconds));
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradfuzz\"" +
                    counts + ">\n  <testsuite name=\"gradfuzz\"" + counts;
  // The schema wants local time without a zone; ours is UTC.
  if (s.started.size() == 20 && s.started.back() == 'Z') {
    out += Attribute("timestamp", s.started.substr(0, 19));
  }
  out += ">\n    <properties>\n";
  const auto property = [&](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    out += "      <property" + Attribute("name", name) + Attribute("value", value) + "/>\n";
  };
  property("command", s.command);
  if (s.first_seed) property("first seed", std::to_string(*s.first_seed));
  property("shard", s.shard);
  for (const auto& [label, value] : EnvironmentRows(s.environment)) property(label, value);
  return out + "    </properties>\n" + cases + "  </testsuite>\n</testsuites>\n";
}

}  // namespace gradfuzz::report
