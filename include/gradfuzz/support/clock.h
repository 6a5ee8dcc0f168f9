// SPDX-License-Identifier: BSD-3-Clause
// Time: a monotonic clock for durations and deadlines, UTC text for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradfuzz {

// Seconds on a clock that never jumps; only differences mean something.
double MonotonicSeconds();

// Seconds since 1970-01-01 UTC.
double UnixSeconds();

// "2026-01-31T12:00:00Z", now.
std::string UtcTimestamp();

// "90", "90s", "45m", "2h", "1h30m" in seconds; nothing when the text is no duration > 0.
std::optional<double> ParseDuration(std::string_view text);

class Deadline {
 public:
  static Deadline After(double seconds) { return Deadline(MonotonicSeconds() + seconds); }
  static Deadline Never();

  bool Passed() const { return SecondsLeft() <= 0; }
  double SecondsLeft() const;  // 0 when passed, infinity for Never()
  // For poll(2): what is left, in milliseconds rounded up, but at most `cap`.
  int PollMillis(int cap) const;
  // The earlier of the two.
  Deadline OrAfter(double seconds) const;

 private:
  explicit Deadline(double at) : at_(at) {}
  double at_;
};

}  // namespace gradfuzz
