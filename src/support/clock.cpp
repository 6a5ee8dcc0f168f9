// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace gradfuzz {
namespace {

double Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double MonotonicSeconds() { return Read(CLOCK_MONOTONIC); }
double UnixSeconds() { return Read(CLOCK_REALTIME); }

std::string UtcTimestamp() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<double> ParseDuration(std::string_view text) {
  // A sum of parts; the unit may be left out only when there is a single part.
  double total = 0;
  size_t at = 0;
  bool bare = false;
  while (at < text.size()) {
    double number = 0;
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      number = number * 10 + (text[at++] - '0');
    }
    if (at == start || bare) return std::nullopt;
    double unit = 1;
    if (at == text.size()) {
      if (start != 0) return std::nullopt;
      bare = true;
    } else {
      switch (text[at++]) {
        case 's':
          break;
        case 'm':
          unit = 60;
          break;
        case 'h':
          unit = 3600;
          break;
        case 'd':
          unit = 86400;
          break;
        default:
          return std::nullopt;
      }
    }
    total += number * unit;
  }
  constexpr double kLongest = 366.0 * 86400;
  if (!(total > 0) || total > kLongest) return std::nullopt;
  return total;
}

Deadline Deadline::Never() { return Deadline(std::numeric_limits<double>::infinity()); }

double Deadline::SecondsLeft() const {
  if (std::isinf(at_)) return at_;
  return std::max(at_ - MonotonicSeconds(), 0.0);
}

int Deadline::PollMillis(int cap) const {
  const double left = std::ceil(SecondsLeft() * 1000);
  return left >= cap ? cap : static_cast<int>(left);
}

Deadline Deadline::OrAfter(double seconds) const {
  return Deadline(std::min(at_, MonotonicSeconds() + seconds));
}

}  // namespace gradfuzz
