// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/support/frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "gradfuzz/support/fd.h"
#include "gradfuzz/support/rng.h"

namespace gradfuzz {
namespace {

using nlohmann::json;

struct Pair {
  Fd a, b;
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    a = Fd(ends[0]);
    b = Fd(ends[1]);
  }
  void Raw(const std::string& bytes) const {
    ASSERT_EQ(write(a.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
};

std::string Header(uint32_t length) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>((length >> (8 * i)) & 0xff);
  return out;
}

TEST(Frame, RoundTripsInOrder) {
  Pair pair;
  const json first = {{"type", "ready"}, {"n", 3}}, second = json::array({1, nullptr, "x"});
  ASSERT_TRUE(WriteFrame(pair.a.get(), first).ok());
  ASSERT_TRUE(WriteFrame(pair.a.get(), second).ok());
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(5)).frame, first);
  EXPECT_EQ(reader.Read(Deadline::After(5)).frame, second);
}

TEST(Frame, LargerThanTheSocketBuffer) {
  Pair pair;
  const json value = std::string(3'000'000, 'x');
  std::thread writer([&] { EXPECT_TRUE(WriteFrame(pair.a.get(), value).ok()); });
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(20)).frame, value);
  writer.join();
}

TEST(Frame, LengthIsLittleEndian) {
  Pair pair;
  ASSERT_TRUE(WriteFrame(pair.a.get(), std::string(300, 'y')).ok());
  unsigned char head[4];
  ASSERT_EQ(read(pair.b.get(), head, 4), 4);
  EXPECT_EQ(head[0] + 256 * head[1], 302);
  EXPECT_EQ(head[2] + head[3], 0);
}

TEST(Frame, DeadlineKeepsWhatArrived) {
  Pair pair;
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(0.01)).status, FrameStatus::kDeadline);
  pair.Raw(Header(4).substr(0, 3));
  EXPECT_EQ(reader.Read(Deadline::After(0.01)).status, FrameStatus::kDeadline);
  pair.Raw(Header(4).substr(3) + "tr");
  EXPECT_EQ(reader.Read(Deadline::After(0.01)).status, FrameStatus::kDeadline);
  pair.Raw("ue");
  const FrameRead read = reader.Read(Deadline::After(5));
  EXPECT_EQ(read.status, FrameStatus::kFrame);
  EXPECT_EQ(read.frame, true);
}

TEST(Frame, ClosedBetweenFramesIsNotTruncated) {
  Pair pair;
  ASSERT_TRUE(WriteFrame(pair.a.get(), 1).ok());
  pair.a.Reset();
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(5)).status, FrameStatus::kFrame);
  EXPECT_EQ(reader.Read(Deadline::After(5)).status, FrameStatus::kClosed);
}

TEST(Frame, ClosedInsideAFrame) {
  Pair pair;
  pair.Raw(Header(100) + "{\"type\"");
  pair.a.Reset();
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(5)).status, FrameStatus::kTruncated);
}

TEST(Frame, TooLargeIsRefusedWithoutWaitingForIt) {
  Pair pair;
  pair.Raw(Header(0xffffffff));
  FrameReader reader(pair.b.get());
  const FrameRead read = reader.Read(Deadline::After(5));
  EXPECT_EQ(read.status, FrameStatus::kTooLarge);
  EXPECT_NE(read.error.find("4294967295"), std::string::npos);
  // Broken for good.
  EXPECT_EQ(reader.Read(Deadline::After(5)).status, FrameStatus::kTooLarge);
  EXPECT_FALSE(WriteFrame(pair.a.get(), std::string(50, 'x'), Deadline::Never(), 40).ok());
}

TEST(Frame, GarbageIsMalformed) {
  Pair pair;
  pair.Raw(Header(5) + "hello");
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(5)).status, FrameStatus::kMalformed);
}

TEST(Frame, WritingToOneWhoDoesNotReadEndsAtTheDeadline) {
  Pair pair;
  EXPECT_FALSE(WriteFrame(pair.a.get(), std::string(5'000'000, 'x'), Deadline::After(0.05)).ok());
}

TEST(Frame, WritingToOneWhoIsGoneIsAnErrorAndNoSignal) {
  Pair pair;
  pair.b.Reset();
  const Status status = WriteFrame(pair.a.get(), 1);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("cannot write a frame"), std::string::npos);
}

TEST(Frame, BytesThatAreNotUtf8AreReplaced) {
  Pair pair;
  ASSERT_TRUE(WriteFrame(pair.a.get(),
                         "a\xff"
                         "b")
                  .ok());
  FrameReader reader(pair.b.get());
  EXPECT_EQ(reader.Read(Deadline::After(5)).frame,
            "a\xEF\xBF\xBD"
            "b");
}

// Any bytes, cut anywhere: the reader always ends with a status and never with anything else.
TEST(Frame, RandomBytesNeverHurt) {
  Rng rng(1);
  int frames = 0;
  for (int round = 0; round < 300; ++round) {
    Pair pair;
    std::string bytes;
    const int pieces = static_cast<int>(rng.Between(1, 6));
    for (int piece = 0; piece < pieces; ++piece) {
      std::string body;
      if (rng.Chance(0.5)) {
        body = json{{"i", rng.Between(-5, 5)}}.dump();
      } else {
        for (int64_t i = rng.Between(0, 40); i > 0; --i) {
          body += static_cast<char>(rng.Below(256));
        }
      }
      const bool lie = rng.Chance(0.3);
      bytes +=
          Header(lie ? static_cast<uint32_t>(rng.Below(200)) : static_cast<uint32_t>(body.size()));
      bytes += body;
    }
    bytes.resize(static_cast<size_t>(rng.Below(bytes.size() + 1)));
    pair.Raw(bytes);
    pair.a.Reset();
    FrameReader reader(pair.b.get(), 150);
    FrameStatus last = FrameStatus::kFrame;
    for (int reads = 0; reads < 1000 && last == FrameStatus::kFrame; ++reads) {
      last = reader.Read(Deadline::After(5)).status;
      frames += last == FrameStatus::kFrame;
    }
    EXPECT_TRUE(last == FrameStatus::kClosed || last == FrameStatus::kTruncated ||
                last == FrameStatus::kTooLarge || last == FrameStatus::kMalformed)
        << static_cast<int>(last);
  }
  EXPECT_GT(frames, 50);
}

}  // namespace
}  // namespace gradfuzz
