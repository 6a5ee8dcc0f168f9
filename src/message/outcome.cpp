// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/message/outcome.h"

#include <cmath>

#include "gradfuzz/support/complex.h"

namespace gradfuzz {
namespace {

using nlohmann::json;

struct VerdictRow {
  Verdict verdict;
  const char* name;
  const char* words;
  bool finding;
};
constexpr VerdictRow kVerdicts[] = {
    {Verdict::kAgree, "agree", "right", false},
    {Verdict::kGradientMismatch, "gradient_mismatch", "wrong gradient", true},
    {Verdict::kMissingGradient, "missing_gradient", "missing gradient", true},
    {Verdict::kForwardMismatch, "forward_mismatch", "wrong forward value", true},
    {Verdict::kNanMismatch, "nan_mismatch", "NaN or Inf at other places", true},
    {Verdict::kMetadataMismatch, "metadata_mismatch", "wrong shape, dtype, stride or flag", true},
    {Verdict::kInputMutationMismatch, "input_mutation_mismatch", "wrong input after the call",
     true},
    {Verdict::kSelfCheckFailed, "self_check_failed", "breaks a law of differentiation", true},
    {Verdict::kNondeterministic, "nondeterministic", "differs from itself", true},
    {Verdict::kCompileError, "compile_error", "does not compile", true},
    {Verdict::kRuntimeError, "runtime_error", "raises when run", true},
    {Verdict::kCrash, "crash", "crashes the process", true},
    {Verdict::kTimeout, "timeout", "does not end in time", true},
    {Verdict::kConvention, "convention", "a tie resolved otherwise (legal)", false},
    {Verdict::kUnsupported, "unsupported", "refused by design", false},
    {Verdict::kIllConditioned, "ill_conditioned", "ill-conditioned: cannot be judged", false},
    {Verdict::kTradeOff, "trade_off", "documented precision trade-off", false},
    {Verdict::kInvalid, "invalid", "eager rejects the program", false},
};

const VerdictRow& Row(Verdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double NumberFrom(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  return std::nan("");
}

// A real number as itself, any other as [real part, imaginary part].
json Numbers(const std::vector<Complex>& values) {
  json out = json::array();
  for (const Complex v : values) {
    out.push_back(IsReal(v) ? Number(v.real()) : json{Number(v.real()), Number(v.imag())});
  }
  return out;
}

std::vector<Complex> NumbersFrom(const json& list) {
  std::vector<Complex> out;
  for (const json& v : list) {
    out.push_back(v.is_array() ? Complex(NumberFrom(v.at(0)), NumberFrom(v.at(1)))
                               : Complex(NumberFrom(v)));
  }
  return out;
}

Verdict VerdictFrom(const json& value) {
  const std::string& name = value.get_ref<const std::string&>();
  if (auto verdict = VerdictFromName(name)) return *verdict;
  throw std::invalid_argument("unknown verdict '" + name + "'");
}

json ComparisonToJson(const Comparison& c) {
  json out = {{"what", c.what},
              {"verdict", Name(c.verdict)},
              {"draw", c.draw},
              {"sizes", c.sizes},
              {"numel", c.numel},
              {"wrong", c.wrong},
              {"max_error", Number(c.max_error)},
              {"tolerance", Number(c.tolerance)},
              {"reference_scale", Number(c.reference_scale)},
              {"eager_error", Number(c.eager_error)},
              {"pytorch_same", c.pytorch_same},
              {"assert_close", c.assert_close}};
  if (!c.pattern.empty()) out["pattern"] = c.pattern;
  if (!c.note.empty()) out["note"] = c.note;
  if (!c.reference.empty()) out["reference"] = Numbers(c.reference);
  if (!c.eager.empty()) out["eager"] = Numbers(c.eager);
  if (!c.got.empty()) out["got"] = Numbers(c.got);
  if (!c.wrong_at.empty()) out["wrong_at"] = c.wrong_at;
  return out;
}

Comparison ComparisonFromJson(const json& value) {
  Comparison c;
  c.what = value.at("what").get<std::string>();
  c.verdict = VerdictFrom(value.at("verdict"));
  c.draw = value.at("draw").get<int>();
  c.sizes = value.at("sizes").get<std::vector<int64_t>>();
  c.numel = value.at("numel").get<int64_t>();
  c.wrong = value.at("wrong").get<int64_t>();
  c.max_error = NumberFrom(value.at("max_error"));
  c.tolerance = NumberFrom(value.at("tolerance"));
  c.reference_scale = NumberFrom(value.at("reference_scale"));
  c.eager_error = NumberFrom(value.at("eager_error"));
  c.pytorch_same = value.at("pytorch_same").get<bool>();
  c.assert_close = value.at("assert_close").get<bool>();
  c.pattern = value.value("pattern", "");
  c.note = value.value("note", "");
  if (value.contains("reference")) c.reference = NumbersFrom(value.at("reference"));
  if (value.contains("eager")) c.eager = NumbersFrom(value.at("eager"));
  if (value.contains("got")) c.got = NumbersFrom(value.at("got"));
  c.wrong_at = value.value("wrong_at", std::vector<int64_t>{});
  return c;
}

json RungToJson(const RungOutcome& r) {
  json comparisons = json::array();
  for (const Comparison& c : r.comparisons) comparisons.push_back(ComparisonToJson(c));
  json out = {{"rung", r.rung},
              {"device", r.device},
              {"verdict", Name(r.verdict)},
              {"comparisons", std::move(comparisons)},
              {"graphs", r.graphs},
              {"graph_breaks", r.graph_breaks},
              {"seconds", r.seconds}};
  if (!r.error.empty()) out["error"] = r.error;
  return out;
}

RungOutcome RungFromJson(const json& value) {
  RungOutcome r;
  r.rung = value.at("rung").get<std::string>();
  r.device = value.at("device").get<std::string>();
  r.verdict = VerdictFrom(value.at("verdict"));
  for (const json& c : value.at("comparisons")) r.comparisons.push_back(ComparisonFromJson(c));
  r.graphs = value.at("graphs").get<int>();
  r.graph_breaks = value.at("graph_breaks").get<int>();
  r.seconds = value.at("seconds").get<double>();
  r.error = value.value("error", "");
  return r;
}

}  // namespace

const char* Name(Verdict verdict) { return Row(verdict).name; }
const char* InWords(Verdict verdict) { return Row(verdict).words; }
bool IsFinding(Verdict verdict) { return Row(verdict).finding; }

std::optional<Verdict> VerdictFromName(const std::string& name) {
  for (const VerdictRow& row : kVerdicts) {
    if (name == row.name) return row.verdict;
  }
  return std::nullopt;
}

Verdict Graver(Verdict a, Verdict b) {
  // The order of the enum is the order of gravity, except that agreement yields to everything.
  if (a == Verdict::kAgree) return b;
  if (b == Verdict::kAgree) return a;
  return a < b ? a : b;
}

nlohmann::json ToJson(const Outcome& outcome) {
  json rungs = json::array();
  for (const RungOutcome& r : outcome.rungs) rungs.push_back(RungToJson(r));
  json out = {{"verdict", Name(outcome.verdict)},
              {"first_wrong_rung", outcome.first_wrong_rung},
              {"rungs", std::move(rungs)},
              {"calibrated", outcome.calibrated},
              {"lane", outcome.lane},
              {"generate_seconds", outcome.generate_seconds},
              {"reference_seconds", outcome.reference_seconds},
              {"compare_seconds", outcome.compare_seconds}};
  if (!outcome.note.empty()) out["note"] = outcome.note;
  if (!outcome.stats.is_null()) out["stats"] = outcome.stats;
  return out;
}

Result<Outcome> OutcomeFromJson(const nlohmann::json& value) {
  Outcome outcome;
  try {
    outcome.verdict = VerdictFrom(value.at("verdict"));
    outcome.first_wrong_rung = value.at("first_wrong_rung").get<std::string>();
    for (const json& r : value.at("rungs")) outcome.rungs.push_back(RungFromJson(r));
    outcome.calibrated = value.at("calibrated").get<bool>();
    outcome.lane = value.at("lane").get<std::string>();
    outcome.generate_seconds = value.value("generate_seconds", 0.0);
    outcome.reference_seconds = value.value("reference_seconds", 0.0);
    outcome.compare_seconds = value.value("compare_seconds", 0.0);
    outcome.note = value.value("note", "");
    if (value.contains("stats")) outcome.stats = value.at("stats");
  } catch (const std::exception& e) {
    return InternalError("malformed outcome: " + std::string(e.what()));
  }
  return outcome;
}

}  // namespace gradfuzz
