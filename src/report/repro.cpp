// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/repro.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/program/reference.h"
#include "gradfuzz/report/describe.h"
#include "gradfuzz/report/text.h"

namespace gradfuzz::report {
namespace {

using program::CallPlan;
using program::DType;
using program::Program;
using program::ValueRecipe;

// --- What the script must do
// ----------------------------------------------------------------------

// torch.testing.assert_close's defaults by dtype; the relative part for elements larger than the
// one that the finding's own tolerance was measured at.
struct CloseDefaults {
  double rtol, atol;
};
CloseDefaults DefaultsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {1e-3, 1e-5};
    case DType::kBFloat16:
      return {1.6e-2, 1e-5};
    case DType::kFloat64:
    case DType::kComplex128:
      return {1e-7, 1e-7};
    default:
      return {1.3e-6, 1e-5};
  }
}

void EachDType(const program::Arg& arg, std::vector<DType>* found) {
  if (arg.Is<DType>()) found->push_back(arg.As<DType>());
  if (arg.Is<program::ArgList>()) {
    for (const program::Arg& item : arg.As<program::ArgList>()) EachDType(item, found);
  }
  if (arg.Is<program::Tuple>()) {
    for (const program::Arg& item : arg.As<program::Tuple>().items) EachDType(item, found);
  }
}

std::vector<DType> DTypeArguments(const Program& program) {
  std::vector<DType> found;
  for (const program::Statement& s : program.statements) {
    for (const program::Arg& arg : s.args) EachDType(arg, &found);
    for (const auto& [name, arg] : s.kwargs) EachDType(arg, &found);
  }
  return found;
}

bool HasAutocast(const Program& program) {
  return program.call.autocast ||
         std::any_of(program.regions.begin(), program.regions.end(), [](const program::Region& r) {
           return r.kind == program::Region::Kind::kAutocast;
         });
}

DType CoarsestDType(const Program& program) {
  std::vector<DType> dtypes = DTypeArguments(program);
  for (const program::Storage& s : program.storages) dtypes.push_back(s.dtype);
  if (HasAutocast(program)) dtypes.push_back(DType::kBFloat16);
  DType coarsest = DType::kFloat64;
  for (DType dtype : dtypes) {
    if (program::Epsilon(dtype) > program::Epsilon(coarsest)) coarsest = dtype;
  }
  return coarsest;
}

bool WritesInPlace(const Program& program) {
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [](const program::Statement& s) {
                       const bool dunder = s.op.ends_with("__");
                       return s.op == "Tensor.__setitem__" || (s.op.ends_with("_") && !dunder) ||
                              std::any_of(s.kwargs.begin(), s.kwargs.end(),
                                          [](const auto& kwarg) { return kwarg.first == "out"; });
                     });
}

bool IsContiguous(const program::Leaf& leaf) {
  int64_t expected = 1;
  for (size_t d = leaf.sizes.size(); d-- > 0;) {
    if (leaf.sizes[d] > 1 && leaf.strides[d] != expected) return false;
    expected *= std::max<int64_t>(leaf.sizes[d], 1);
  }
  return true;
}

// Whether a plain copy of each leaf is the same program: no two leaves share memory and none has a
// layout that a copy would lose.
bool LeavesAreSimple(const std::vector<program::Leaf>& leaves) {
  std::set<int> storages;
  for (const program::Leaf& leaf : leaves) {
    if (!storages.insert(leaf.storage).second || !IsContiguous(leaf)) return false;
  }
  return true;
}

// Exactly representable in every floating dtype.
bool IsWhole(const ValueRecipe& recipe) {
  const auto whole = [](double v) { return v == std::floor(v) && std::fabs(v) <= 256; };
  switch (recipe.kind) {
    case ValueRecipe::Kind::kInts:
      return whole(recipe.low) && whole(recipe.high);
    case ValueRecipe::Kind::kLiteral:
    case ValueRecipe::Kind::kChoice:
      return std::all_of(recipe.values.begin(), recipe.values.end(), whole);
    default:
      return false;
  }
}

bool IsConstant(const ValueRecipe& recipe) {
  return recipe.kind == ValueRecipe::Kind::kLiteral ||
         (recipe.kind == ValueRecipe::Kind::kInts && recipe.low == recipe.high);
}

bool IsIdentifier(const std::string& text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           extra.find(c) != std::string_view::npos;
  });
}

// "out0", "grad x1", "input x2": the names that the script itself uses.
bool IsQuantity(const std::string& what) {
  std::string_view rest = what;
  for (std::string_view prefix : {"out", "grad x", "input x"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    return !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

enum class Symptom { kValues, kRaises, kDies, kHangs, kUnstable };

struct Plan {
  Symptom symptom = Symptom::kValues;
  std::string device = "cpu";
  std::string rung = "inductor";
  int draws = 1;
  bool second = false;
  bool floats = false;  // takes floats as parameters
  bool gradients = true;
  bool some_outputs = false;      // outputs may not require a gradient
  bool inputs_after = false;      // the program writes to its inputs
  bool metadata = false;          // strides, requires_grad and aliases are the bug
  bool own_laws = false;          // the bug shows under other cotangents than the program's
  bool exact = false;             // bit for bit: no tolerance at all
  bool round_cotangents = false;  // the reference must get the cotangents of the program's dtype
  bool own_reference = false;     // the reference is another text than the program
  bool simple_leaves = true;
  bool complex = false;
  double rtol = 0, atol = 0;
  std::map<std::string, double> tolerances;
  double timeout = 120;
};

void PlanTolerances(const Finding& f, const RungOutcome* rung, Plan* plan) {
  plan->exact = f.outcome.lane == "exact";
  const CloseDefaults defaults = DefaultsOf(CoarsestDType(f.reduced));
  plan->rtol = plan->exact ? 0 : defaults.rtol;
  plan->atol = plan->exact ? 0 : defaults.atol;
  if (rung == nullptr || plan->exact) return;
  constexpr std::string_view kSecond = " (second call)";
  std::set<std::string> found;  // the tolerance of what is wrong goes before that of what is right
  for (const Comparison& c : rung->comparisons) {
    std::string what = c.what;
    if (what.ends_with(kSecond)) what.erase(what.size() - kSecond.size());
    if (!IsQuantity(what) || (found.contains(what) && !IsFinding(c.verdict))) continue;
    double atol = std::isfinite(c.tolerance) && c.tolerance > 0 ? c.tolerance : plan->atol;
    if (IsFinding(c.verdict) && std::isfinite(c.max_error) && c.max_error > 0) {
      // Whatever stands in for a missing tolerance, and the relative part for other elements, must
      // not swallow the error that was found.
      if (c.reference_scale > 0 && std::isfinite(c.reference_scale)) {
        plan->rtol = std::min(plan->rtol, 0.25 * c.max_error / c.reference_scale);
      }
      if (c.tolerance <= 0) atol = std::min(atol, 0.25 * c.max_error);
    }
    if (IsFinding(c.verdict)) found.insert(what);
    plan->tolerances[what] = atol;
  }
}

Plan MakePlan(const Finding& f) {
  Plan plan;
  const Program& p = f.reduced;
  const RungOutcome* rung = FirstWrong(f.outcome);
  if (IsIdentifier(f.device, ":")) plan.device = f.device;
  if (IsIdentifier(f.first_wrong_rung, "")) plan.rung = f.first_wrong_rung;
  switch (f.verdict) {
    case Verdict::kCompileError:
    case Verdict::kRuntimeError:
      plan.symptom = Symptom::kRaises;
      break;
    case Verdict::kCrash:
      plan.symptom = Symptom::kDies;
      break;
    case Verdict::kTimeout:
      plan.symptom = Symptom::kHangs;
      break;
    case Verdict::kNondeterministic:
      plan.symptom = Symptom::kUnstable;
      break;
    default:
      break;
  }
  if (rung != nullptr && rung->seconds > plan.timeout) plan.timeout = rung->seconds;

  bool constant = true;
  for (const program::Storage& s : p.storages) constant = constant && IsConstant(s.values);
  for (const program::Storage& s : p.call.second_storages) {
    constant = constant && IsConstant(s.values);
  }
  for (const program::Output& o : p.outputs) {
    constant = constant && IsConstant(o.cotangent.values);
    plan.round_cotangents = plan.round_cotangents || !IsWhole(o.cotangent.values);
  }
  if (!constant) {
    // Up to the draw that shows it: earlier draws are calls of the same compiled function.
    plan.draws = std::max(f.run.draws, 1);
    if (rung != nullptr && plan.symptom == Symptom::kValues) {
      for (const Comparison* c : WrongComparisons(*rung)) {
        plan.draws = std::max(c->draw, 0) + 1;
        break;
      }
    }
  }
  plan.second = !p.call.second_leaves.empty();
  plan.floats = !program::Floats(p).empty();
  plan.gradients = p.call.backward != CallPlan::Backward::kNone &&
                   std::any_of(p.leaves.begin(), p.leaves.end(),
                               [](const program::Leaf& l) { return l.requires_grad; });
  plan.some_outputs = p.outputs.size() > 1;
  plan.inputs_after = WritesInPlace(p);
  if (rung != nullptr) {
    for (const Comparison& c : rung->comparisons) {
      if (!IsFinding(c.verdict)) continue;
      plan.metadata = plan.metadata || c.verdict == Verdict::kMetadataMismatch;
      plan.own_laws = plan.own_laws || c.verdict == Verdict::kSelfCheckFailed;
      plan.inputs_after = plan.inputs_after || c.what.starts_with("input ");
    }
  }
  plan.own_laws = plan.own_laws && plan.gradients;
  const Program wide = program::ToReference(p);
  plan.own_reference = wide.statements != p.statements || wide.regions != p.regions;
  plan.simple_leaves =
      LeavesAreSimple(p.leaves) && (!plan.second || LeavesAreSimple(p.call.second_leaves));
  for (const program::Storage& s : p.storages) {
    plan.complex = plan.complex || program::Info(s.dtype).is_complex;
  }
  PlanTolerances(f, rung, &plan);
  return plan;
}

constexpr int64_t kMaxSpelled = 64;  // elements of a constant that a snippet writes out

// --- How it is written
// ----------------------------------------------------------------------------

std::string PythonLiteral(const nlohmann::json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string Scientific(double value) { return Rough(value); }

// The config entries that the rung, the program and the run set, in the order in which they are
// set.
std::vector<std::pair<std::string, nlohmann::json>> Knobs(const Finding& finding,
                                                          const std::string& rung) {
  auto knobs = program::ConfigKnobs(finding.reduced.call);
  knobs.insert(knobs.end(), finding.run.knobs.begin(), finding.run.knobs.end());
  if (rung == "inductor_fallback") {
    knobs.insert(knobs.begin(), {"inductor.fallback_by_default", true});
  }
  return knobs;
}

class Script {
 public:
  Script(const Finding& finding, Plan plan) : f_(finding), plan_(std::move(plan)) {}

  std::string Write() {
    Header();
    Line("import sys");
    if (plan_.symptom == Symptom::kDies || plan_.symptom == Symptom::kHangs) {
      Line("import subprocess");
    }
    Line();
    out_ += program::EmitModule(f_.reduced);
    if (plan_.own_reference) {
      Function();
      Line("# The same in float64.");
      out_ += program::EmitFunction(program::ToReference(f_.reduced), "reference");
    }
    Tolerances();
    WideInputs();
    Run();
    if (plan_.symptom != Symptom::kUnstable) Check();
    Main();
    Entry();
    return std::move(out_);
  }

 private:
  void Line(std::string_view text = "") { out_ += std::string(text) + "\n"; }
  void Function() { out_ += "\n\n"; }  // two empty lines before a top-level definition

  const CallPlan& call() const { return f_.reduced.call; }
  std::string DrawArgument() const { return plan_.draws > 1 ? ", draw" : ""; }

  void Header() {
    Line("# title: " + Title(f_));
    if (IsIdentifier(f_.id, "-")) Line("# id: " + f_.id);
    const std::string torch = f_.environment.is_object() && f_.environment.contains("torch") &&
                                      f_.environment["torch"].is_string()
                                  ? f_.environment["torch"].get<std::string>()
                                  : "";
    const size_t minor = torch.find('.', torch.find('.') + 1);
    const std::string version = minor == std::string::npos ? "" : torch.substr(0, minor) + ".*";
    const RungOutcome* wrong = FirstWrong(f_.outcome);
    if (IsIdentifier(version, ".*")) {
      Line("# expect: " + version + " " + plan_.device + " " + plan_.rung + " " +
           Name(wrong != nullptr ? wrong->verdict : f_.outcome.verdict));
    }
    if (!f_.workaround.empty()) Line("# workaround: " + OneLine(f_.workaround));
    Line("#");
    Line("# Exits 1 while torch.compile is wrong, 0 when it is right. Needs only torch.");
  }

  void Tolerances() {
    if (plan_.exact || plan_.symptom == Symptom::kUnstable) return;
    Function();
    Line(
        "# Absolute error allowed, as calibrated for this program; RTOL and ATOL where nothing "
        "was.");
    std::string items;
    for (const auto& [name, atol] : plan_.tolerances) {
      if (atol == plan_.atol) continue;  // the default
      items += (items.empty() ? "" : ", ") + ("\"" + name + "\": " + Scientific(atol));
    }
    Line("TOLERANCE = {" + items + "}");
    Line("RTOL, ATOL = " + Scientific(plan_.rtol) + ", " + Scientific(plan_.atol));
  }

  void WideInputs() {
    if (plan_.symptom == Symptom::kUnstable) return;
    Function();
    const char* wide =
        plan_.complex ? "torch.complex128 if x.is_complex() else torch.float64" : "torch.float64";
    const bool mixed =
        std::any_of(f_.reduced.storages.begin(), f_.reduced.storages.end(),
                    [](const program::Storage& s) { return !program::IsDifferentiable(s.dtype); });
    Line("def widen(xs):  # the same inputs in float64, for the reference");
    if (plan_.simple_leaves) {
      if (!mixed) {
        Line("    return [x.detach().to(" + std::string(wide) +
             ").requires_grad_(x.requires_grad) for x in xs]");
        return;
      }
      Line("    out = []");
      Line("    for x in xs:");
      Line("        dtype = " + WideExpression(wide));
      Line("        out.append(x.detach().clone().to(dtype).requires_grad_(x.requires_grad))");
      Line("    return out");
      return;
    }
    Line("    buffers, out = {}, []  # strides and shared memory stay as they are");
    Line("    for x in xs:");
    Line("        storage = x.untyped_storage()");
    Line("        dtype = " + (mixed ? WideExpression(wide) : std::string(wide)));
    Line("        if storage.data_ptr() not in buffers:");
    Line("            whole = torch.empty(0, dtype=x.dtype, device=x.device).set_(storage)");
    Line("            buffers[storage.data_ptr()] = whole.clone().to(dtype)");
    Line(
        "        x64 = buffers[storage.data_ptr()].as_strided(x.shape, x.stride(), "
        "x.storage_offset())");
    Line("        out.append(x64.detach().requires_grad_(x.requires_grad))");
    Line("    return out");
  }

  std::string WideExpression(const std::string& wide) const {
    if (plan_.complex) {
      return "torch.complex128 if x.is_complex() else torch.float64 if x.is_floating_point() else "
             "x.dtype";
    }
    return wide + " if x.is_floating_point() else x.dtype";
  }

  void Run() {
    Function();
    std::string parameters = "fn, xs";
    if (plan_.floats) parameters += ", floats";
    if (plan_.draws > 1) parameters += ", draw";
    if (plan_.round_cotangents && plan_.gradients) parameters += ", like=None";
    if (call().autocast) parameters += ", autocast=True";
    if (plan_.own_laws) parameters += ", change=lambda c: c";
    Line("def run(" + parameters + "):  # everything that one call yields, by name");
    // What is written in place may require a gradient afterwards, and is no leaf all the same.
    if (plan_.gradients && WritesInPlace(f_.reduced)) Leaves();
    std::string indent = "    ";
    if (call().backward == CallPlan::Backward::kNone) {
      Line(indent + "with torch.no_grad():");
      indent += "    ";
    }
    if (call().autocast) {
      Line(indent + "with torch.autocast(\"" + DeviceType() +
           "\", dtype=torch.bfloat16, enabled=autocast):");
      indent += "    ";
    }
    Line(indent + "outs = fn(" + Passed("*xs") + ")");
    Line("    seen = {f\"out{i}\": o for i, o in enumerate(outs)}");
    if (plan_.metadata) Facts();
    if (plan_.gradients) Gradients();
    if (plan_.inputs_after) {
      Line("    seen.update({f\"input x{i}\": x.detach().clone() for i, x in enumerate(xs)})");
    }
    Line("    return seen");
  }

  // The arguments of a call: the tensors, then the floats.
  std::string Passed(std::string tensors) const {
    return std::move(tensors) + (plan_.floats ? ", *floats" : "");
  }

  void Leaves() {
    Line("    leaves = {f\"grad x{i}\": x for i, x in enumerate(xs) if x.requires_grad}");
  }

  void Facts() {
    Line("    memory = [t.untyped_storage().data_ptr() for t in [*xs, *outs]]");
    Line("    for i, o in enumerate(outs):");
    Line(
        "        shared = [j for j, m in enumerate(memory[:len(xs) + i]) if o.numel() and m == "
        "memory[len(xs) + i]]");
    Line("        seen[f\"facts of out{i}\"] = (o.stride(), o.requires_grad, shared)");
  }

  void Gradients() {
    if (!WritesInPlace(f_.reduced)) Leaves();
    std::string cotangents = "cotangents(outs" + DrawArgument() + ")";
    if (plan_.round_cotangents) {
      cotangents = "cotangents(like or outs" + DrawArgument() + ")";
    }
    std::string element = plan_.round_cotangents ? "c.to(o.dtype)" : "c";
    if (plan_.own_laws) element = "change(" + element + ")";
    std::string outputs = "outs";
    if (plan_.some_outputs || plan_.round_cotangents || plan_.own_laws) {
      Line("    pairs = [(o, " + element + ") for o, c in zip(outs, " + cotangents +
           ") if o.requires_grad]");
      outputs = "[o for o, _ in pairs]";
      cotangents = "[c for _, c in pairs]";
    }
    const std::string rest = ", list(leaves.values()), " + cotangents + ", allow_unused=True";
    switch (call().backward) {
      case CallPlan::Backward::kAccumulate:
        Line("    twice = [");
        Line("        torch.autograd.grad(" + outputs + rest + ", retain_graph=True)");
        Line("        for _ in range(2)");
        Line("    ]");
        Line("    grads = [None if a is None else a + b for a, b in zip(*twice)]");
        break;
      case CallPlan::Backward::kDouble:
        Line("    grads = torch.autograd.grad(" + outputs + rest + ", create_graph=True)");
        Line("    again = [g for g in grads if g is not None and g.requires_grad]");
        Line("    if again:");
        Line("        ones = [torch.ones_like(g) for g in again]");
        Line(
            "        grads = torch.autograd.grad(again, list(leaves.values()), ones, "
            "allow_unused=True)");
        break;
      default:
        Line("    grads = torch.autograd.grad(" + outputs + rest + ")");
    }
    Line("    seen.update(zip(leaves, grads))");
  }

  void Check() {
    Function();
    if (plan_.exact) {
      Line(
          "def wrong(got, exact):  # the elements that differ; this program is exact in its dtype");
      Line("    got, exact = (t.detach().to(\"cpu\", " + Common() + ") for t in (got, exact))");
      Line("    return ~((got == exact) | (got.isnan() & exact.isnan()))");
    } else {
      Line("def wrong(got, eager, exact, atol):  # the elements that rounding does not explain");
      Line("    got, eager, exact = (t.detach().to(\"cpu\", " + Common() +
           ") for t in (got, eager, exact))");
      Line("    allowed = atol + RTOL * exact.abs() + 2 * (eager - exact).abs()");
      Line("    as_eager = (got == eager) | (got.isnan() & eager.isnan())");
      Line("    return ~(as_eager | ((got - exact).abs() <= allowed))");
    }
    Function();
    Line("def report(compiled, eager, exact):  # prints each quantity; True when one is wrong");
    Line("    bad = False");
    Line("    for name, want in eager.items():");
    Line("        got, ref = compiled[name], exact[name]");
    if (plan_.metadata) {
      Line("        if isinstance(want, tuple):");
      Line("            differs = got != want");
      Line(
          "        elif got is None or want is None or got.shape != want.shape or got.dtype != "
          "want.dtype:");
    } else {
      Line(
          "        if got is None or want is None or got.shape != want.shape or got.dtype != "
          "want.dtype:");
    }
    Line("            differs = got is not want");
    Line("        else:");
    Line(plan_.exact ? "            differs = bool(wrong(got, ref).any())"
                     : "            differs = bool(wrong(got, want, ref, TOLERANCE.get(name, "
                       "ATOL)).any())");
    Line("        print(f\"{name}: {'WRONG' if differs else 'right'}\")");
    Line("        if differs:");
    Line("            print(f\"  float64   {ref}\\n  eager     {want}\\n  compiled  {got}\")");
    Line("        bad = bad or differs");
    Line("    return bad");
  }

  std::string Common() const { return plan_.complex ? "torch.complex128" : "torch.float64"; }
  std::string DeviceType() const { return plan_.device.substr(0, plan_.device.find(':')); }

  std::string InputsCall(const std::string& make) const {
    std::string arguments = plan_.device == "cpu" ? "" : "\"" + plan_.device + "\"";
    if (plan_.draws > 1) {
      arguments += arguments.empty() ? "draw=draw" : ", draw";
    }
    return make + "(" + arguments + ")";
  }

  // run(<fn>, <xs>...) with the arguments that this script's run takes.
  std::string RunCall(const std::string& fn, const std::string& xs, bool reference,
                      const std::string& change) const {
    std::string text = "run(" + fn + ", " + xs;
    if (plan_.floats) text += ", floats";
    if (plan_.draws > 1) text += ", draw";
    if (reference && plan_.round_cotangents && plan_.gradients) text += ", like=outs";
    if (reference && call().autocast) text += ", autocast=False";
    if (!change.empty()) text += ", change=" + change;
    return text + ")";
  }

  void Main() {
    Function();
    Line("def main():");
    for (const auto& [knob, value] : Knobs(f_, plan_.rung)) {
      const std::string statement = KnobStatement(knob, value);
      if (statement.empty()) continue;
      if (const size_t end = statement.find(".config"); end != std::string::npos) {
        const std::string module = statement.substr(0, end + 7);
        if (modules_.insert(module).second) Line("    import " + module);
      }
      Line("    " + statement);
    }
    Line("    print(f\"torch {torch.__version__}, " + plan_.device + ", " + plan_.rung + "\")");
    Line("    compiled_program = " + CompileCall(f_));
    if (call().no_grad_first) {
      Line("    with torch.no_grad():");
      Line("        compiled_program(*inputs(" +
           (plan_.device == "cpu" ? "" : "\"" + plan_.device + "\"") + ")" +
           (plan_.floats ? ", *CALL[\"floats\"]" : "") + ")");
    }
    std::string indent = "    ";
    std::string make = "inputs";
    looped_ = plan_.own_laws || plan_.second || plan_.draws > 1;
    if (looped_ || plan_.symptom == Symptom::kUnstable) Line("    bad = False");
    if (plan_.own_laws) {
      Line(
          "    changes = {  # the gradient is linear in the cotangent: any of these must be right");
      Line("        \"as given\": lambda c: c,");
      Line("        \"zero\": lambda c: torch.zeros_like(c),");
      Line("        \"doubled\": lambda c: 2 * c,");
      Line(
          "        \"even elements\": lambda c: c * (torch.arange(c.numel(), "
          "device=c.device).reshape(c.shape) % 2 == 0),");
      Line(
          "        \"odd elements\": lambda c: c * (torch.arange(c.numel(), "
          "device=c.device).reshape(c.shape) % 2 == 1),");
      Line("    }");
      Line("    for label, change in changes.items():");
      Line("        print(f\"cotangent: {label}\")");
      indent += "    ";
    }
    if (plan_.second) {
      if (plan_.floats) {
        Line(indent +
             "calls = [(inputs, CALL[\"floats\"]), (second_inputs, CALL[\"second_floats\"])]");
        Line(indent + "for make, floats in calls:  # one compiled function");
      } else {
        Line(indent + "for make in (inputs, second_inputs):  # two sizes, one compiled function");
      }
      indent += "    ";
      make = "make";
    } else if (plan_.floats) {
      Line(indent + "floats = CALL[\"floats\"]");
    }
    if (plan_.draws > 1) {
      Line(indent + "for draw in range(" + std::to_string(plan_.draws) + "):");
      indent += "    ";
      Line(indent + "print(f\"draw {draw}\")");
    }
    if (plan_.symptom == Symptom::kUnstable) {
      Unstable(indent, make);
    } else {
      Judge(indent, make);
    }
    Line("    print(\"WRONG\" if bad else \"RIGHT\")");
    Line("    return int(bad)");
  }

  void Judge(const std::string& indent, const std::string& make) {
    const std::string change = plan_.own_laws ? "change" : "";
    const std::string xs = InputsCall(make);
    Line(indent + "eager = " + RunCall("program", xs, false, change));
    if (plan_.round_cotangents && plan_.gradients) {
      Line(indent + "outs = [v for name, v in eager.items() if name.startswith(\"out\")]");
    }
    Line(indent + "exact = " +
         RunCall(plan_.own_reference ? "reference" : "program", "widen(" + xs + ")", true, change));
    if (plan_.symptom == Symptom::kRaises) {
      Line(indent + "try:");
      Line(indent + "    compiled = " + RunCall("compiled_program", xs, false, change));
      Line(indent + "except Exception:");
      Line(indent + "    sys.excepthook(*sys.exc_info())");
      Line(indent + "    print(\"WRONG: eager runs, the compiled program raises\")");
      Line(indent + "    return 1");
    } else {
      Line(indent + "compiled = " + RunCall("compiled_program", xs, false, change));
    }
    Line(indent + "bad = report(compiled, eager, exact)" + (looped_ ? " or bad" : ""));
  }

  void Unstable(const std::string& indent, const std::string& make) {
    const std::string xs = InputsCall(make);
    Line(indent + "first = " + RunCall("compiled_program", xs, false, ""));
    Line(indent + "for _ in range(20):");
    Line(indent + "    again = " + RunCall("compiled_program", xs, false, ""));
    Line(indent + "    for name, a in first.items():");
    Line(indent + "        b = again[name]");
    Line(indent +
         "        if (a is None) != (b is None) or (a is not None and not torch.equal("
         "a.nan_to_num(), b.nan_to_num())):");
    Line(indent + "            print(f\"{name} differs between two calls\\n  {a}\\n  {b}\")");
    Line(indent + "            bad = True");
  }

  void Entry() {
    Function();
    if (plan_.symptom == Symptom::kDies || plan_.symptom == Symptom::kHangs) {
      const std::string seconds = std::to_string(static_cast<int64_t>(std::ceil(plan_.timeout)));
      Line("def watch():  # runs this script in a child, which may not survive it");
      Line("    try:");
      Line("        child = subprocess.run([sys.executable, __file__, \"--child\"], timeout=" +
           seconds + ")");
      Line("    except subprocess.TimeoutExpired:");
      Line("        print(\"WRONG: no end after " + seconds + " s\")");
      Line("        return 1");
      Line("    if child.returncode not in (0, 1):");
      Line("        print(f\"WRONG: the process died, exit status {child.returncode}\")");
      Line("    return int(child.returncode != 0)");
      Function();
      Line("if __name__ == \"__main__\":");
      Line("    sys.exit(main() if \"--child\" in sys.argv else watch())");
      return;
    }
    Line("if __name__ == \"__main__\":");
    Line("    sys.exit(main())");
  }

  const Finding& f_;
  Plan plan_;
  std::string out_;
  bool looped_ = false;            // more than one comparison is made
  std::set<std::string> modules_;  // imported by main
};

}  // namespace

std::string KnobStatement(const std::string& knob, const nlohmann::json& value) {
  const size_t dot = knob.find('.');
  if (dot == std::string::npos || !IsIdentifier(knob, ".")) return "";
  const std::string part = knob.substr(0, dot);
  if (knob == "runtime.num_threads") return "torch.set_num_threads(" + PythonLiteral(value) + ")";
  if (part != "inductor" && part != "functorch" && part != "dynamo") return "";
  return "torch._" + part + ".config" + knob.substr(dot) + " = " + PythonLiteral(value);
}

std::string CompileCall(const Finding& finding) {
  const std::string rung =
      IsIdentifier(finding.first_wrong_rung, "") ? finding.first_wrong_rung : "inductor";
  if (rung == "eager") return "program";
  std::string backend = rung;
  if (rung == "dynamo") backend = "eager";
  if (rung == "inductor_fallback") backend = "inductor";
  std::string text = "torch.compile(program, backend=\"" + backend + "\"";
  const RungOutcome* wrong = FirstWrong(finding.outcome);
  if (wrong == nullptr || wrong->graph_breaks == 0) text += ", fullgraph=True";
  switch (finding.reduced.call.dynamic) {
    case CallPlan::Dynamic::kYes:
      text += ", dynamic=True";
      break;
    case CallPlan::Dynamic::kNo:
      text += ", dynamic=False";
      break;
    case CallPlan::Dynamic::kDefault:
      break;
  }
  return text + ")";
}

std::string EmitSnippet(const Finding& finding) {
  const Plan plan = MakePlan(finding);
  const Program& p = finding.reduced;
  const RungOutcome* rung = FirstWrong(finding.outcome);
  CallPlan plain;
  plain.dynamic = p.call.dynamic;
  if (rung == nullptr || !(p.call == plain) || plan.metadata || plan.own_laws ||
      plan.inputs_after || plan.floats || !Knobs(finding, plan.rung).empty() ||
      p.outputs.size() != 1 ||
      (plan.symptom != Symptom::kValues && plan.symptom != Symptom::kRaises) ||
      !LeavesAreSimple(p.leaves)) {
    return "";
  }
  std::string out = "import torch\n\n\n" + program::EmitFunction(p) + "\n\n";
  std::string leaves;
  std::string wanted;
  for (size_t i = 0; i < p.leaves.size(); ++i) {
    const program::Leaf& leaf = p.leaves[i];
    program::Storage storage = p.storages[static_cast<size_t>(leaf.storage)];
    if (IsConstant(storage.values) && storage.values.kind == ValueRecipe::Kind::kInts &&
        storage.numel <= kMaxSpelled && !program::Info(storage.dtype).is_complex) {
      storage.values.values.assign(static_cast<size_t>(storage.numel), storage.values.low);
      storage.values.kind = ValueRecipe::Kind::kLiteral;
    }
    const std::string name = "x" + std::to_string(i);
    std::string literal = program::EmitLiteral(storage, leaf.sizes, "\"" + plan.device + "\"");
    if (literal.empty() || leaf.offset != 0) return "";
    for (std::string_view by_default : {", device=\"cpu\"", ", dtype=torch.float32"}) {
      const size_t at = literal.find(by_default);
      if (at != std::string::npos) literal.erase(at, by_default.size());
    }
    out += name + " = " + literal + (leaf.requires_grad ? ".requires_grad_()" : "") + "\n";
    leaves += (i ? ", " : "") + name;
    if (leaf.requires_grad) wanted += (wanted.empty() ? "" : ", ") + name;
  }
  const program::Cotangent& cotangent = p.outputs[0].cotangent;
  const bool ones =
      IsConstant(cotangent.values) &&
      (cotangent.values.kind == ValueRecipe::Kind::kInts
           ? cotangent.values.low == 1
           : std::all_of(cotangent.values.values.begin(), cotangent.values.values.end(),
                         [](double v) { return v == 1; }));
  // What out.sum() sends back.
  const bool by_sum = cotangent.layout == program::Cotangent::Layout::kExpanded;
  const bool contiguous = cotangent.layout == program::Cotangent::Layout::kContiguous;
  if (!ones || !(contiguous || by_sum)) return "";
  out += "for fn in (program, " + CompileCall(finding) + "):\n";
  out += "    (out,) = fn(" + leaves + ")\n";
  const std::vector<const Comparison*> wrong = WrongComparisons(*rung);
  const bool forward = std::any_of(wrong.begin(), wrong.end(),
                                   [](const Comparison* c) { return c->what.starts_with("out"); });
  if (forward) out += "    print(out)\n";
  if (plan.gradients) {
    out += std::string("    print(torch.autograd.grad(") + (by_sum ? "out.sum()" : "out") + ", [" +
           wanted + "]" + (by_sum ? "" : ", torch.ones_like(out)") + ", allow_unused=True))\n";
  }
  return out;
}

std::string EmitRepro(const Finding& finding) { return Script(finding, MakePlan(finding)).Write(); }

}  // namespace gradfuzz::report
