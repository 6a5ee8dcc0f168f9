// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/terminal.h"

#include <algorithm>
#include <string_view>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/rung_table.h"
#include "gradfuzz/report/text.h"
#include "gradfuzz/report/trigger_groups.h"

namespace gradfuzz::report {
namespace {

// One screen: more than this is left to the finding's folder.
constexpr size_t kMaxQuantities = 3;
constexpr size_t kMaxElements = 4;
constexpr size_t kMaxErrorLines = 12;
constexpr size_t kMaxMessageLines = 3;   // of an error, written out in full ...
constexpr size_t kMaxMessageLine = 300;  // ... or nearly
constexpr size_t kMaxTriggers = 12;      // of one axis
constexpr size_t kResultWidth = std::string_view("still wrong").size();

enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kYellow };

class Page {
 public:
  explicit Page(const TerminalStyle& style) : style_(style) {}

  std::string Paint(Ink ink, std::string_view text) const {
    static constexpr std::string_view kCodes[] = {"",           "\x1b[1m",  "\x1b[2m",
                                                  "\x1b[1;31m", "\x1b[32m", "\x1b[33m"};
    if (!style_.color || ink == Ink::kPlain || text.empty()) return std::string(text);
    return std::string(kCodes[static_cast<size_t>(ink)]) + std::string(text) + "\x1b[0m";
  }
  void Line(std::string_view text = "") { out_ += std::string(text) + "\n"; }
  // Printable and not painted yet; wrapped, every line indented and inked.
  void Text(std::string_view text, size_t indent = 0, Ink ink = Ink::kPlain) {
    const size_t room = std::max<size_t>(width() > indent ? width() - indent : 0, 20);
    for (const std::string& line : Wrap(OneLine(text), room)) {
      Line(std::string(indent, ' ') + Paint(ink, line));
    }
  }
  size_t width() const { return static_cast<size_t>(std::max(style_.width, 40)); }
  std::string Take() { return std::move(out_); }

 private:
  TerminalStyle style_;
  std::string out_;
};

Ink InkOf(RungCell::State state) {
  switch (state) {
    case RungCell::State::kRight:
      return Ink::kGreen;
    case RungCell::State::kWrong:
      return Ink::kRed;
    case RungCell::State::kOther:
      return Ink::kYellow;
    case RungCell::State::kNone:
      break;
  }
  return Ink::kDim;
}

// Columns that don't fit beside each other go into further tables below.
void PutRungTable(const RungTable& table, Page* page) {
  if (table.rows.empty()) return;
  size_t name_width = std::string_view("rung").size();
  size_t remark_width = 0;
  for (const RungRow& row : table.rows) {
    name_width = std::max(name_width, Width(row.name));
    remark_width = std::max(remark_width, Width(row.remark));
  }
  std::vector<size_t> widths;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    size_t width = Width(table.columns[c]);
    for (const RungRow& row : table.rows) width = std::max(width, Width(row.cells[c].text));
    widths.push_back(width);
  }
  size_t begin = 0;
  do {
    size_t end = begin;
    size_t used = 2 + name_width + 2 + remark_width;
    while (end < widths.size() && (end == begin || used + widths[end] + 2 <= page->width())) {
      used += widths[end++] + 2;
    }
    std::string head = "  " + PadRight("rung", name_width);
    for (size_t c = begin; c < end; ++c) head += "  " + PadRight(table.columns[c], widths[c]);
    while (head.back() == ' ') head.pop_back();
    page->Line(page->Paint(Ink::kDim, head));
    for (const RungRow& row : table.rows) {
      std::string line = "  " + PadRight(row.name, name_width);
      size_t blanks = 0;  // written only when something follows
      for (size_t c = begin; c < end; ++c) {
        const RungCell& cell = row.cells[c];
        line += std::string(blanks + 2, ' ') + page->Paint(InkOf(cell.state), cell.text);
        blanks = widths[c] - Width(cell.text);
      }
      if (!row.remark.empty()) {
        line += std::string(blanks + 2, ' ') +
                page->Paint(row.wrong ? Ink::kRed : Ink::kYellow, row.remark);
      }
      page->Line(line);
    }
    begin = end;
    if (begin < widths.size()) page->Line();
  } while (begin < widths.size());
}

void PutProgram(const program::Program& program, Page* page) {
  for (const std::string& line : Lines(program::EmitFunction(program), 60)) page->Line("  " + line);
  page->Line();
  for (size_t i = 0; i < program.leaves.size(); ++i) {
    const std::string text = "x" + std::to_string(i) + "  " + DescribeLeaf(program, i);
    page->Line("  " + page->Paint(Ink::kDim, Shorten(text, page->width() - 2)));
  }
  for (const std::string& text : DescribeCall(program)) {
    page->Line("  " + page->Paint(Ink::kDim, Shorten(text, page->width() - 2)));
  }
}

void PutElements(const Comparison& c, const std::string& rung, Page* page) {
  const std::vector<Element> elements = WrongElements(c, kMaxElements);
  if (elements.empty()) return;
  std::vector<std::vector<std::string>> rows = {
      {"element", "expected (float64)", "eager", OneLine(rung)}};
  for (const Element& e : elements) {
    rows.push_back({Position(e.flat, c.sizes), Number(e.reference),
                    static_cast<size_t>(e.flat) < c.eager.size() ? Number(e.eager) : "-",
                    Number(e.got)});
  }
  std::vector<size_t> widths(4, 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line = "    " + PadRight(rows[r][0], widths[0]);
    for (size_t i = 1; i < 4; ++i) line += "  " + PadLeft(rows[r][i], widths[i]);
    page->Line(page->Paint(r == 0 ? Ink::kDim : Ink::kPlain, line));
  }
  if (c.wrong > static_cast<int64_t>(elements.size())) {
    page->Line("    " +
               page->Paint(Ink::kDim,
                           "... and " + Thousands(c.wrong - static_cast<int64_t>(elements.size())) +
                               " more"));
  }
}

void PutComparison(const Comparison& c, const std::string& rung, int draws, Page* page) {
  std::string head = QuantityInWords(c.what) + " under " + rung + ": " + WhatIsWrong(c);
  if (draws > 1) head += " (draw " + std::to_string(c.draw) + ")";
  page->Text(head, 2, Ink::kRed);
  PutElements(c, rung, page);
  const std::string sides = Sides(c, rung);
  if (!sides.empty()) page->Text(sides, 4);
  if (!c.note.empty() && WhatIsWrong(c) != OneLine(c.note)) page->Text(c.note, 4);
  const std::string rules = PyTorchSays(c);
  if (!rules.empty()) page->Text("PyTorch's own rules: " + rules, 4, Ink::kDim);
}

void PutError(const std::string& error, Page* page) {
  size_t number = 0;
  for (const std::string& line : Lines(error, kMaxErrorLines)) {
    // The message comes first and is worth its lines; the frames of a traceback are not.
    if (number++ < kMaxMessageLines) {
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      page->Text(Shorten(line, kMaxMessageLine), 4 + indent);
      if (indent == line.size()) page->Line();
    } else {
      page->Line(line.empty() ? "" : "    " + Shorten(line, page->width() - 4));
    }
  }
}

void PutWhatIsWrong(const Outcome& outcome, int draws, Page* page) {
  const RungOutcome* rung = FirstWrong(outcome);
  if (rung == nullptr) return;
  const auto wrong = WrongComparisons(*rung);
  size_t shown = 0;
  for (const Comparison* c : wrong) {
    if (shown++ == kMaxQuantities) {
      page->Text("... and " + Count(static_cast<int64_t>(wrong.size() - kMaxQuantities),
                                    "more quantity", "more quantities"),
                 2, Ink::kDim);
      break;
    }
    if (shown > 1) page->Line();
    PutComparison(*c, rung->rung, draws, page);
  }
  if (!rung->error.empty()) {
    if (!wrong.empty()) page->Line();
    page->Text(rung->rung + " " + InWords(rung->verdict) + ":", 2, Ink::kRed);
    PutError(rung->error, page);
  }
}

// One line per axis: what of it keeps the bug and what does not.
void PutTriggers(const std::vector<TriggerRow>& triggers, Page* page) {
  const std::vector<TriggerGroup> groups = GroupTriggers(triggers);
  if (groups.empty()) return;
  page->Line("  " + page->Paint(Ink::kDim, "one thing changed at a time"));
  size_t axis_width = 0;
  for (const TriggerGroup& g : groups) axis_width = std::max(axis_width, Width(g.axis));
  for (const TriggerGroup& g : groups) {
    bool first = true;
    const auto put = [&](std::string_view result, Ink ink, const std::vector<std::string>& items) {
      if (items.empty()) return;
      std::string text;
      for (size_t i = 0; i < items.size() && i < kMaxTriggers; ++i) {
        text += (i ? "; " : "") + items[i];
      }
      if (items.size() > kMaxTriggers) {
        text += "; and " + std::to_string(items.size() - kMaxTriggers) + " more";
      }
      const std::string head = "  " + PadRight(first ? g.axis : "", axis_width) + "  ";
      const size_t indent = Width(head) + kResultWidth + 2;
      bool begin = true;
      for (const std::string& line :
           Wrap(text, std::max<size_t>(page->width() > indent ? page->width() - indent : 0, 30))) {
        page->Line(begin ? head + page->Paint(ink, PadRight(result, kResultWidth)) + "  " + line
                         : std::string(indent, ' ') + line);
        begin = false;
      }
      first = false;
    };
    put("still wrong", Ink::kRed, g.wrong);
    put("right", Ink::kGreen, g.right);
    put("other", Ink::kYellow, g.other);
  }
  page->Line();
}

void PutSettings(const Finding& finding, Page* page) {
  std::vector<std::string> removes;
  int64_t tried = 0;
  for (const KnobResult& k : finding.ablation) {
    tried += k.exists;
    if (k.exists && k.removes) removes.push_back(k.meaning);
  }
  if (!removes.empty()) {
    page->Text("removed by " + std::to_string(removes.size()) + " of " + Count(tried, "setting") +
                   ": " + Enumerate(removes),
               2);
  }
  if (!finding.workaround.empty()) {
    page->Text("workaround: " + finding.workaround, 2);
  } else if (tried > 0) {
    page->Text("workaround: none found; none of " + Count(tried, "setting") + " removes it", 2);
  }
}

struct Compared {
  int64_t outputs = 0, gradients = 0;
};
Compared CountCompared(const Outcome& outcome) {
  Compared most;
  for (const RungOutcome& r : outcome.rungs) {
    Compared here;
    for (const Comparison& c : r.comparisons) {
      here.outputs += c.what.starts_with("out");
      here.gradients += c.what.starts_with("grad ");
    }
    most.outputs = std::max(most.outputs, here.outputs);
    most.gradients = std::max(most.gradients, here.gradients);
  }
  return most;
}

// Why a verdict that is no finding is none.
std::string Explanation(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConvention:
      return "a tie or kink was resolved otherwise than in eager, and both answers are legal "
             "subgradients";
    case Verdict::kUnsupported:
      return "torch refuses this program explicitly, by design, or compiles nothing of it";
    case Verdict::kIllConditioned:
      return "rounding alone can explain the difference, so right and wrong cannot be told apart";
    case Verdict::kTradeOff:
      return "a documented precision trade-off";
    case Verdict::kInvalid:
      return "eager itself rejects the program";
    default:
      return "";
  }
}

void PutVerdict(const CaseResult& result, const RunOptions& run, Page* page) {
  const Outcome& outcome = result.outcome;
  const std::string took = " (" + Duration(result.seconds) + ")";
  if (outcome.verdict == Verdict::kAgree) {
    std::vector<std::string> rungs;
    for (const RungOutcome& r : outcome.rungs) {
      if (r.rung != "eager") rungs.push_back(r.rung);
    }
    const Compared compared = CountCompared(outcome);
    std::string text = "RIGHT: " + Enumerate(rungs) + (rungs.size() == 1 ? " agrees" : " agree") +
                       " with eager on " + Count(compared.outputs, "output") + " and " +
                       Count(compared.gradients, "gradient");
    if (run.draws > 1) text += ", " + Count(run.draws, "draw") + " of values each";
    page->Text(text + "." + took, 0, Ink::kGreen);
    if (compared.gradients == 0) {
      page->Text("No gradient was compared: nothing that requires one reaches an output.", 0,
                 Ink::kYellow);
    }
    return;
  }
  if (!IsFinding(outcome.verdict)) {
    std::string text = "NO FINDING: " + std::string(InWords(outcome.verdict));
    const std::string why = Explanation(outcome.verdict);
    if (!why.empty() && outcome.verdict != Verdict::kInvalid) text += ": " + why;
    page->Text(text + "." + took, 0, Ink::kYellow);
    if (!outcome.note.empty()) page->Text(outcome.note, 2);
    for (const RungOutcome& r : outcome.rungs) {
      if (r.verdict == outcome.verdict && !r.error.empty()) {
        page->Text(r.rung + ":", 2);
        PutError(r.error, page);
        break;
      }
    }
    return;
  }
  const RungOutcome* rung = FirstWrong(outcome);
  std::string text = "WRONG" + (rung == nullptr ? "" : " under " + rung->rung) + ": ";
  page->Text(text + Accusation(outcome) + "." + took, 0, Ink::kRed);
  if (!result.phase.empty()) page->Text("The worker was lost in phase " + result.phase + ".");
  if (!outcome.note.empty()) page->Text(outcome.note);
  if (!outcome.rungs.empty()) page->Text(Isolation(outcome) + ".");
}

}  // namespace

std::string RenderCase(const CaseResult& result, const RunOptions& run, const TerminalStyle& style,
                       const std::string& name) {
  Page page(style);
  std::string head = OneLine(name);
  if (head.empty()) head = result.seed ? "seed " + std::to_string(*result.seed) : "program";
  head += ", " + run.device + ", " + Count(run.draws, "draw");
  if (!result.outcome.lane.empty()) head += ", " + result.outcome.lane + " lane";
  for (const auto& [knob, value] : run.knobs) {
    head +=
        ", " + knob + "=" + value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  page.Text(head, 0, Ink::kBold);
  page.Line();
  if (result.program) {
    PutProgram(*result.program, &page);
    page.Line();
  }
  const RungTable table = MakeRungTable(result.outcome);
  if (!table.rows.empty()) {
    PutRungTable(table, &page);
    page.Line();
  }
  if (FirstWrong(result.outcome) != nullptr) {
    PutWhatIsWrong(result.outcome, run.draws, &page);
    page.Line();
  }
  PutVerdict(result, run, &page);
  return page.Take();
}

std::string RenderFinding(const Finding& finding, const TerminalStyle& style,
                          const std::string& folder, bool with_program) {
  Page page(style);
  const bool is_new = finding.known_issue.empty();
  page.Line(page.Paint(is_new ? Ink::kRed : Ink::kYellow, is_new ? "FINDING " : "KNOWN BUG ") +
            page.Paint(Ink::kBold, OneLine(finding.id)));
  page.Text(Title(finding), 2, Ink::kBold);
  std::vector<std::string> facts;
  if (finding.hits > 1) facts.push_back(Count(finding.hits, "hit"));
  if (finding.first_seed) facts.push_back("first seed " + std::to_string(*finding.first_seed));
  const std::string confirmed = Confirmation(finding);
  if (!confirmed.empty()) facts.push_back(confirmed);
  const ReductionStats& r = finding.reduction;
  if (r.queries > 0) {
    facts.push_back("reduced from " + Count(r.statements_before, "statement") + " to " +
                    std::to_string(r.statements_after) + " in " + Duration(r.seconds) + " (" +
                    r.status + ")");
  } else if (!r.status.empty()) {
    facts.push_back(r.status);
  }
  std::string line;
  for (size_t i = 0; i < facts.size(); ++i) line += (i ? ", " : "") + facts[i];
  page.Text(line, 2, Ink::kDim);
  if (!is_new) page.Text("known as " + finding.known_issue, 2);
  page.Line();
  if (with_program) {
    PutProgram(finding.reduced, &page);
    page.Line();
  }
  PutRungTable(MakeRungTable(finding.outcome), &page);
  page.Line();
  PutWhatIsWrong(finding.outcome, finding.run.draws, &page);
  page.Line();
  PutTriggers(finding.triggers, &page);
  PutSettings(finding, &page);
  page.Text("signature: " + finding.signature, 2, Ink::kDim);
  if (!folder.empty()) page.Text("files: " + folder + " (repro.py, report.md)", 2);
  return page.Take();
}

std::string RenderTotals(const RunSummary& summary, const TerminalStyle& style) {
  Page page(style);
  const RunTotals& t = summary.totals;
  const auto known = std::count_if(summary.findings.begin(), summary.findings.end(),
                                   [](const Finding& f) { return !f.known_issue.empty(); });
  const auto fresh = static_cast<int64_t>(summary.findings.size()) - known;
  std::string done = Count(t.programs, "program") + " in " + Duration(t.seconds);
  if (t.seconds > 0 && t.programs > 0) {
    done += " (" + Rough(60.0 * static_cast<double>(t.programs) / t.seconds) + " a minute)";
  }
  done += ", " + Count(t.gradients_compared, "gradient tensor") + " compared";
  if (summary.first_seed) done += ", from seed " + std::to_string(*summary.first_seed);
  if (!summary.shard.empty()) done += ", shard " + summary.shard;
  page.Text(done);
  std::vector<std::string> asides;
  if (t.invalid > 0) asides.push_back(Count(t.invalid, "program") + " rejected by eager");
  for (const auto& [verdict, count] : t.verdicts) {
    if (verdict == Verdict::kUnsupported) {
      asides.push_back(Count(count, "program") + " that torch refuses or compiles nothing of");
    }
  }
  if (t.unconfirmed > 0) {
    asides.push_back(Count(t.unconfirmed, "mismatch", "mismatches") +
                     " that did not come back when confirmed");
  }
  if (t.waiting > 0) {
    asides.push_back(Count(t.waiting, "mismatch", "mismatches") +
                     " not judged yet, which --resume does");
  }
  if (t.workers_lost > 0) asides.push_back(Count(t.workers_lost, "worker") + " lost and replaced");
  if (t.programs_lost > 0)
    asides.push_back(Count(t.programs_lost, "program") + " without a verdict");
  if (!asides.empty()) page.Text(Enumerate(asides), 0, Ink::kDim);
  for (const std::string& warning : summary.warnings)
    page.Text("warning: " + warning, 0, Ink::kYellow);
  if (!summary.findings.empty()) {
    page.Line();
    size_t hits_width = 1;
    for (const Finding& f : summary.findings) {
      hits_width = std::max(hits_width, Width(Thousands(f.hits)));
    }
    for (const Finding* f : InReportOrder(summary)) {
      const bool is_new = f->known_issue.empty();
      const std::string head = "  " + OneLine(f->id) + "  " +
                               PadLeft(Thousands(f->hits), hits_width) +
                               (f->hits == 1 ? " hit   " : " hits  ");
      const size_t used = 7 + Width(head);
      page.Line("  " + page.Paint(is_new ? Ink::kRed : Ink::kYellow, is_new ? "NEW  " : "known") +
                head + Shorten(Title(*f), page.width() > used + 20 ? page.width() - used : 20));
    }
    page.Line();
  }
  for (const KnownBug& bug : summary.known_bugs) {
    if (bug.tried && bug.hits == 0) {
      page.Text("known bug no longer reproduces: " + bug.name +
                    (bug.link.empty() ? "" : " (" + bug.link + ")"),
                0, Ink::kGreen);
    }
  }
  if (summary.end == "interrupted")
    page.Text("Interrupted; what was done is saved.", 0, Ink::kYellow);
  if (fresh > 0) {
    std::string text = Count(fresh, "new finding");
    if (known > 0) text += ", " + Count(known, "known bug");
    page.Text(text + ".", 0, Ink::kRed);
  } else if (known > 0) {
    page.Text("No new finding; " + Count(known, "known bug") + " seen again.", 0, Ink::kGreen);
  } else if (t.waiting > 0) {
    page.Text("No finding yet.", 0, Ink::kYellow);
  } else {
    page.Text("No finding.", 0, Ink::kGreen);
  }
  return page.Take();
}

}  // namespace gradfuzz::report
