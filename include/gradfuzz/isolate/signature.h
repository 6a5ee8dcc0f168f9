// SPDX-License-Identifier: BSD-3-Clause
// The identity of a bug. Two findings with one signature are one finding.
//
//  1. Pure functions: the same on every run, seed and machine of one torch version.
//  2. Made of what the bug is (class, first wrong rung, device), of which classes of operators meet
//     in which order in the reduced program, and of the setting that removes it. Not of shapes,
//     dtypes, values, which leaf is wrong or how many elements are: one root cause shows with many.
//  3. An error is known by its normalised text (error_text.h), before anything is reduced.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gradfuzz/message/finding.h"
#include "gradfuzz/message/outcome.h"
#include "gradfuzz/program/program.h"

namespace gradfuzz::isolate {

// What kind of wrong, coarser than a verdict where one cause shows as several.
enum class BugClass : uint8_t {
  kNone,
  kForward,    // an output or an input after the call holds wrong values, NaN or not
  kGradient,   // outputs right, gradients wrong: values or NaN
  kMissing,    // a gradient is None, or is not
  kMetadata,   // shape, dtype, strides, requires_grad, aliasing
  kSelfCheck,  // a law of differentiation is broken
  kNondeterministic,
  kCompileError,
  kRuntimeError,
  kCrash,
  kTimeout,
};
const char* Name(BugClass bug);  // "forward", "gradient", "compile error", ...
bool IsError(BugClass bug);      // from kCompileError on

// What must stay the same while a program is reduced.
struct Target {
  BugClass bug = BugClass::kNone;
  std::string rung;    // the first wrong one
  std::string device;  //
  std::string error;   // ErrorKey, for errors; for a missing gradient, what is there instead

  bool operator==(const Target&) const = default;
};
// The target that an outcome shows; bug == kNone when it shows no bug.
Target TargetOf(const Outcome& outcome);

// Everything that the first wrong rung has wrong, in kinds finer than the target's: "forward",
// "input" (after the call), "gradient", ... A candidate that has more of them shows another bug.
std::set<std::string> WrongKinds(const Outcome& outcome);

// The first wrong rung of an outcome, or nullptr.
const RungOutcome* FirstWrongRung(const Outcome& outcome);
// Indices of the outputs and leaves that the first wrong rung has wrong.
std::vector<size_t> WrongOutputs(const Outcome& outcome);
std::vector<size_t> WrongLeaves(const Outcome& outcome);

// The data flow of a program in classes of operators, from each value that nobody uses inwards:
// "aggregation(write)". Neighbours of one class that any number of can stand for one (pointwise,
// views) are merged. Leaves are left out.
struct Skeleton {
  std::string op;  // class; empty at the top, whose children are the roots
  std::vector<Skeleton> children;

  bool operator==(const Skeleton&) const = default;
};
Skeleton SkeletonOf(const program::Program& program);
std::string ToText(const Skeleton& skeleton);
// True when every root of `pattern` is found somewhere in the program, with more around it or not.
bool Contains(const program::Program& program, const Skeleton& pattern);
// The skeleton that a text of ToText stands for; empty when it is none.
Skeleton SkeletonFromText(const std::string& text);

// The signature without the ablation's part: known as soon as a program is reduced.
std::string CoreSignature(const Target& target, const program::Program& reduced);
// The whole. `cause` is Knob::cause of the setting that removes the bug, "" when none does.
std::string Signature(const Target& target, const program::Program& reduced,
                      const std::string& cause);
// For errors: known from the unreduced outcome alone. Empty for the other classes.
std::string PreSignature(const Target& target);

// Eight characters of a hash of the signature.
std::string FindingId(const std::string& signature);

}  // namespace gradfuzz::isolate
