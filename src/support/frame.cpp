// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/frame.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gradfuzz {
namespace {

constexpr size_t kHeader = 4;

// True when `fd` is ready (or broken: the next call will say so), false at the deadline.
bool WaitFor(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, deadline.PollMillis(60'000));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
    if (deadline.Passed()) return false;
  }
}

size_t LengthOf(const std::string& buffer) {
  size_t length = 0;
  for (size_t i = 0; i < kHeader; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(buffer[i])) << (8 * i);
  }
  return length;
}

}  // namespace

FrameRead FrameReader::Break(FrameStatus status, std::string error) {
  broken_ = true;
  broken_status_ = status;
  broken_error_ = std::move(error);
  buffer_.clear();
  return {broken_status_, nullptr, broken_error_};
}

FrameRead FrameReader::Parse() {
  const size_t length = LengthOf(buffer_);
  nlohmann::json frame = nlohmann::json::parse(
      buffer_.begin() + kHeader, buffer_.begin() + static_cast<std::ptrdiff_t>(kHeader + length),
      nullptr, /*allow_exceptions=*/false);
  if (frame.is_discarded()) {
    return Break(FrameStatus::kMalformed,
                 "a frame of " + std::to_string(length) + " bytes is not JSON");
  }
  buffer_.erase(0, kHeader + length);
  return {FrameStatus::kFrame, std::move(frame), ""};
}

FrameRead FrameReader::Read(const Deadline& deadline) {
  if (broken_) return {broken_status_, nullptr, broken_error_};
  for (;;) {
    if (buffer_.size() >= kHeader) {
      const size_t length = LengthOf(buffer_);
      if (length > limit_) {
        return Break(FrameStatus::kTooLarge, "a frame claims " + std::to_string(length) +
                                                 " bytes, more than the limit of " +
                                                 std::to_string(limit_));
      }
      if (buffer_.size() >= kHeader + length) return Parse();
    }
    if (!WaitFor(fd_, POLLIN, deadline)) {
      return {FrameStatus::kDeadline, nullptr, "no complete frame before the deadline"};
    }
    char chunk[64 * 1024];
    const ssize_t got = read(fd_, chunk, sizeof chunk);
    if (got > 0) {
      buffer_.append(chunk, static_cast<size_t>(got));
    } else if (got == 0 || errno == ECONNRESET) {
      if (buffer_.empty()) {
        return Break(FrameStatus::kClosed, "the other side closed the channel");
      }
      return Break(FrameStatus::kTruncated, "the other side closed the channel inside a frame");
    } else if (errno != EINTR && errno != EAGAIN) {
      return Break(FrameStatus::kIoError,
                   std::string("cannot read a frame: ") + std::strerror(errno));
    }
  }
}

Status WriteFrame(int fd, const nlohmann::json& value, const Deadline& deadline, size_t limit) {
  const std::string body = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (body.size() > limit) {
    return InternalError("a frame of " + std::to_string(body.size()) +
                         " bytes is beyond the limit of " + std::to_string(limit));
  }
  std::string bytes(kHeader, '\0');
  for (size_t i = 0; i < kHeader; ++i) {
    bytes[i] = static_cast<char>((body.size() >> (8 * i)) & 0xff);
  }
  bytes += body;

  size_t done = 0;
  bool socket = true;
  while (done < bytes.size()) {
    if (!WaitFor(fd, POLLOUT, deadline)) {
      return InternalError("the other side did not read a frame before the deadline");
    }
    const ssize_t sent =
        socket ? send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT)
               : write(fd, bytes.data() + done, bytes.size() - done);
    if (sent >= 0) {
      done += static_cast<size_t>(sent);
    } else if (errno == ENOTSOCK && socket) {
      socket = false;  // a pipe or a file, as in tests
    } else if (errno != EINTR && errno != EAGAIN) {
      return InternalError(std::string("cannot write a frame: ") + std::strerror(errno));
    }
  }
  return {};
}

}  // namespace gradfuzz
