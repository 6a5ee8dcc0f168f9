// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/isolate/signature.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "gradfuzz/isolate/error_text.h"
#include "gradfuzz/program/edit.h"
#include "gradfuzz/program/emit.h"
#include "gradfuzz/reduce/op_class.h"
#include "gradfuzz/support/hash.h"

namespace gradfuzz::isolate {
namespace {

using program::Program;
using program::ValueId;

BugClass ClassOf(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Verdict::kMissingGradient:
      return BugClass::kMissing;
    case Verdict::kMetadataMismatch:
      return BugClass::kMetadata;
    case Verdict::kSelfCheckFailed:
      return BugClass::kSelfCheck;
    case Verdict::kNondeterministic:
      return BugClass::kNondeterministic;
    case Verdict::kForwardMismatch:
    case Verdict::kInputMutationMismatch:
      return BugClass::kForward;
    case Verdict::kGradientMismatch:
    case Verdict::kNanMismatch:
      return comparison.what.starts_with("grad") ? BugClass::kGradient : BugClass::kForward;
    default:
      return BugClass::kNone;
  }
}

BugClass ClassOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompileError:
      return BugClass::kCompileError;
    case Verdict::kRuntimeError:
      return BugClass::kRuntimeError;
    case Verdict::kCrash:
      return BugClass::kCrash;
    case Verdict::kTimeout:
      return BugClass::kTimeout;
    default:
      return BugClass::kNone;
  }
}

// The number at the end of "out1" or "grad x0"; nothing when `what` is something else.
std::optional<size_t> IndexIn(const std::string& what, std::string_view prefix) {
  if (!what.starts_with(prefix)) return std::nullopt;
  size_t index = 0;
  const char* end = what.data() + what.size();
  const auto parsed = std::from_chars(what.data() + prefix.size(), end, index);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return index;
}

std::vector<size_t> WrongIndices(const Outcome& outcome, std::string_view prefix) {
  std::vector<size_t> indices;
  const RungOutcome* rung = FirstWrongRung(outcome);
  if (rung == nullptr) return indices;
  for (const Comparison& c : rung->comparisons) {
    if (!IsFinding(c.verdict)) continue;
    if (const auto index = IndexIn(c.what, prefix)) indices.push_back(*index);
  }
  return indices;
}

// sin(exp(x)) misleads a compiler no otherwise than sin(x), nor does a view of a view.
bool Merges(const std::string& op) {
  return op == "transcendental" || op == "pointwise" || op == "view";
}

// The class of two merged neighbours: a transcendental makes the pair one.
std::optional<std::string> Merged(const std::string& a, const std::string& b) {
  if (!Merges(a) || !Merges(b)) return std::nullopt;
  if ((a == "view") != (b == "view")) return std::nullopt;
  return a == "transcendental" || b == "transcendental" ? "transcendental" : a;
}

bool Less(const Skeleton& a, const Skeleton& b) { return ToText(a) < ToText(b); }

void Tidy(Skeleton* node) {
  std::vector<Skeleton> children;
  for (Skeleton& child : node->children) {
    const auto merged = node->op.empty() ? std::nullopt : Merged(node->op, child.op);
    if (!merged) {
      children.push_back(std::move(child));
      continue;
    }
    node->op = *merged;
    for (Skeleton& grandchild : child.children) children.push_back(std::move(grandchild));
  }
  std::sort(children.begin(), children.end(), Less);
  // mul(sin(x), sin(y)) and mul(sin(x), z) are one bug's two faces: equal children count once.
  children.erase(std::unique(children.begin(), children.end()), children.end());
  node->children = std::move(children);
}

// REQUIRES: `node` is no root holder.
bool Matches(const Skeleton& node, const Skeleton& pattern) {
  const bool same_op = node.op == pattern.op ||
                       // A chain that was merged holds both.
                       (node.op == "transcendental" && pattern.op == "pointwise");
  if (!same_op) return false;
  return std::all_of(pattern.children.begin(), pattern.children.end(), [&](const Skeleton& want) {
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const Skeleton& child) { return Matches(child, want); });
  });
}

// Levels of data flow that are looked at: more than any reduced program has, few enough that values
// used many times don't make the tree explode.
constexpr int kMaxDepth = 6;

Skeleton Truncated(const Skeleton& node, int depth) {
  Skeleton out{node.op, {}};
  if (depth > 1) {
    for (const Skeleton& child : node.children) out.children.push_back(Truncated(child, depth - 1));
  }
  return out;
}

// One tree per statement; `used` marks the statements whose results others use.
std::vector<Skeleton> NodesOf(const Program& program, std::vector<bool>* used) {
  const auto leaves = static_cast<ValueId>(program.leaves.size());
  used->assign(program.statements.size(), false);
  std::vector<Skeleton> nodes;
  for (const program::Statement& statement : program.statements) {
    Skeleton node;
    node.op = reduce::OpClass(statement);
    for (ValueId id : program::Uses(statement)) {
      if (id < leaves) continue;
      const size_t producer = *program::Producer(program, id);
      (*used)[producer] = true;
      node.children.push_back(Truncated(nodes[producer], kMaxDepth - 1));
    }
    Tidy(&node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

const char* Name(BugClass bug) {
  switch (bug) {
    case BugClass::kNone:
      return "none";
    case BugClass::kForward:
      return "forward";
    case BugClass::kGradient:
      return "gradient";
    case BugClass::kMissing:
      return "missing gradient";
    case BugClass::kMetadata:
      return "metadata";
    case BugClass::kSelfCheck:
      return "self-check";
    case BugClass::kNondeterministic:
      return "nondeterministic";
    case BugClass::kCompileError:
      return "compile error";
    case BugClass::kRuntimeError:
      return "runtime error";
    case BugClass::kCrash:
      return "crash";
    case BugClass::kTimeout:
      return "timeout";
  }
  return "";
}

bool IsError(BugClass bug) { return bug >= BugClass::kCompileError; }

const RungOutcome* FirstWrongRung(const Outcome& outcome) {
  if (outcome.first_wrong_rung.empty()) return nullptr;
  for (const RungOutcome& rung : outcome.rungs) {
    if (rung.rung == outcome.first_wrong_rung && IsFinding(rung.verdict)) return &rung;
  }
  return nullptr;
}

std::set<std::string> WrongKinds(const Outcome& outcome) {
  std::set<std::string> kinds;
  const RungOutcome* rung = FirstWrongRung(outcome);
  if (rung == nullptr) return kinds;
  for (const Comparison& c : rung->comparisons) {
    if (!IsFinding(c.verdict)) continue;
    kinds.insert(c.verdict == Verdict::kInputMutationMismatch ? "input" : Name(ClassOf(c)));
  }
  return kinds;
}

Target TargetOf(const Outcome& outcome) {
  const RungOutcome* rung = FirstWrongRung(outcome);
  Target target;
  if (rung == nullptr) {
    // A worker that was lost in a phase that is no rung.
    if (outcome.verdict == Verdict::kCrash || outcome.verdict == Verdict::kTimeout) {
      target.bug = ClassOf(outcome.verdict);
      target.error = ErrorKey(outcome.note);
    }
    return target;
  }
  target.rung = rung->rung;
  target.device = rung->device;
  target.bug = ClassOf(rung->verdict);
  if (target.bug != BugClass::kNone) {
    target.error = ErrorKey(rung->error);
    return target;
  }
  // The smallest class, in the order of the enum: wrong outputs explain wrong gradients.
  for (const Comparison& c : rung->comparisons) {
    const BugClass bug = ClassOf(c);
    if (bug == BugClass::kNone || !IsFinding(c.verdict)) continue;
    if (target.bug == BugClass::kNone || bug < target.bug) target.bug = bug;
  }
  if (target.bug == BugClass::kMissing) {
    for (const Comparison& c : rung->comparisons) {
      // "None, ..." before "a gradient, ..." before "zeros, ...": the gravest comes first.
      if (ClassOf(c) != BugClass::kMissing) continue;
      if (target.error.empty() || c.note < target.error) target.error = c.note;
    }
  }
  return target;
}

std::vector<size_t> WrongOutputs(const Outcome& outcome) { return WrongIndices(outcome, "out"); }
std::vector<size_t> WrongLeaves(const Outcome& outcome) { return WrongIndices(outcome, "grad x"); }

Skeleton SkeletonOf(const Program& program) {
  std::vector<bool> used;
  std::vector<Skeleton> nodes = NodesOf(program, &used);
  Skeleton top;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!used[i]) top.children.push_back(std::move(nodes[i]));
  }
  Tidy(&top);
  return top;
}

std::string ToText(const Skeleton& skeleton) {
  std::string inner;
  for (const Skeleton& child : skeleton.children) {
    inner += (inner.empty() ? "" : skeleton.op.empty() ? "; " : ", ") + ToText(child);
  }
  if (skeleton.op.empty()) return inner;
  return skeleton.op + (inner.empty() ? "" : "(" + inner + ")");
}

namespace {

// Parses "a(b, c)" lists separated by `separator` from *at on.
std::vector<Skeleton> ParseList(std::string_view text, size_t* at, char separator) {
  std::vector<Skeleton> nodes;
  while (*at < text.size()) {
    while (*at < text.size() && (text[*at] == ' ' || text[*at] == separator)) ++*at;
    Skeleton node;
    while (*at < text.size() &&
           std::string_view("(),;").find(text[*at]) == std::string_view::npos) {
      node.op += text[(*at)++];
    }
    while (!node.op.empty() && node.op.back() == ' ') node.op.pop_back();
    if (*at < text.size() && text[*at] == '(') {
      ++*at;
      node.children = ParseList(text, at, ',');
      if (*at < text.size()) ++*at;  // ')'
    }
    if (!node.op.empty()) nodes.push_back(std::move(node));
    if (*at >= text.size() || text[*at] != separator) break;
  }
  return nodes;
}

}  // namespace

Skeleton SkeletonFromText(const std::string& text) {
  size_t at = 0;
  return {"", ParseList(text, &at, ';')};
}

bool Contains(const Program& program, const Skeleton& pattern) {
  std::vector<bool> used;
  const std::vector<Skeleton> nodes = NodesOf(program, &used);
  return !pattern.children.empty() &&
         std::all_of(pattern.children.begin(), pattern.children.end(), [&](const Skeleton& root) {
           return std::any_of(nodes.begin(), nodes.end(),
                              [&](const Skeleton& node) { return Matches(node, root); });
         });
}

std::string CoreSignature(const Target& target, const Program& reduced) {
  const std::string head =
      std::string(Name(target.bug)) + " | " + target.rung + " | " + target.device + " | ";
  // A text names the place in the compiler; which operators led there varies.
  if (IsError(target.bug) && !target.error.empty()) return head + target.error;
  // What shows under another config alone is another bug than what shows by default.
  std::string config;
  for (const auto& [name, value] : reduced.call.config) config += " | " + name;
  const std::string transform = program::TransformName(reduced);
  return head + ToText(SkeletonOf(reduced)) + (transform.empty() ? "" : " | " + transform) + config;
}

std::string Signature(const Target& target, const Program& reduced, const std::string& cause) {
  const std::string core = CoreSignature(target, reduced);
  if (IsError(target.bug) || cause.empty()) return core;
  return core + " | " + cause;
}

std::string PreSignature(const Target& target) {
  if (!IsError(target.bug) || target.error.empty()) return "";
  return CoreSignature(target, Program());
}

std::string FindingId(const std::string& signature) { return Hex64(Fnv1a(signature)).substr(0, 8); }

}  // namespace gradfuzz::isolate
