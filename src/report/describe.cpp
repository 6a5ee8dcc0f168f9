// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/report/describe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "gradfuzz/program/emit.h"
#include "gradfuzz/report/text.h"
#include "gradfuzz/support/complex.h"

namespace gradfuzz::report {
namespace {

using program::ValueRecipe;

struct RungWords {
  const char* rung;
  const char* words;
};
constexpr RungWords kRungs[] = {
    {"eager", "no compilation"},
    {"dynamo", "graph capture only: torch.compile(backend=\"eager\")"},
    {"aot_eager", "capture and AOTAutograd, no decompositions"},
    {"aot_eager_decomp_partition", "AOTAutograd, decompositions and the min-cut partitioner"},
    {"aot_eager_decomp_partition_crossref", "the same, fake tensors checked against real ones"},
    {"inductor_fallback", "Inductor, every operator falling back to ATen"},
    {"inductor", "everything: Inductor's lowerings, fusion and kernels"},
};

bool SameNumber(Complex a, Complex b, double tolerance) {
  if (IsFinite(a) && IsFinite(b)) return std::abs(a - b) <= tolerance;
  // Of complex numbers libraries differ in which part is NaN or infinite.
  if (a.imag() != 0 || b.imag() != 0) return IsFinite(a) == IsFinite(b);
  return a == b || (std::isnan(a.real()) && std::isnan(b.real()));
}

bool HasValues(const Comparison& c) { return !c.got.empty() && c.got.size() == c.reference.size(); }

std::string RecipeInWords(const ValueRecipe& r) {
  switch (r.kind) {
    case ValueRecipe::Kind::kLiteral: {
      if (r.values.size() > 8) return Count(static_cast<int64_t>(r.values.size()), "literal value");
      std::string out = "values ";
      for (size_t i = 0; i < r.values.size(); ++i) out += (i ? ", " : "") + Number(r.values[i]);
      return out;
    }
    case ValueRecipe::Kind::kInts:
      if (r.low == r.high) return "all " + Number(r.low);
      return "whole numbers in [" + Number(r.low) + ", " + Number(r.high) + "]";
    case ValueRecipe::Kind::kUniform:
      return "uniform in [" + Number(r.low) + ", " + Number(r.high) + "]";
    case ValueRecipe::Kind::kNormal:
      return "about normal, mean " + Number(r.shift) + ", deviation " + Number(r.scale);
    case ValueRecipe::Kind::kChoice:
      return "drawn from " + Count(static_cast<int64_t>(r.values.size()), "chosen value");
  }
  return "";
}

}  // namespace

const RungOutcome* FirstWrong(const Outcome& outcome) {
  for (const RungOutcome& rung : outcome.rungs) {
    if (rung.rung == outcome.first_wrong_rung && IsFinding(rung.verdict)) return &rung;
  }
  for (const RungOutcome& rung : outcome.rungs) {
    if (IsFinding(rung.verdict)) return &rung;
  }
  return nullptr;
}

std::vector<const Comparison*> WrongComparisons(const RungOutcome& rung) {
  std::vector<const Comparison*> wrong;
  for (const Comparison& c : rung.comparisons) {
    if (IsFinding(c.verdict)) wrong.push_back(&c);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const Comparison* a, const Comparison* b) {
    if (a->verdict != b->verdict) return Graver(a->verdict, b->verdict) == a->verdict;
    return a->wrong > b->wrong;
  });
  return wrong;
}

std::string QuantityInWords(const std::string& what) {
  const auto after = [&](std::string_view prefix) { return what.substr(prefix.size()); };
  if (what.starts_with("grad ")) return "gradient of " + after("grad ");
  if (what.starts_with("repeat ")) return QuantityInWords(after("repeat ")) + " when repeated";
  if (what.starts_with("input ")) return after("input ") + " after the call";
  if (what.starts_with("out") && what.size() > 3 && what[3] >= '0' && what[3] <= '9') {
    return "output " + after("out");
  }
  return what;
}

std::string WhatIsWrong(const Comparison& c) {
  switch (c.verdict) {
    case Verdict::kMissingGradient:
      if (!c.note.empty()) return OneLine(c.note);
      return c.got.empty() ? "None where eager has a gradient" : "a gradient where eager has None";
    case Verdict::kMetadataMismatch:
    case Verdict::kSelfCheckFailed:
    case Verdict::kNondeterministic:
      if (!c.note.empty()) return OneLine(c.note);
      break;
    default:
      break;
  }
  std::string out;
  if (c.numel > 0 && c.wrong > 0) {
    out = c.wrong == c.numel ? (c.numel == 1 ? "its one element wrong"
                                             : "all " + Count(c.numel, "element") + " wrong")
                             : Thousands(c.wrong) + " of " + Count(c.numel, "element") + " wrong";
  } else {
    out = InWords(c.verdict);
  }
  if (!c.pattern.empty()) out += ": " + OneLine(c.pattern);
  return out;
}

namespace {

// Both NaN, the same infinity, or both finite.
bool SamePlace(Complex a, Complex b) {
  return SameNumber(a, b, std::numeric_limits<double>::infinity());
}

// Where NaN and Inf are at other places there is no distance: the first such element tells.
std::string SidesByPlace(const Comparison& c, const std::string& rung) {
  for (const int64_t position : c.wrong_at) {
    const auto i = static_cast<size_t>(position);
    if (i >= c.reference.size() || i >= c.eager.size() || i >= c.got.size()) continue;
    if (SamePlace(c.eager[i], c.got[i])) continue;
    if (SamePlace(c.reference[i], c.eager[i])) {
      return "float64 sides with eager: its NaN and Inf are where eager has them";
    }
    if (SamePlace(c.reference[i], c.got[i])) {
      return "float64 sides with " + rung + ": its NaN and Inf are where " + rung + " has them";
    }
    return "float64 sides with neither: its NaN and Inf are at places of its own";
  }
  return "";
}

}  // namespace

std::string Sides(const Comparison& c, const std::string& rung) {
  if (c.verdict == Verdict::kNanMismatch) return SidesByPlace(c, rung);
  if (c.max_error == 0 && c.eager_error == 0) return "";
  std::string numbers = "eager is off by " + Rough(c.eager_error) + ", " + rung + " by " +
                        Rough(c.max_error) + ", allowed is " +
                        // A few subnormals are the floor of a tolerance of zero.
                        (c.tolerance < 1e-300 ? "0" : Rough(c.tolerance));
  if (c.tolerance == 0) numbers += " (exact arithmetic)";
  // NaN compares false: an error that is NaN is never the smaller one.
  const bool eager_nearer = std::isnan(c.max_error) || c.eager_error < c.max_error;
  const bool rung_nearer = std::isnan(c.eager_error) || c.max_error < c.eager_error;
  if (eager_nearer && !std::isnan(c.eager_error)) return "float64 sides with eager: " + numbers;
  if (rung_nearer && !std::isnan(c.max_error)) return "float64 sides with " + rung + ": " + numbers;
  return "float64 sides with neither: " + numbers;
}

std::string PyTorchSays(const Comparison& c) {
  // Rules about values; neither looks at strides, aliases or None.
  if (c.verdict == Verdict::kMetadataMismatch || c.verdict == Verdict::kMissingGradient ||
      c.verdict == Verdict::kSelfCheckFailed) {
    return "";
  }
  return "torch._dynamo.utils.same says " + std::string(c.pytorch_same ? "same" : "different") +
         ", assert_close at its defaults " + (c.assert_close ? "passes" : "fails");
}

std::string Isolation(const Outcome& outcome) {
  std::set<std::string> devices;
  for (const RungOutcome& r : outcome.rungs) devices.insert(r.device);
  // Neighbours that fare alike share one phrase.
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const RungOutcome& r : outcome.rungs) {
    std::string fate = "right";
    if (r.verdict == Verdict::kCompileError || r.verdict == Verdict::kRuntimeError ||
        r.verdict == Verdict::kCrash || r.verdict == Verdict::kTimeout) {
      fate = InWords(r.verdict);
    } else if (IsFinding(r.verdict)) {
      fate = "wrong";
    } else if (r.verdict != Verdict::kAgree) {
      fate = InWords(r.verdict);
    }
    const std::string name = devices.size() > 1 ? r.rung + " (" + r.device + ")" : r.rung;
    if (groups.empty() || groups.back().first != fate) groups.push_back({fate, {}});
    groups.back().second.push_back(name);
  }
  std::string out;
  for (const auto& [fate, rungs] : groups) {
    if (!out.empty()) out += "; ";
    out += Enumerate(rungs) + ": " + fate;
  }
  return out;
}

std::string Accusation(const Outcome& outcome) {
  const RungOutcome* rung = FirstWrong(outcome);
  if (rung == nullptr) return InWords(outcome.verdict);
  const std::vector<const Comparison*> wrong = WrongComparisons(*rung);
  if (wrong.empty()) {
    // An error below silent wrong values: the values are what a reader must not miss.
    for (const RungOutcome& higher : outcome.rungs) {
      if (IsFinding(higher.verdict) && !WrongComparisons(higher).empty()) {
        return InWords(rung->verdict) + std::string("; ") + OneLine(higher.rung) + ": " +
               InWords(higher.verdict);
      }
    }
    return InWords(rung->verdict);
  }
  // One phrase per kind, in order of gravity: "wrong gradient of x0 and x1".
  std::vector<std::string> phrases;
  for (size_t i = 0; i < wrong.size();) {
    const Verdict verdict = wrong[i]->verdict;
    std::vector<std::string> names;
    bool gradients = true;
    for (; i < wrong.size() && wrong[i]->verdict == verdict; ++i) {
      const std::string& what = wrong[i]->what;
      gradients = gradients && what.starts_with("grad ");
      names.push_back(what);
    }
    const bool short_form = gradients && (verdict == Verdict::kGradientMismatch ||
                                          verdict == Verdict::kMissingGradient);
    for (std::string& name : names) {
      // "wrong input after the call" says the rest.
      const bool input = verdict == Verdict::kInputMutationMismatch && name.starts_with("input ");
      name = short_form ? name.substr(5) : input ? name.substr(6) : QuantityInWords(name);
    }
    phrases.push_back(InWords(verdict) + std::string(short_form ? " of " : ": ") +
                      Enumerate(names));
  }
  std::string out;
  for (size_t i = 0; i < phrases.size(); ++i) out += (i ? "; " : "") + phrases[i];
  const auto right = [&](std::string_view prefix) {
    bool seen = false;
    for (const Comparison& c : rung->comparisons) {
      if (!c.what.starts_with(prefix)) continue;
      if (IsFinding(c.verdict)) return false;
      seen = true;
    }
    return seen;
  };
  if (right("out")) out += " (outputs right)";
  return OneLine(out);
}

std::string RungInWords(const std::string& rung) {
  for (const RungWords& row : kRungs) {
    if (rung == row.rung) return row.words;
  }
  return "";
}

bool IsWrongElement(const Comparison& c, size_t flat) {
  if (!c.wrong_at.empty()) {
    return std::binary_search(c.wrong_at.begin(), c.wrong_at.end(), static_cast<int64_t>(flat));
  }
  return flat < c.got.size() && flat < c.reference.size() &&
         !SameNumber(c.reference[flat], c.got[flat], c.tolerance);
}

std::vector<Element> WrongElements(const Comparison& c, size_t limit) {
  std::vector<Element> out;
  if (!HasValues(c)) return out;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < c.got.size() && chosen.size() < limit; ++i) {
    if (IsWrongElement(c, i)) chosen.push_back(i);
  }
  if (chosen.empty()) {
    for (size_t i = 0; i < c.got.size(); ++i) chosen.push_back(i);
    const auto error = [&](size_t i) { return std::abs(c.got[i] - c.reference[i]); };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](size_t a, size_t b) { return error(a) > error(b); });
    chosen.resize(std::min(limit, chosen.size()));
    std::sort(chosen.begin(), chosen.end());
  }
  for (size_t i : chosen) {
    const Complex eager = i < c.eager.size() ? c.eager[i] : std::nan("");
    out.push_back({static_cast<int64_t>(i), c.reference[i], eager, c.got[i]});
  }
  return out;
}

std::string DescribeLeaf(const program::Program& program, size_t index) {
  const program::Leaf& leaf = program.leaves[index];
  const program::Storage& storage = program.storages[static_cast<size_t>(leaf.storage)];
  std::string out = std::string(program::Info(storage.dtype).name) + " " + Sizes(leaf.sizes);
  if (leaf.requires_grad) out += ", requires grad";
  int64_t dense = 1;
  bool contiguous = true;
  for (size_t d = leaf.sizes.size(); d-- > 0;) {
    contiguous = contiguous && (leaf.sizes[d] <= 1 || leaf.strides[d] == dense);
    dense *= std::max<int64_t>(leaf.sizes[d], 1);
  }
  if (!contiguous) out += ", strides " + Sizes(leaf.strides);
  if (leaf.offset != 0) out += ", offset " + std::to_string(leaf.offset);
  for (size_t other = 0; other < index; ++other) {
    if (program.leaves[other].storage == leaf.storage) {
      return out + ", shares memory with x" + std::to_string(other);
    }
  }
  return out + ", " + RecipeInWords(storage.values);
}

std::string Confirmation(const Finding& finding) {
  if (finding.confirmations == 0) return "";
  return "reproduced in " + std::to_string(finding.confirmed) + " of " +
         std::to_string(finding.confirmations) + " fresh processes";
}

namespace {

// "inductor.cpp.simdlen=1", one for each entry.
std::vector<std::string> Settings(const program::CallPlan& call) {
  std::vector<std::string> out;
  for (const auto& [name, value] : call.config) {
    out.push_back(OneLine(name) + "=" + program::EmitArg(program::Program(), value));
  }
  return out;
}

// " under torch.func.jvp, inductor.cpp.simdlen=1", or nothing.
std::string Under(const program::Program& program) {
  const std::string transform = program::TransformName(program);
  std::string out = transform.empty() ? "" : " under torch." + transform;
  for (const std::string& setting : Settings(program.call)) {
    out += (out.empty() ? " under " : ", ") + setting;
  }
  return out;
}

}  // namespace

std::vector<std::string> DescribeCall(const program::Program& program) {
  using program::CallPlan;
  const CallPlan& call = program.call;
  std::vector<std::string> out;
  if (call.dynamic == CallPlan::Dynamic::kYes) out.emplace_back("dynamic=True");
  if (call.dynamic == CallPlan::Dynamic::kNo) out.emplace_back("dynamic=False");
  for (std::string& setting : Settings(call)) out.push_back(std::move(setting));
  if (call.no_grad_first) out.emplace_back("called once under no_grad before");
  if (call.autocast) out.emplace_back("called under autocast(bfloat16)");
  switch (call.backward) {
    case CallPlan::Backward::kGrad:
      break;
    case CallPlan::Backward::kNone:
      out.emplace_back("no backward");
      break;
    case CallPlan::Backward::kAccumulate:
      out.emplace_back("two backwards, gradients accumulated");
      break;
    case CallPlan::Backward::kDouble:
      out.emplace_back("double backward");
      break;
  }
  if (!call.second_leaves.empty()) {
    std::string sizes;
    bool resized = false;
    for (size_t i = 0; i < call.second_leaves.size(); ++i) {
      sizes += (i ? ", " : "") + Sizes(call.second_leaves[i].sizes);
      resized = resized || call.second_leaves[i].sizes != program.leaves[i].sizes;
    }
    std::string how = resized ? " with sizes " + sizes : "";
    const std::vector<double> first = program::Floats(program);
    const std::vector<double> second = program::SecondFloats(program);
    for (size_t i = 0; i < first.size(); ++i) {
      how += (how.empty() ? " with f" : ", f") + std::to_string(i) + " = " +
             program::EmitArg(program, second[i]) + " (" + program::EmitArg(program, first[i]) +
             " at first)";
    }
    out.push_back("called a second time" + how);
  }
  return out;
}

std::string Title(const Finding& finding) {
  if (!finding.title.empty()) return OneLine(finding.title);
  return OneLine(finding.first_wrong_rung + " (" + finding.device +
                 "): " + Accusation(finding.outcome) + " in " + program::OpChain(finding.reduced) +
                 Under(finding.reduced));
}

std::vector<std::pair<std::string, std::string>> EnvironmentRows(const nlohmann::json& e) {
  // What names a build comes first; the rest follows in the order of its key.
  static constexpr std::pair<const char*, const char*> kFirst[] = {
      {"torch", "torch"},
      {"git", "torch commit"},
      {"cuda", "CUDA"},
      {"triton", "triton"},
      {"python", "Python"},
      {"device_names", "GPU"},
      {"devices", "devices"},
      {"os", "OS"},
      {"cpu_capability", "CPU vectors"},
      {"cpu", "CPU"},
      {"cxx", "C++ compiler"}};
  std::vector<std::pair<std::string, std::string>> rows;
  if (!e.is_object()) return rows;
  const auto text = [](const nlohmann::json& value) {
    if (value.is_string()) return OneLine(value.get_ref<const std::string&>());
    if (value.is_array()) {
      std::vector<std::string> items;
      for (const auto& item : value) {
        items.push_back(item.is_string() ? OneLine(item.get_ref<const std::string&>())
                                         : item.dump());
      }
      std::string out;
      for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + items[i];
      return out;
    }
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const auto worth_showing = [](const std::string& key, const nlohmann::json& value) {
    // What describes the worker, not the machine, and where things lie on it.
    return !value.is_null() && !value.is_object() && key != "rungs" && key != "knobs" &&
           key != "type" && key != "executable" &&
           !(value.is_string() && value.get_ref<const std::string&>().empty()) &&
           !(value.is_array() && value.empty());
  };
  std::set<std::string> seen;
  for (const auto& [key, label] : kFirst) {
    seen.insert(key);
    if (e.contains(key) && worth_showing(key, e[key])) rows.emplace_back(label, text(e[key]));
  }
  for (const auto& [key, value] : e.items()) {
    if (!seen.contains(key) && worth_showing(key, value)) {
      rows.emplace_back(OneLine(key), text(value));
    }
  }
  return rows;
}

}  // namespace gradfuzz::report
