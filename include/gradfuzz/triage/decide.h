// SPDX-License-Identifier: BSD-3-Clause
// From evidence to an answer: is it a bug of the compiler, since which rung, and if not, why not.
// A pure function: the same evidence gives the same answer.
#pragma once

#include <optional>
#include <string>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/triage/evidence.h"

namespace gradfuzz::triage {

enum class Ruling : uint8_t { kBug, kNotABug, kUnclear };
const char* Name(Ruling ruling);  // "bug", "not a bug", "could not tell"

enum class Reason : uint8_t {
  // A bug.
  kWrongCall,   // a compiled call is wrong, by the oracle
  kOwnCheck,    // the script's own check() says so
  kScriptOnly,  // only the script as a whole shows it: modes around the call, earlier calls
  // Not a bug.
  kAgrees,             // bit for bit, or inside the tight band
  kRounding,           // outside PyTorch's default tolerances, but no more than rounding can do
  kNearerToReference,  // ... and the compiled result is the nearer one to float64
  kIllConditioned,
  kConvention,  // a tie or a kink resolved otherwise
  kTradeOff,    // a documented loss or gain of precision
  kNondeterministic,
  kUninitialised,
  kDuplicateIndices,
  kRefusal,  // the compiler says that it does not do this
  // Could not tell.
  kScriptError,
  kNothingCompiled,
  kLost,     // the script kills its process, or runs for ever
  kInvalid,  // eager rejects the call
};
const char* Name(Reason reason);  // "wrong_call", for machines

struct Decision {
  Ruling ruling = Ruling::kUnclear;
  Reason reason = Reason::kNothingCompiled;
  Verdict verdict = Verdict::kAgree;  // of a bug: what is wrong
  std::string first_wrong_rung;       // of a bug
  std::string device;
  // The first rung that departs from eager by more than PyTorch's default tolerances allow, by its
  // own check or by an error, be that a bug or not. Empty when none does.
  std::string first_different_rung;
  std::optional<size_t> call;  // the one that decided: index into Evidence::calls
  std::string sentence;        // why, for people
};

Decision Decide(const Evidence& evidence);

// Whether the script under this rung departs from its eager run by more than default tolerances.
bool Departs(const ScriptRung& rung);
// The same of a rung of a call's outcome.
bool Departs(const RungOutcome& rung);

}  // namespace gradfuzz::triage
