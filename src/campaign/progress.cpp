// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/progress.h"

#include <fmt/format.h>

#include "gradfuzz/report/text.h"
#include "gradfuzz/support/clock.h"

namespace gradfuzz::campaign {
namespace {

constexpr double kLiveSeconds = 0.2;
constexpr double kPlainSeconds = 30;

}  // namespace

std::string ProgressLine(const ProgressState& state) {
  std::string line =
      report::Duration(state.seconds) + "  " + report::Count(state.programs, "program");
  if (state.fraction) line += fmt::format(" ({:.0f} %)", 100 * *state.fraction);
  if (state.per_second > 0) line += fmt::format("  {:.2g}/s", state.per_second);
  line += "  " + report::Count(state.mismatches, "mismatch", "mismatches");
  line += "  " + report::Count(state.findings, "finding");
  if (state.known > 0) line += fmt::format(" ({} known)", state.known);
  if (state.waiting > 0) line += fmt::format("  {} to judge", state.waiting);
  return line;
}

void Progress::Show(const ProgressState& state) {
  if (style_ == Style::kSilent) return;
  const double now = MonotonicSeconds();
  if (next_ == 0 && style_ == Style::kPlain) next_ = now + kPlainSeconds;
  if (now < next_) return;
  if (style_ == Style::kLive) {
    next_ = now + kLiveSeconds;
    // Erase to the end of the line: the last one may have been longer.
    const auto width = static_cast<size_t>(width_ > 1 ? width_ - 1 : 1);
    fmt::print(out_, "\r{}\x1b[K", report::Shorten(ProgressLine(state), width));
    shown_ = true;
  } else {
    next_ = now + kPlainSeconds;
    fmt::print(out_, "{}\n", ProgressLine(state));
  }
  std::fflush(out_);
}

void Progress::Note(const std::string& line) {
  if (style_ == Style::kSilent) return;
  Clear();
  fmt::print(out_, "{}\n", report::OneLine(line));
  std::fflush(out_);
}

void Progress::Clear() {
  if (!shown_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  shown_ = false;
}

}  // namespace gradfuzz::campaign
