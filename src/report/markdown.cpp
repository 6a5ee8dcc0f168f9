// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/markdown.h"

#include <algorithm>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/escape.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/report/rung_table.h"
#include "gradfuzz/report/text.h"
#include "gradfuzz/report/trigger_groups.h"

namespace gradfuzz::report {
namespace {

constexpr size_t kMaxElements = 12;
constexpr size_t kMaxErrorLines = 60;
constexpr size_t kMaxDetail = 160;  // characters of an eager error, say

// Cells are Markdown already.
class Table {
 public:
  explicit Table(const std::vector<std::string>& head) {
    Row(head);
    text_ += "|";
    for (size_t i = 0; i < head.size(); ++i) text_ += " --- |";
    text_ += "\n";
  }
  void Row(const std::vector<std::string>& cells) {
    text_ += "|";
    for (const std::string& cell : cells) text_ += " " + (cell.empty() ? "" : cell + " ") + "|";
    text_ += "\n";
  }
  std::string Text() const { return text_ + "\n"; }

 private:
  std::string text_;
};

std::string Sentence(const std::string& text) { return EscapeMarkdown(text) + "\n\n"; }

std::string LinkOr(const std::string& text, const std::string& address) {
  const std::string link = SafeLink(address);
  return link.empty() ? EscapeMarkdown(text) : "[" + EscapeMarkdown(text) + "](" + link + ")";
}

std::string Elements(const Comparison& c, const std::string& rung) {
  std::string out;
  const std::vector<Element> elements = WrongElements(c, kMaxElements);
  if (elements.empty()) return out;
  Table table({"element", "float64 reference", "eager", EscapeMarkdown(rung)});
  for (const Element& e : elements) {
    const bool has_eager = static_cast<size_t>(e.flat) < c.eager.size();
    table.Row({MarkdownCode(Position(e.flat, c.sizes)), Number(e.reference),
               has_eager ? Number(e.eager) : "", "**" + Number(e.got) + "**"});
  }
  out += table.Text();
  if (c.wrong > static_cast<int64_t>(elements.size())) {
    out += "... and " + Thousands(c.wrong - static_cast<int64_t>(elements.size())) + " more.\n\n";
  }
  return out;
}

std::string Describe(const Finding& f) {
  const RungOutcome* rung = FirstWrong(f.outcome);
  std::string out = Sentence(f.first_wrong_rung + " on " + f.device + ": " + Accusation(f.outcome) +
                             ". " + Isolation(f.outcome) + ".");
  if (rung == nullptr) return out;
  for (const Comparison* c : WrongComparisons(*rung)) {
    out += "**" + EscapeMarkdown(QuantityInWords(c->what)) +
           "**: " + EscapeMarkdown(WhatIsWrong(*c)) + ".";
    const std::string sides = Sides(*c, rung->rung);
    if (!sides.empty()) out += " " + EscapeMarkdown(sides) + ".";
    const std::string rules = PyTorchSays(*c);
    if (!rules.empty()) out += " " + EscapeMarkdown(rules) + ".";
    out += "\n\n";
    out += Elements(*c, rung->rung);
  }
  return out;
}

std::string Reproducer(const Finding& f) {
  const std::string repro = EmitRepro(f);
  const std::string snippet = EmitSnippet(f);
  std::string out = "### Minimal reproducer\n\n";
  if (snippet.empty()) return out + MarkdownBlock(repro, "python") + "\n";
  out += MarkdownBlock(snippet, "python") + "\n";
  return out +
         "<details><summary>The same as a script that compares with eager and float64, and exits "
         "with 1 while the bug is there</summary>\n\n" +
         MarkdownBlock(repro, "python") + "\n</details>\n\n";
}

std::string Rungs(const Finding& f) {
  const RungTable table = MakeRungTable(f.outcome);
  std::vector<std::string> head = {"backend"};
  for (const std::string& column : table.columns) head.push_back(EscapeMarkdown(column));
  head.emplace_back("");
  head.emplace_back("what it runs");
  Table out(head);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RungRow& row = table.rows[i];
    std::vector<std::string> cells = {MarkdownCode(row.name)};
    for (const RungCell& cell : row.cells) {
      cells.push_back(cell.state == RungCell::State::kWrong
                          ? "**" + EscapeMarkdown(cell.text) + "**"
                          : EscapeMarkdown(cell.text));
    }
    cells.push_back(EscapeMarkdown(row.remark));
    cells.push_back(EscapeMarkdown(RungInWords(f.outcome.rungs[i].rung)));
    out.Row(cells);
  }
  return "### Ablation: which backend\n\n" + out.Text();
}

std::string List(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + EscapeMarkdown(item);
  return out;
}

std::string Folded(const std::string& summary, const std::string& content) {
  return "<details><summary>" + summary + "</summary>\n\n" + content + "</details>\n\n";
}

std::string Triggers(const Finding& f) {
  if (f.triggers.empty()) return "";
  Table groups({"changed", "still wrong", "right", "other"});
  for (const TriggerGroup& g : GroupTriggers(f.triggers)) {
    groups.Row({EscapeMarkdown(g.axis), List(g.wrong), List(g.right), List(g.other)});
  }
  Table table({"changed", "how", "result", "detail"});
  for (const TriggerRow& t : f.triggers) {
    const std::string result = !t.tried                       ? "not tried"
                               : t.wrong                      ? "**still wrong**"
                               : t.verdict == Verdict::kAgree ? "right"
                                                              : EscapeMarkdown(InWords(t.verdict));
    table.Row({EscapeMarkdown(t.axis), EscapeMarkdown(t.change), result,
               EscapeMarkdown(Shorten(OneLine(t.detail), kMaxDetail))});
  }
  return "### What does and does not trigger it\n\n"
         "The reproducer with one thing changed at a time.\n\n" +
         groups.Text() + Folded("Every change that was tried", table.Text());
}

std::string Settings(const Finding& f) {
  if (f.ablation.empty() && f.workaround.empty()) return "";
  std::string out = "### Ablation: which settings\n\n";
  if (!f.workaround.empty()) out += "Workaround: " + MarkdownCode(f.workaround) + "\n\n";
  Table cures({"setting", "meaning", "result"});
  Table others({"setting", "meaning", "result"});
  int64_t removing = 0, without_effect = 0;
  for (const KnobResult& k : f.ablation) {
    if (!k.exists) continue;
    std::string setting = KnobStatement(k.knob, k.value);
    if (setting.empty()) setting = k.knob;
    ++(k.removes ? removing : without_effect);
    (k.removes ? cures : others)
        .Row({MarkdownCode(setting), EscapeMarkdown(k.meaning),
              k.removes              ? "**removes it**"
              : IsFinding(k.verdict) ? "no effect"
                                     : EscapeMarkdown(InWords(k.verdict))});
  }
  if (removing > 0) {
    out += cures.Text();
  } else if (f.workaround.empty()) {
    out += "No single setting that was tried removes the bug.\n\n";
  }
  if (without_effect > 0) {
    out += Folded(Count(without_effect, "setting") + " that did not help", others.Text());
  }
  return out;
}

std::string Provenance(const Finding& f) {
  std::vector<std::string> parts;
  std::string text =
      "Found by gradfuzz, which compares random differentiable programs between "
      "eager and torch.compile against a float64 reference. ";
  if (f.hits > 1) parts.push_back("hit by " + Count(f.hits, "random program"));
  if (f.first_seed) parts.push_back("first by seed " + std::to_string(*f.first_seed));
  const std::string confirmed = Confirmation(f);
  if (!confirmed.empty()) parts.push_back(confirmed);
  if (f.reduction.queries > 0) {
    parts.push_back("reduced from " + Count(f.reduction.statements_before, "statement") + " to " +
                    std::to_string(f.reduction.statements_after) + " (" + f.reduction.status + ")");
  }
  std::string list;
  for (size_t i = 0; i < parts.size(); ++i) list += (i ? ", " : "") + parts[i];
  if (!list.empty()) {
    list[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(list[0])));
    text += list + ".";
  }
  std::string out = Sentence(text);
  out += "Label for an issue: \"topic: fuzzer\".\n\n";
  if (!f.known_issue.empty()) out += "Known as " + LinkOr(f.known_issue, f.known_issue) + ".\n\n";
  if (!f.bisect.is_null()) {
    out +=
        "torch's CompilerBisector says:\n\n" +
        MarkdownBlock(f.bisect.is_string()
                          ? f.bisect.get<std::string>()
                          : f.bisect.dump(2, ' ', false, nlohmann::json::error_handler_t::replace),
                      "text") +
        "\n";
  }
  return out;
}

std::string ErrorLogs(const Finding& f) {
  const RungOutcome* rung = FirstWrong(f.outcome);
  if (rung == nullptr || rung->error.empty()) {
    return f.outcome.note.empty() ? "None: the wrong result is silent.\n\n"
                                  : MarkdownBlock(f.outcome.note, "text") + "\n";
  }
  std::string text;
  for (const std::string& line : Lines(rung->error, kMaxErrorLines)) text += line + "\n";
  return MarkdownBlock(text, "text") + "\n";
}

std::string Versions(const nlohmann::json& environment) {
  std::string out;
  for (const auto& [label, value] : EnvironmentRows(environment)) {
    out += label + ": " + value + "\n";
  }
  return out.empty() ? "unknown\n" : MarkdownBlock(out, "text");
}

std::string FolderLink(const Finding& f) {
  const bool plain = !f.id.empty() && std::all_of(f.id.begin(), f.id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  return plain ? "[" + MarkdownCode(f.id) + "](findings/" + f.id + "/report.md)"
               : MarkdownCode(f.id);
}

}  // namespace

std::string RenderReport(const Finding& f) {
  std::string out = "# " + EscapeMarkdown(Title(f)) + "\n\n";
  out += "## 🐛 Describe the bug\n\n";
  out += Describe(f);
  out += Reproducer(f);
  out += Rungs(f);
  out += Triggers(f);
  out += Settings(f);
  out += "### How it was found\n\n" + Provenance(f);
  out += "## Error logs\n\n" + ErrorLogs(f);
  out += "## Versions\n\n" + Versions(f.environment);
  return out;
}

std::string RenderSummary(const RunSummary& s) {
  const RunTotals& t = s.totals;
  const auto known = std::count_if(s.findings.begin(), s.findings.end(),
                                   [](const Finding& f) { return !f.known_issue.empty(); });
  const auto fresh = static_cast<int64_t>(s.findings.size()) - known;
  std::string head = fresh > 0 ? Count(fresh, "new finding") : "no new finding";
  if (known > 0) head += ", " + Count(known, "known bug");
  std::string out = "# gradfuzz: " + head + "\n\n";
  std::vector<std::string> facts;
  if (s.environment.is_object() && s.environment.contains("torch") &&
      s.environment["torch"].is_string()) {
    facts.push_back("torch " + s.environment["torch"].get<std::string>());
  }
  if (!s.devices.empty()) facts.push_back(Enumerate(s.devices));
  facts.push_back(Count(t.programs, "program") + " in " + Duration(t.seconds));
  facts.push_back(Count(t.gradients_compared, "gradient tensor") + " compared");
  if (s.first_seed) facts.push_back("from seed " + std::to_string(*s.first_seed));
  if (!s.shard.empty()) facts.push_back("shard " + s.shard);
  if (!s.end.empty()) facts.push_back(s.end);
  std::string line;
  for (size_t i = 0; i < facts.size(); ++i) line += (i ? ", " : "") + facts[i];
  out += Sentence(line + ".");
  for (const std::string& warning : s.warnings) {
    out += "> warning: " + EscapeMarkdown(warning) + "\n\n";
  }
  if (!s.findings.empty()) {
    Table table({"", "finding", "what", "first wrong", "ops", "hits", "workaround"});
    for (const Finding* f : InReportOrder(s)) {
      table.Row({f->known_issue.empty() ? "**new**" : LinkOr("known", f->known_issue),
                 FolderLink(*f), EscapeMarkdown(Title(*f)),
                 EscapeMarkdown(f->first_wrong_rung + ", " + f->device),
                 MarkdownCode(program::OpChain(f->reduced)), Thousands(f->hits),
                 MarkdownCode(f->workaround)});
    }
    out += table.Text();
  }
  const bool gone = std::any_of(s.known_bugs.begin(), s.known_bugs.end(),
                                [](const KnownBug& k) { return k.tried && k.hits == 0; });
  if (gone) {
    out += "Known bugs that no longer reproduce here:\n\n";
    for (const KnownBug& k : s.known_bugs) {
      if (k.tried && k.hits == 0) out += "- " + LinkOr(k.name, k.link) + "\n";
    }
    out += "\n";
  }
  if (!t.verdicts.empty()) {
    Table table({"verdict", "programs"});
    for (const auto& [verdict, count] : t.verdicts) {
      table.Row({EscapeMarkdown(InWords(verdict)), Thousands(count)});
    }
    out += "<details><summary>All verdicts</summary>\n\n" + table.Text() + "</details>\n\n";
  }
  if (!s.command.empty()) out += MarkdownCode(s.command) + "\n";
  return out;
}

}  // namespace gradfuzz::report
