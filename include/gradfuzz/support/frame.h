// SPDX-License-Identifier: BSD-3-Clause
// Frames: JSON values over a file descriptor, how the parent and its workers talk.
//
//  1. A frame is 4 bytes of length (little endian), then that many bytes of UTF-8 JSON.
//  2. Text that is not UTF-8 (a compiler's message, say) is sent with U+FFFD in place of bad bytes.
//  3. A stream that broke a rule stays broken: every later read says the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "gradfuzz/support/clock.h"
#include "gradfuzz/support/result.h"

namespace gradfuzz {

// Far above any answer (a mismatch carries at most a few megabytes of sampled values), far below
// what would hurt.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;

enum class FrameStatus : uint8_t {
  kFrame,      // `frame` holds it
  kClosed,     // the other side closed between two frames
  kDeadline,   // nothing complete yet; what arrived is kept, read again
  kTruncated,  // the other side closed inside a frame
  kTooLarge,   // the length is beyond the limit
  kMalformed,  // not JSON
  kIoError,
};

struct FrameRead {
  FrameStatus status = FrameStatus::kFrame;
  nlohmann::json frame;
  std::string error;  // one sentence, for everything but kFrame
};

class FrameReader {
 public:
  // NEVER closes `fd`.
  explicit FrameReader(int fd, size_t limit = kMaxFrameBytes) : fd_(fd), limit_(limit) {}

  FrameRead Read(const Deadline& deadline);

 private:
  FrameRead Parse();
  FrameRead Break(FrameStatus status, std::string error);

  int fd_;
  size_t limit_;
  std::string buffer_;
  bool broken_ = false;
  FrameStatus broken_status_ = FrameStatus::kIoError;
  std::string broken_error_;
};

// Writes one frame. RETURNS: an InternalError when the other side is gone, does not read before
// the deadline, or when the value is beyond the limit. NEVER raises SIGPIPE on a socket.
Status WriteFrame(int fd, const nlohmann::json& value, const Deadline& deadline = Deadline::Never(),
                  size_t limit = kMaxFrameBytes);

}  // namespace gradfuzz
