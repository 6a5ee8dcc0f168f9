// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/triage/page.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/report/text.h"

namespace gradfuzz::triage {
namespace {

using nlohmann::json;
using report::Count;
using report::Enumerate;
using report::OneLine;
using report::Shorten;

constexpr size_t kWidestLiteral = 240;

enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kYellow };

class Page {
 public:
  explicit Page(const report::TerminalStyle& style) : style_(style) {}

  std::string Paint(Ink ink, std::string_view text) const {
    static constexpr std::string_view kCodes[] = {"",           "\x1b[1m",  "\x1b[2m",
                                                  "\x1b[1;31m", "\x1b[32m", "\x1b[33m"};
    if (!style_.color || ink == Ink::kPlain || text.empty()) return std::string(text);
    return std::string(kCodes[static_cast<size_t>(ink)]) + std::string(text) + "\x1b[0m";
  }
  void Line(std::string_view text = "") { out_ += std::string(text) + "\n"; }
  void Text(std::string_view text, size_t indent = 0, Ink ink = Ink::kPlain) {
    const size_t room = std::max<size_t>(width() > indent ? width() - indent : 0, 20);
    for (const std::string& line : report::Wrap(OneLine(text), room)) {
      Line(std::string(indent, ' ') + Paint(ink, line));
    }
  }
  // `name`, padded, then text that hangs under its own start.
  void Row(std::string_view name, size_t name_width, std::string_view text, Ink ink) {
    const size_t indent = 2 + name_width + 2;
    const auto lines =
        report::Wrap(OneLine(text), std::max<size_t>(width() > indent ? width() - indent : 0, 30));
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string head =
          i == 0 ? "  " + report::PadRight(name, name_width) + "  " : std::string(indent, ' ');
      Line(head + Paint(ink, lines[i]));
    }
    if (lines.empty()) Line("  " + std::string(name));
  }
  void Append(const std::string& text) { out_ += text; }
  size_t width() const { return static_cast<size_t>(std::max(style_.width, 40)); }
  std::string Take() { return std::move(out_); }

 private:
  report::TerminalStyle style_;
  std::string out_;
};

size_t NameWidth(const std::vector<ScriptRung>& rungs) {
  size_t width = 4;
  for (const ScriptRung& rung : rungs) width = std::max(width, report::Width(rung.rung));
  return width;
}

std::string InWords(const Difference& d) {
  std::string text = d.call ? "call " + std::to_string(*d.call) + " " + d.what : d.what;
  if (d.kind == "tensor") {
    if (d.wrong > 0) {
      text += ": " + report::Thousands(d.wrong) + " of " + report::Thousands(d.numel) + " wrong";
      if (d.all_zero) text += ", all zero";
    } else if (d.nan) {
      text += ": NaN at other places";
    } else {
      text += ": off by " + report::Rough(d.max_error);
    }
    return text;
  }
  const std::string what = d.kind == "requires_grad" ? "requires_grad " : "";
  return text + ": " + what + d.eager + " in eager, " + d.got + " here";
}

// What the script shows under one rung, in one line.
std::string InWords(const ScriptRung& rung) {
  if (!rung.lost.empty()) return rung.lost;
  std::vector<std::string> parts;
  const std::optional<ScriptError>& error = rung.rung == "eager" ? rung.eager_error : rung.error;
  if (error) {
    std::string text = error->type;
    if (error->line > 0) text += " at line " + std::to_string(error->line);
    if (!error->message.empty()) text += ": " + Shorten(OneLine(error->message), 120);
    parts.push_back(text);
  }
  if (rung.check) {
    parts.push_back(*rung.check ? "its check() fails: " + Shorten(rung.check_detail, 160)
                                : "its check() passes");
  }
  size_t shown = 0;
  size_t hidden = 0;
  size_t close = 0;
  for (const Difference& d : rung.differences) {
    if (d.assert_close) {
      ++close;
    } else if (shown < 2) {
      parts.push_back(InWords(d));
      ++shown;
    } else {
      ++hidden;
    }
  }
  if (hidden > 0) parts.push_back("and " + Count(static_cast<int64_t>(hidden), "more difference"));
  if (parts.empty()) {
    parts.push_back(rung.rung == "eager"
                        ? (rung.differences.empty() ? "runs" : "runs, but not the same way twice")
                    : close > 0 ? "as eager, to default tolerances"
                                : "as eager, bit for bit");
  }
  if (rung.rung != "eager" && rung.calls > 0 && rung.graphs == 0) {
    parts.emplace_back("nothing was compiled");
  } else if (rung.graph_breaks > 0) {
    parts.push_back(Count(rung.graph_breaks, "graph break"));
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? "; " : "") + parts[i];
  return text;
}

void PutScript(const Report& report, Page* page) {
  const auto& rungs = report.evidence.rungs;
  if (rungs.empty()) return;
  page->Line();
  const size_t width = NameWidth(rungs);
  page->Line("  " +
             page->Paint(Ink::kDim, report::PadRight("rung", width) + "  the script itself"));
  for (const ScriptRung& rung : rungs) {
    const bool departs = rung.rung != "eager" && Departs(rung);
    page->Row(rung.rung, width, InWords(rung), departs ? Ink::kRed : Ink::kGreen);
  }
}

std::string CallLine(const CapturedCall& call) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < call.arguments.size() && i < 6; ++i)
    arguments.push_back(call.arguments[i]);
  if (call.arguments.size() > 6) arguments.emplace_back("...");
  std::string text = call.function + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i ? "; " : "") + arguments[i];
  text += ")";
  std::vector<std::string> notes;
  if (!call.program) {
    notes.push_back("only in the script as a whole: " + Shorten(call.why_opaque, 160));
  } else if (call.opaque) {
    notes.push_back("as the script's own function: " + Shorten(call.why_opaque, 160));
  } else {
    notes.push_back("as " +
                    Count(static_cast<int64_t>(call.program->statements.size()), "operator"));
  }
  if (call.program) {
    notes.emplace_back(call.backward ? "with the gradients that the script sends back"
                                     : "with a dense gradient sent back");
  }
  if (call.approximate_cotangent) notes.emplace_back("in a contiguous layout");
  if (call.redrawn) notes.emplace_back("large arguments drawn anew");
  if (call.numbers.size() > 1) {
    notes.push_back(Count(static_cast<int64_t>(call.numbers.size()), "call") + " of this kind");
  }
  for (const std::string& hazard : call.hazards) notes.push_back("uses " + hazard);
  for (const std::string& note : notes) text += ", " + note;
  return text;
}

void PutCalls(const Report& report, Page* page) {
  constexpr size_t kMost = 8;
  const Capture& capture = report.evidence.capture;
  if (report.evidence.calls.empty() && capture.calls.empty()) return;
  page->Line();
  page->Line("  " + page->Paint(Ink::kDim, "compiled calls, each by itself"));
  size_t shown = 0;
  for (const CapturedCall& call : capture.calls) {
    if (call.function.empty()) continue;  // of a script that could not be recorded
    if (shown++ == kMost) {
      page->Text(
          "... and " + Count(static_cast<int64_t>(capture.calls.size() - kMost), "more call"), 2,
          Ink::kDim);
      break;
    }
    std::string verdict = "not run by itself";
    Ink ink = Ink::kDim;
    for (const CallEvidence& e : report.evidence.calls) {
      if (capture.calls[e.call].index != call.index) continue;
      const Outcome& outcome = e.result.outcome;
      const bool wrong = IsFinding(outcome.verdict);
      verdict = gradfuzz::InWords(outcome.verdict);
      if (!outcome.first_wrong_rung.empty()) verdict += " under " + outcome.first_wrong_rung;
      ink = wrong ? Ink::kRed : Ink::kGreen;
    }
    page->Row("#" + std::to_string(call.index), 3, CallLine(call) + ": " + verdict, ink);
  }
}

// Where nothing is wrong but something differs: by PyTorch's rules.
void PutCriteria(const Report& report, Page* page) {
  if (!report.decision.call || report.decision.ruling == Ruling::kBug) return;
  const CallEvidence& e = report.evidence.calls[*report.decision.call];
  for (const RungOutcome& rung : e.result.outcome.rungs) {
    for (const Comparison& c : rung.comparisons) {
      if (rung.rung == "eager" || c.assert_close) continue;
      page->Line();
      page->Text(report::QuantityInWords(c.what) + " under " + rung.rung +
                     ": PyTorch's own rules: " + report::PyTorchSays(c),
                 2, Ink::kDim);
      return;
    }
  }
}

// The smallest repro to paste, where it is short enough for a page.
// RETURNS: whether there is one.
bool PutSnippet(const Report& report, Page* page) {
  const CallEvidence& e = report.evidence.calls[*report.decision.call];
  if (report.evidence.capture.calls[e.call].opaque) return false;
  const std::string snippet = report::EmitSnippet(report.investigation->finding);
  const auto lines = report::Lines(snippet, 40);
  // Inputs that could not be made small are no text for a page: --out writes them.
  const bool wide = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.size() > kWidestLiteral;
  });
  if (snippet.empty() || wide) return false;
  page->Line();
  page->Line("  " + page->Paint(Ink::kDim, "smallest repro"));
  for (const std::string& line : lines) page->Line(line.empty() ? "" : "  " + line);
  return true;
}

// A wrong call, investigated. The verdict has the last word; here is what it rests on.
void PutFinding(const Report& report, const report::TerminalStyle& style, const std::string& folder,
                Page* page) {
  if (!report.investigation || report.decision.ruling != Ruling::kBug) return;
  const bool shown = PutSnippet(report, page);
  page->Line();
  page->Append(report::RenderFinding(report.investigation->finding, style, folder, !shown));
  const json devices = report.evidence.environment.value("devices", json::array());
  if (std::find(devices.begin(), devices.end(), "cuda") == devices.end()) {
    page->Text("There is no GPU here: whether it is wrong on CUDA, too, was not tried.", 2,
               Ink::kDim);
  }
  const CallEvidence& e = report.evidence.calls[*report.decision.call];
  if (report.evidence.capture.calls[e.call].opaque) {
    page->Text(
        "torch._gradfuzz_script(...) stands for the script's own function, called as the script "
        "calls it: it is no single graph, so the smallest repro is the script with these "
        "arguments.",
        2, Ink::kDim);
  }
}

void PutScriptKnobs(const Report& report, Page* page) {
  if (report.script_knobs.empty()) return;
  std::vector<std::string> removes;
  size_t kept = 0;
  std::string workaround;
  for (const KnobResult& k : report.script_knobs) {
    if (!k.exists) continue;
    if (!k.removes) {
      ++kept;
      continue;
    }
    removes.push_back(k.meaning);
    if (workaround.empty()) workaround = report::KnobStatement(k.knob, k.value);
  }
  page->Line();
  if (removes.empty()) {
    page->Text("none of " + Count(static_cast<int64_t>(kept), "setting") + " removes it", 2);
    return;
  }
  page->Text("removed by: " + Enumerate(removes) + "; not by " +
                 Count(static_cast<int64_t>(kept), "other"),
             2);
  page->Text("workaround: " + workaround, 2);
}

void PutBisect(const Report& report, Page* page) {
  if (!report.bisect.is_object()) return;
  const auto text = [&](const char* key) {
    const auto found = report.bisect.find(key);
    if (found == report.bisect.end() || found->is_null()) return std::string();
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  std::string said = text("error");
  if (said.empty()) {
    said = text("backend");
    if (!text("subsystem").empty()) said += ", " + text("subsystem");
    if (!text("number").empty()) said += ", application " + text("number");
    if (!text("detail").empty()) said += " (" + Shorten(OneLine(text("detail")), 200) + ")";
  }
  page->Text("torch's bisector: " + said, 2);
}

std::string TorchOf(const json& environment) {
  return environment.is_object() ? environment.value("torch", "?") : "?";
}

std::string DecisionInWords(const Decision& d) {
  switch (d.ruling) {
    case Ruling::kBug:
      return "wrong since " + d.first_wrong_rung + ": " + d.sentence;
    case Ruling::kNotABug:
      return d.reason == Reason::kAgrees ? "right" : "not a bug: " + d.sentence;
    case Ruling::kUnclear:
      break;
  }
  return "could not tell: " + d.sentence;
}

Ink InkOf(Ruling ruling) {
  switch (ruling) {
    case Ruling::kBug:
      return Ink::kRed;
    case Ruling::kNotABug:
      return Ink::kGreen;
    case Ruling::kUnclear:
      break;
  }
  return Ink::kYellow;
}

void PutVersions(const Report& report, Page* page) {
  if (report.versions.empty()) return;
  page->Line();
  std::vector<std::pair<std::string, const Decision*>> rows = {
      {"torch " + TorchOf(report.evidence.environment), &report.decision}};
  size_t width = report::Width(rows.front().first);
  for (const Version& v : report.versions) {
    rows.emplace_back(v.error.empty() ? "torch " + TorchOf(v.environment) : v.python, &v.decision);
    width = std::max(width, report::Width(rows.back().first));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool failed = i > 0 && !report.versions[i - 1].error.empty();
    page->Row(
        rows[i].first, width,
        failed ? "not tried: " + report.versions[i - 1].error : DecisionInWords(*rows[i].second),
        failed ? Ink::kYellow : InkOf(rows[i].second->ruling));
  }
}

void PutVerdict(const Report& report, Page* page) {
  const Decision& d = report.decision;
  page->Line();
  std::string text;
  switch (d.ruling) {
    case Ruling::kBug: {
      const std::string rung =
          d.first_wrong_rung.empty() ? "" : " since " + d.first_wrong_rung + " (" + d.device + ")";
      text = "BUG" + rung + ": " + d.sentence + ".";
      if (report.investigation && !report.investigation->finding.known_issue.empty()) {
        text += " Known: " + report.investigation->finding.known_issue;
      } else if (report.investigation) {
        text += " Not among the known bugs.";
      }
      break;
    }
    case Ruling::kNotABug:
      text = "NOT A BUG: " + d.sentence + ".";
      break;
    case Ruling::kUnclear:
      text = "COULD NOT TELL: " + d.sentence + ".";
      break;
  }
  page->Text(text, 0, InkOf(d.ruling));
  page->Text("(" + report::Duration(report.seconds) + ")", 0, Ink::kDim);
}

json DecisionToJson(const Decision& d) {
  return {{"ruling", Name(d.ruling)},
          {"reason", Name(d.reason)},
          {"verdict", gradfuzz::Name(d.verdict)},
          {"first_wrong_rung", d.first_wrong_rung},
          {"first_different_rung", d.first_different_rung},
          {"device", d.device},
          {"sentence", d.sentence},
          {"exit_code", ExitCode(d)}};
}

json ErrorToJson(const std::optional<ScriptError>& error) {
  if (!error) return nullptr;
  return {{"type", error->type},
          {"message", error->message},
          {"line", error->line},
          {"source", error->source},
          {"kind", error->kind}};
}

json ScriptRungToJson(const ScriptRung& rung) {
  json differences = json::array();
  for (const Difference& d : rung.differences) {
    json row = {{"call", d.call ? json(*d.call) : json(nullptr)},
                {"what", d.what},
                {"kind", d.kind},
                {"assert_close", d.assert_close}};
    if (d.kind == "tensor") {
      row["numel"] = d.numel;
      row["wrong"] = d.wrong;
      row["max_error"] = d.max_error;
      row["scale"] = d.scale;
      row["all_zero"] = d.all_zero;
    } else {
      row["eager"] = d.eager;
      row["got"] = d.got;
    }
    differences.push_back(std::move(row));
  }
  json out = {{"rung", rung.rung},
              {"device", rung.device},
              {"seconds", rung.seconds},
              {"departs", rung.rung != "eager" && Departs(rung)},
              {"error", ErrorToJson(rung.error)},
              {"differences", std::move(differences)},
              {"graphs", rung.graphs},
              {"graph_breaks", rung.graph_breaks}};
  if (rung.check) out["check"] = {{"wrong", *rung.check}, {"detail", rung.check_detail}};
  if (!rung.lost.empty()) out["lost"] = rung.lost;
  return out;
}

}  // namespace

std::string CallInWords(const CapturedCall& call) {
  return call.program && !call.opaque ? program::OpChain(*call.program) : call.function;
}

std::string RenderPage(const Report& report, const report::TerminalStyle& style,
                       const std::string& folder) {
  Page page(style);
  const Capture& capture = report.evidence.capture;
  const json& environment = report.evidence.environment;
  page.Text(report.source.name + ", torch " + TorchOf(environment) + ", " +
                (report.decision.device.empty() ? "cpu" : report.decision.device),
            0, Ink::kBold);
  if (capture.mapped_to_cpu) {
    page.Text(
        "The script asks for CUDA and there is no GPU here: everything below was run on the "
        "CPU.",
        2, Ink::kYellow);
  }
  PutScript(report, &page);
  PutCalls(report, &page);
  PutCriteria(report, &page);
  PutFinding(report, style, folder, &page);
  PutScriptKnobs(report, &page);
  PutBisect(report, &page);
  PutVersions(report, &page);
  PutVerdict(report, &page);
  return page.Take();
}

json ToJson(const Report& report) {
  json calls = json::array();
  for (const CapturedCall& call : report.evidence.capture.calls) {
    json row = {{"index", call.index},
                {"function", call.function},
                {"arguments", call.arguments},
                {"names", call.names},
                {"options", call.options},
                {"hazards", call.hazards},
                {"opaque", call.opaque},
                {"why_opaque", call.why_opaque},
                {"backward", call.backward},
                {"program", call.program ? program::ToJson(*call.program) : json(nullptr)},
                {"outcome", nullptr}};
    for (const CallEvidence& e : report.evidence.calls) {
      if (report.evidence.capture.calls[e.call].index == call.index) {
        row["outcome"] = gradfuzz::ToJson(e.result.outcome);
      }
    }
    calls.push_back(std::move(row));
  }
  json rungs = json::array();
  for (const ScriptRung& rung : report.evidence.rungs) rungs.push_back(ScriptRungToJson(rung));
  json versions = json::array();
  for (const Version& v : report.versions) {
    versions.push_back({{"python", v.python},
                        {"torch", TorchOf(v.environment)},
                        {"error", v.error},
                        {"decision", DecisionToJson(v.decision)}});
  }
  json knobs = json::array();
  for (const KnobResult& k : report.script_knobs) {
    knobs.push_back({{"knob", k.knob},
                     {"value", k.value},
                     {"meaning", k.meaning},
                     {"exists", k.exists},
                     {"removes", k.removes}});
  }
  return {{"script", report.source.name},
          {"form", report.evidence.capture.form},
          {"mapped_to_cpu", report.evidence.capture.mapped_to_cpu},
          {"script_error", ErrorToJson(report.evidence.capture.error)},
          {"log", report.evidence.capture.log},
          {"environment", report.evidence.environment},
          {"decision", DecisionToJson(report.decision)},
          {"calls", std::move(calls)},
          {"rungs", std::move(rungs)},
          {"finding",
           report.investigation ? gradfuzz::ToJson(report.investigation->finding) : json(nullptr)},
          {"script_knobs", std::move(knobs)},
          {"bisect", report.bisect},
          {"versions", std::move(versions)},
          {"seconds", report.seconds}};
}

}  // namespace gradfuzz::triage
