// SPDX-License-Identifier: BSD-3-Clause
// What a run says while it runs: one line that is rewritten on a terminal, a plain line now and
// then elsewhere. Everything goes to one stream, stderr by default; stdout is for results.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace gradfuzz::campaign {

struct ProgressState {
  double seconds = 0;  // since the start of the campaign
  int64_t programs = 0;
  std::optional<double> fraction;  // of all that is to be done, 0 to 1
  int64_t mismatches = 0;
  int64_t findings = 0, known = 0;  // known ones are counted in both
  int64_t waiting = 0;              // mismatches that are judged or wait for it
  double per_second = 0;            // programs, lately
};

// "12 min 03 s  1,234 programs (61 %)  4.2/s  9 mismatches  2 findings  1 being judged"
std::string ProgressLine(const ProgressState& state);

class Progress {
 public:
  enum class Style : uint8_t { kLive, kPlain, kSilent };

  Progress(std::FILE* out, Style style, int width = 100)
      : out_(out), style_(style), width_(width) {}
  ~Progress() { Clear(); }

  // Call as often as you like.
  void Show(const ProgressState& state);
  // A line that stays, such as a new finding. Shown in every style but kSilent.
  void Note(const std::string& line);
  // Takes the live line away.
  void Clear();

 private:
  std::FILE* out_;
  Style style_;
  int width_;
  bool shown_ = false;  // a live line is on the screen
  double next_ = 0;     // when to speak again
};

}  // namespace gradfuzz::campaign
