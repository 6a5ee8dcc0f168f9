// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/html.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/escape.h"
#include "gradfuzz/report/heat_map.h"
#include "gradfuzz/report/rate_chart.h"
#include "gradfuzz/report/repro.h"
#include "gradfuzz/report/rung_table.h"
#include "gradfuzz/report/text.h"
#include "gradfuzz/report/trigger_groups.h"
#include "html_template.h"

namespace gradfuzz::report {
namespace {

constexpr size_t kMaxPictures = 3;  // wrong quantities shown per finding
constexpr size_t kMaxValueRows = 64;
constexpr size_t kMaxErrorLines = 80;
constexpr size_t kMaxDetail = 160;    // characters of an eager error, say
constexpr size_t kMaxYieldRows = 12;  // per table; the rest is folded away

std::string E(std::string_view text) { return EscapeHtml(text); }

// Long dotted names may be broken after a dot or underscore, which copying does not see.
std::string Code(std::string_view text) {
  if (text.empty()) return "";
  std::string out = "<code>";
  std::string word;
  for (char c : OneLine(text)) {
    word += c;
    if (c != '.' && c != '_') continue;
    out += E(word) + "<wbr>";
    word.clear();
  }
  return out + E(word) + "</code>";
}

std::string Link(const std::string& text, const std::string& address) {
  const std::string link = SafeLink(address);
  return link.empty() ? E(text)
                      : "<a href=\"" + E(link) + "\" rel=\"noreferrer\">" + E(text) + "</a>";
}

// An id that may stand in an attribute and after '#'.
std::string Anchor(const std::string& id) {
  std::string out = "f-";
  for (char c : id) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  return out;
}

bool IsPlainId(const std::string& id) { return Anchor(id) == "f-" + id && !id.empty(); }

class Table {
 public:
  // A head that starts with '#' is a column of numbers; with '-', one left out on narrow screens;
  // with '~', both; with '!', one that is never broken.
  explicit Table(const std::vector<std::string>& head, const char* kind = "") {
    out_ = std::string("<div class=\"scroll\"><table") +
           (*kind ? " class=\"" + std::string(kind) + "\"" : "") + "><thead><tr>";
    for (const std::string& h : head) {
      classes_.push_back(h.starts_with('#')   ? "n"
                         : h.starts_with('-') ? "wide"
                         : h.starts_with('~') ? "n wide"
                         : h.starts_with('!') ? "result"
                                              : "");
      const std::string label = classes_.back().empty() ? h : h.substr(1);
      out_ += "<th scope=\"col\"" + Class(classes_.size() - 1) + ">" + E(label) + "</th>";
    }
    out_ += "</tr></thead><tbody>";
  }
  // Cells are HTML already.
  void Row(const std::vector<std::string>& cells, const std::string& attributes = "") {
    out_ += "<tr" + attributes + ">";
    for (size_t i = 0; i < cells.size(); ++i) out_ += "<td" + Class(i) + ">" + cells[i] + "</td>";
    out_ += "</tr>\n";
  }
  std::string Text() const { return out_ + "</tbody></table></div>\n"; }

 private:
  std::string Class(size_t column) const {
    const std::string& name = column < classes_.size() ? classes_[column] : classes_.back();
    return name.empty() ? "" : " class=\"" + name + "\"";
  }
  std::string out_;
  std::vector<std::string> classes_;
};

// Code with a button that copies it; the button appears with the script.
std::string CopyBlock(const std::string& id, const std::string& text, const char* label) {
  return "<div class=\"code\"><button type=\"button\" hidden data-copy=\"" + id + "\">" +
         std::string(label) + "</button><pre id=\"" + id + "\" tabindex=\"0\">" + E(text) +
         "</pre></div>\n";
}

std::string Tile(const std::string& value, const std::string& label, const char* kind = "") {
  return "<li><b" + (*kind ? " class=\"" + std::string(kind) + "\"" : std::string()) + ">" +
         E(value) + "</b><span>" + E(label) + "</span></li>";
}

std::string Tiles(const RunSummary& s, int64_t fresh, int64_t known) {
  const RunTotals& t = s.totals;
  std::string out = "<ul class=\"tiles\">";
  out +=
      Tile(Thousands(fresh), fresh == 1 ? "new finding" : "new findings", fresh ? "bad" : "good");
  out += Tile(Thousands(known), known == 1 ? "known bug" : "known bugs");
  out += Tile(Thousands(t.mismatches), "mismatching programs");
  out += Tile(Thousands(t.programs), "programs");
  out += Tile(Thousands(t.gradients_compared), "gradient tensors compared");
  if (t.seconds > 0) {
    out += Tile(Rough(60 * static_cast<double>(t.programs) / t.seconds), "programs a minute");
  }
  out += Tile(Duration(t.seconds), "wall time");
  if (t.workers_lost > 0) out += Tile(Thousands(t.workers_lost), "workers lost, replaced");
  if (t.programs_lost > 0) {
    out += Tile(Thousands(t.programs_lost), "programs without a verdict", "warn");
  }
  return out + "</ul>\n";
}

std::string FindingsTable(const RunSummary& s) {
  if (s.findings.empty()) return "<p class=\"good\">No finding.</p>\n";
  std::string out =
      "<div class=\"filter\" hidden><label for=\"filter\">Filter</label>"
      "<input type=\"search\" id=\"filter\" autocomplete=\"off\" placeholder=\"op, rung, dtype, "
      "word ...\"><label><input type=\"checkbox\" id=\"known\" checked> known bugs</label>"
      "<span id=\"shown\" class=\"soft\" aria-live=\"polite\"></span>"
      "<span class=\"soft keys\"><kbd>/</kbd> filter, <kbd>j</kbd> <kbd>k</kbd> move, "
      "<kbd>Enter</kbd> open</span></div>\n";
  Table table({"", "finding", "first wrong", "-ops", "#hits", "-workaround"}, "findings");
  for (const Finding* f : InReportOrder(s)) {
    const bool is_new = f->known_issue.empty();
    std::string words = f->signature + " " + f->id + " " + Name(f->verdict);
    for (const program::Storage& storage : f->reduced.storages) {
      words += " " + std::string(program::Info(storage.dtype).name);
    }
    table.Row({is_new ? "<span class=\"tag bad\">new</span>"
                      : "<span class=\"tag warn\">" + Link("known", f->known_issue) + "</span>",
               "<a href=\"#" + Anchor(f->id) + "\">" + E(Title(*f)) + "</a>",
               E(OneLine(f->first_wrong_rung + ", " + f->device)),
               Code(program::OpChain(f->reduced)), Thousands(f->hits), Code(f->workaround)},
              " data-known=\"" + std::string(is_new ? "0" : "1") + "\" data-words=\"" +
                  E(OneLine(words)) + "\"");
  }
  return out + table.Text();
}

std::string Rungs(const Outcome& outcome) {
  const RungTable rungs = MakeRungTable(outcome);
  std::vector<std::string> head = {"rung"};
  for (const std::string& column : rungs.columns) head.push_back("!" + column);
  head.emplace_back("");
  Table table(head, "rungs");
  for (size_t i = 0; i < rungs.rows.size(); ++i) {
    const RungRow& row = rungs.rows[i];
    std::vector<std::string> cells = {"<span title=\"" + E(RungInWords(outcome.rungs[i].rung)) +
                                      "\"><code>" + E(row.name) + "</code></span>"};
    for (const RungCell& cell : row.cells) {
      static constexpr const char* kKinds[] = {"good", "bad", "warn", "soft"};
      cells.push_back("<span class=\"" + std::string(kKinds[static_cast<size_t>(cell.state)]) +
                      "\"" + (cell.detail.empty() ? "" : " title=\"" + E(cell.detail) + "\"") +
                      ">" + E(cell.text) + "</span>");
    }
    cells.push_back(row.remark.empty()
                        ? ""
                        : "<span class=\"" + std::string(row.wrong ? "bad" : "warn") + "\">" +
                              E(row.remark) + "</span>");
    table.Row(cells);
  }
  return table.Text();
}

std::string Values(const Comparison& c, const std::string& rung) {
  // All of a small tensor, else the wrong elements.
  std::vector<Element> elements;
  if (c.got.size() <= kMaxValueRows) {
    for (size_t i = 0; i < c.got.size() && i < c.reference.size(); ++i) {
      elements.push_back({static_cast<int64_t>(i), c.reference[i],
                          i < c.eager.size() ? c.eager[i] : 0.0, c.got[i]});
    }
  } else {
    elements = WrongElements(c, kMaxValueRows);
  }
  if (elements.empty()) return "";
  Table table({"element", "#float64 reference", "#eager", "#" + OneLine(rung), ""});
  for (const Element& e : elements) {
    const auto flat = static_cast<size_t>(e.flat);
    const bool wrong = IsWrongElement(c, flat);
    table.Row({Code(Position(e.flat, c.sizes)), E(Number(e.reference)),
               flat < c.eager.size() ? E(Number(e.eager)) : "",
               wrong ? "<span class=\"bad\">" + E(Number(e.got)) + "</span>" : E(Number(e.got)),
               wrong ? "<span class=\"bad\">wrong</span>" : ""});
  }
  return "<details><summary>Values</summary>" + table.Text() + "</details>\n";
}

std::string Quantity(const Comparison& c, const std::string& rung) {
  std::string out = "<h3>" + E(QuantityInWords(c.what)) + ", " + E(Sizes(c.sizes)) +
                    ": <span class=\"bad\">" + E(WhatIsWrong(c)) + "</span></h3>\n";
  const HeatMaps maps = RenderHeatMaps(c);
  if (!maps.got.empty()) {
    out += "<div class=\"maps\"><figure><figcaption>expected (float64)</figcaption>" +
           maps.expected + "</figure><figure><figcaption>" + E(rung) + "</figcaption>" + maps.got +
           "</figure></div>\n";
    out +=
        "<p class=\"soft\"><i class=\"key\" style=\"background:#2166ac\"></i> " +
        E(Number(-maps.scale)) + " to " + E(Number(maps.scale)) +
        " <i class=\"key\" style=\"background:#cc6309\"></i>, <i class=\"key framed\"></i> wrong";
    if (maps.moduli) out += ", the moduli of complex numbers";
    if (static_cast<int64_t>(maps.shown) < c.numel) {
      out += ", the first " + E(Thousands(static_cast<int64_t>(maps.shown))) + " of " +
             E(Count(c.numel, "element"));
    }
    out += "</p>\n";
  }
  const std::string sides = Sides(c, rung);
  if (!sides.empty()) out += "<p>" + E(sides) + ".</p>\n";
  if (!c.note.empty() && OneLine(c.note) != WhatIsWrong(c))
    out += "<p>" + E(OneLine(c.note)) + "</p>\n";
  const std::string rules = PyTorchSays(c);
  if (!rules.empty()) out += "<p class=\"soft\">PyTorch's own rules: " + E(rules) + ".</p>\n";
  return out + Values(c, rung);
}

std::string WhatIsWrongPart(const Finding& f) {
  const RungOutcome* rung = FirstWrong(f.outcome);
  if (rung == nullptr) return "";
  std::string out;
  const auto wrong = WrongComparisons(*rung);
  for (size_t i = 0; i < wrong.size() && i < kMaxPictures; ++i) {
    out += Quantity(*wrong[i], rung->rung);
  }
  if (wrong.size() > kMaxPictures) {
    out += "<p class=\"soft\">... and " +
           Count(static_cast<int64_t>(wrong.size() - kMaxPictures), "more wrong quantity",
                 "more wrong quantities") +
           ".</p>\n";
  }
  if (!rung->error.empty()) {
    std::string text;
    for (const std::string& line : Lines(rung->error, kMaxErrorLines)) text += line + "\n";
    out += "<h3>Error</h3><pre tabindex=\"0\">" + E(text) + "</pre>\n";
  }
  return out;
}

std::string List(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + E(item);
  return out;
}

std::string Triggers(const Finding& f) {
  if (f.triggers.empty()) return "";
  Table groups({"!changed", "still wrong", "right", "other"}, "triggers");
  for (const TriggerGroup& g : GroupTriggers(f.triggers)) {
    groups.Row({E(g.axis), "<span class=\"bad light\">" + List(g.wrong) + "</span>",
                "<span class=\"good\">" + List(g.right) + "</span>",
                "<span class=\"soft\">" + List(g.other) + "</span>"});
  }
  Table table({"!changed", "how", "!result", "-detail"});
  for (const TriggerRow& t : f.triggers) {
    std::string result = "<span class=\"soft\">not tried</span>";
    if (t.tried && t.wrong) result = "<span class=\"bad\">still wrong</span>";
    if (t.tried && !t.wrong) {
      result = t.verdict == Verdict::kAgree
                   ? "<span class=\"good\">right</span>"
                   : "<span class=\"warn\">" + E(InWords(t.verdict)) + "</span>";
    }
    table.Row({E(OneLine(t.axis)), E(OneLine(t.change)), result,
               E(Shorten(OneLine(t.detail), kMaxDetail))});
  }
  return "<h3>What does and does not trigger it</h3>\n" + groups.Text() +
         "<details><summary>Every change that was tried</summary>" + table.Text() + "</details>\n";
}

std::string Settings(const Finding& f) {
  if (f.ablation.empty() && f.workaround.empty()) return "";
  Table cures({"setting", "!result", "-meaning"});
  Table others({"setting", "!result", "-meaning"});
  int64_t removing = 0, without_effect = 0;
  for (const KnobResult& k : f.ablation) {
    if (!k.exists) continue;
    std::string setting = KnobStatement(k.knob, k.value);
    if (setting.empty()) setting = k.knob;
    ++(k.removes ? removing : without_effect);
    (k.removes ? cures : others)
        .Row({Code(setting),
              k.removes              ? "<span class=\"good\">removes it</span>"
              : IsFinding(k.verdict) ? "no effect"
                                     : E(InWords(k.verdict)),
              E(OneLine(k.meaning))});
  }
  std::string out = "<h3>Settings</h3>\n";
  if (removing > 0) {
    out += cures.Text();
  } else if (f.workaround.empty()) {
    out += "<p>No single setting that was tried removes it.</p>\n";
  }
  if (without_effect > 0) {
    out += "<details><summary>" + Count(without_effect, "setting") +
           " that did not help</summary>" + others.Text() + "</details>\n";
  }
  return out;
}

std::string Facts(const Finding& f) {
  std::string out = "<dl>";
  const auto put = [&](const char* label, const std::string& html) {
    if (!html.empty()) out += "<dt>" + std::string(label) + "</dt><dd>" + html + "</dd>";
  };
  put("isolation", E(OneLine(Isolation(f.outcome))));
  put("workaround", Code(f.workaround));
  std::string hits = Count(f.hits, "program");
  if (f.first_seed) hits += ", first seed " + std::to_string(*f.first_seed);
  put("hit by", E(hits));
  put("confirmed", E(Confirmation(f)));
  const ReductionStats& r = f.reduction;
  if (r.queries > 0) {
    put("reduced", E("from " + Count(r.statements_before, "statement") + " to " +
                     std::to_string(r.statements_after) + " in " + Duration(r.seconds) + ", " +
                     Count(r.queries, "query", "queries") + " (" + OneLine(r.status) + ")"));
  } else {
    put("reduced", E(OneLine(r.status)));
  }
  if (!f.known_issue.empty()) put("known as", Link(OneLine(f.known_issue), f.known_issue));
  put("signature", Code(f.signature));
  if (IsPlainId(f.id)) {
    put("files", "<a href=\"findings/" + f.id + "/report.md\">report.md</a>, <a href=\"findings/" +
                     f.id + "/repro.py\">repro.py</a>");
  }
  return out + "</dl>\n";
}

std::string FindingPart(const Finding& f, bool open) {
  const std::string anchor = Anchor(f.id);
  const bool is_new = f.known_issue.empty();
  std::string out = "<details class=\"finding\" id=\"" + anchor + "\"" + (open ? " open" : "") +
                    "><summary><span class=\"tag " + (is_new ? "bad\">new" : "warn\">known") +
                    "</span> " + E(Title(f)) + "</summary><div>\n";
  out += "<p><b>" + E(OneLine(f.first_wrong_rung + " on " + f.device)) + ": " +
         E(Accusation(f.outcome)) + ".</b> <a class=\"soft\" href=\"#" + anchor +
         "\">link</a></p>\n";
  out += "<div class=\"columns\"><div>\n<h3>Reduced program</h3>\n";
  const std::string repro = EmitRepro(f);
  const std::string snippet = EmitSnippet(f);
  if (!snippet.empty()) {
    out += CopyBlock(anchor + "-snippet", snippet, "copy");
  } else {
    out += "<pre tabindex=\"0\">" + E(program::EmitFunction(f.reduced)) + "</pre>\n";
    for (size_t i = 0; i < f.reduced.leaves.size(); ++i) {
      out += "<p class=\"soft mono\">x" + std::to_string(i) + ": " + E(DescribeLeaf(f.reduced, i)) +
             "</p>\n";
    }
    for (const std::string& how : DescribeCall(f.reduced)) {
      out += "<p class=\"soft mono\">" + E(how) + "</p>\n";
    }
  }
  out += "<p><button type=\"button\" hidden data-copy=\"" + anchor +
         "-repro\">copy repro.py</button></p>\n";
  out += "<details><summary>repro.py: exits 1 while wrong, 0 when right</summary>" +
         CopyBlock(anchor + "-repro", repro, "copy") + "</details>\n";
  out += Facts(f) + "</div>\n<div>\n" + WhatIsWrongPart(f) + "</div></div>\n";
  out += "<h3>Rungs</h3>\n" + Rungs(f.outcome);
  out += Triggers(f) + Settings(f);
  if (!f.bisect.is_null()) {
    out += "<h3>torch's CompilerBisector</h3><pre tabindex=\"0\">" +
           E(f.bisect.is_string()
                 ? f.bisect.get<std::string>()
                 : f.bisect.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) +
           "</pre>\n";
  }
  if (!(f.original == f.reduced)) {
    out += "<details><summary>The program as it was generated</summary><pre tabindex=\"0\">" +
           E(program::EmitModule(f.original)) + "</pre></details>\n";
  }
  return out + "</div></details>\n";
}

// One table per axis, the most fruitful rows first.
std::string Yields(const RunSummary& s) {
  if (s.yields.empty()) return "";
  std::vector<std::string> axes;
  std::map<std::string, std::vector<const Yield*>> by_axis;
  for (const Yield& y : s.yields) {
    if (by_axis[y.axis].empty()) axes.push_back(y.axis);
    by_axis[y.axis].push_back(&y);
  }
  std::string out = "<h2>Yields</h2>\n<div class=\"yields\">\n";
  for (const std::string& axis : axes) {
    std::vector<const Yield*>& rows = by_axis[axis];
    std::stable_sort(rows.begin(), rows.end(), [](const Yield* a, const Yield* b) {
      if (a->findings != b->findings) return a->findings > b->findings;
      if (a->mismatches != b->mismatches) return a->mismatches > b->mismatches;
      return a->programs > b->programs;
    });
    const auto table_of = [&](size_t begin, size_t end) {
      Table table({"!" + axis, "#programs", "#wrong", "~per 1,000", "#findings"});
      for (size_t i = begin; i < end; ++i) {
        const Yield& y = *rows[i];
        const double per = y.programs > 0 ? 1000.0 * static_cast<double>(y.mismatches) /
                                                static_cast<double>(y.programs)
                                          : 0;
        table.Row({"<code>" + E(OneLine(y.name)) + "</code>", Thousands(y.programs),
                   Thousands(y.mismatches), y.mismatches > 0 ? Rough(per) : "0",
                   Thousands(y.findings)});
      }
      return table.Text();
    };
    const size_t first = std::min(rows.size(), kMaxYieldRows);
    out += "<div><h3>by " + E(OneLine(axis)) + "</h3>" + table_of(0, first);
    if (rows.size() > first) {
      out += "<details><summary>" + Count(static_cast<int64_t>(rows.size() - first), "more row") +
             "</summary>" + table_of(first, rows.size()) + "</details>";
    }
    out += "</div>\n";
  }
  return out + "</div>\n";
}

std::string KnownBugs(const RunSummary& s) {
  if (s.known_bugs.empty()) return "";
  Table table({"known bug", "#hits", "state"});
  for (const KnownBug& k : s.known_bugs) {
    const char* state = k.hits > 0 ? "still there"
                        : k.tried  ? "<span class=\"good\">no longer reproduces</span>"
                                   : "<span class=\"soft\">not seen</span>";
    table.Row({Link(OneLine(k.name), k.link), Thousands(k.hits), state});
  }
  return "<h2>Known bugs</h2>\n" + table.Text();
}

std::string Run(const RunSummary& s) {
  std::string out = "<h2>Run</h2>\n<dl>";
  const auto put = [&](const std::string& label, const std::string& html) {
    if (!html.empty()) out += "<dt>" + E(label) + "</dt><dd>" + html + "</dd>";
  };
  put("command", Code(s.command));
  put("time", E(OneLine(s.started + (s.finished.empty() ? "" : " to " + s.finished))));
  put("end", E(OneLine(s.end)));
  if (s.first_seed) put("first seed", std::to_string(*s.first_seed));
  put("shard", E(OneLine(s.shard)));
  if (s.workers > 0) put("workers", std::to_string(s.workers));
  std::string rungs;
  for (const std::string& rung : s.run.rungs) rungs += (rungs.empty() ? "" : ", ") + OneLine(rung);
  put("rungs", E(rungs));
  put("draws", std::to_string(s.run.draws));
  if (s.totals.worker_seconds > 0) {
    put("inside torch", E(Rough(100 * s.totals.torch_seconds / s.totals.worker_seconds) +
                          " % of the workers' time"));
  }
  for (const auto& [label, value] : EnvironmentRows(s.environment)) put(label, E(value));
  put("gradfuzz", E(OneLine(s.gradfuzz_version)));
  out += "</dl>\n";
  if (!s.totals.verdicts.empty()) {
    Table table({"verdict", "#programs"});
    for (const auto& [verdict, count] : s.totals.verdicts) {
      table.Row({E(InWords(verdict)), Thousands(count)});
    }
    out += "<h3>Verdicts</h3>\n" + table.Text();
  }
  return out;
}

}  // namespace

std::string RenderHtml(const RunSummary& s) {
  const auto known =
      static_cast<int64_t>(std::count_if(s.findings.begin(), s.findings.end(),
                                         [](const Finding& f) { return !f.known_issue.empty(); }));
  const auto fresh = static_cast<int64_t>(s.findings.size()) - known;
  std::string head = fresh > 0 ? Count(fresh, "new finding") : "no new finding";
  if (known > 0) head += ", " + Count(known, "known bug");
  std::string under;
  if (s.environment.is_object() && s.environment.contains("torch") &&
      s.environment["torch"].is_string()) {
    under = "torch " + s.environment["torch"].get<std::string>();
  }
  for (const std::string& device : s.devices) under += (under.empty() ? "" : ", ") + device;
  if (!s.started.empty()) under += (under.empty() ? "" : ", ") + s.started;
  if (s.finished.empty()) under += ", still running";

  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>gradfuzz: " +
      E(head) + "</title>\n<style>" + kHtmlStyle + "</style>\n</head>\n<body>\n";
  // Used by every picture: what a NaN looks like.
  out +=
      "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
      "<pattern id=\"nan\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffe9a8\"/><rect "
      "width=\"2\" height=\"6\" fill=\"#c9a227\"/></pattern></defs></svg>\n";
  out += "<header><h1>gradfuzz: " + E(head) + "</h1><p class=\"soft\">" + E(OneLine(under)) +
         "</p></header>\n<main>\n";
  out += Tiles(s, fresh, known);
  for (const std::string& warning : s.warnings) {
    out += "<p class=\"warn\">Warning: " + E(OneLine(warning)) + "</p>\n";
  }
  out += "<h2 id=\"findings\">Findings</h2>\n" + FindingsTable(s);
  bool open = true;
  for (const Finding* f : InReportOrder(s)) {
    out += FindingPart(*f, open);
    open = false;
  }
  out += KnownBugs(s);
  const std::string chart = RenderRateChart(s.rate);
  if (!chart.empty()) {
    out +=
        "<h2>Rate</h2>\n<p class=\"soft\">Programs a minute; a mark where a finding came.</p>\n" +
        chart;
  }
  out += Yields(s) + Run(s);
  return out + "</main>\n<script>" + kHtmlScript + "</script>\n</body>\n</html>\n";
}

}  // namespace gradfuzz::report
