#include "net/byte_pipe.h"

#include <gtest/gtest.h>

#include <thread>

namespace berth::net {
namespace {

TEST(BytePipe, ReadTakesEverythingThatWaits) {
  BytePipe pipe(100);
  EXPECT_TRUE(pipe.write("ab"));
  EXPECT_TRUE(pipe.append("cd"));
  const auto got = pipe.read();
  EXPECT_EQ(got.bytes, "abcd");
  EXPECT_FALSE(got.ended);
  EXPECT_EQ(pipe.read().bytes, "");
}

TEST(BytePipe, ChunkThatDoesNotFitIsNotTaken) {
  BytePipe pipe(4);
  EXPECT_TRUE(pipe.write("abc"));
  EXPECT_FALSE(pipe.write("de"));
  EXPECT_TRUE(pipe.write("d"));
  EXPECT_TRUE(pipe.full());
  EXPECT_EQ(pipe.read().bytes, "abcd");
  EXPECT_FALSE(pipe.full());
}

TEST(BytePipe, EmptyPipeTakesAChunkOfAnySize) {
  BytePipe pipe(4);
  EXPECT_TRUE(pipe.write("much more than four"));
  EXPECT_FALSE(pipe.append("x"));
  EXPECT_EQ(pipe.read().bytes, "much more than four");
}

TEST(BytePipe, EndComesWithTheLastBytesAndStays) {
  BytePipe pipe(100);
  EXPECT_TRUE(pipe.write("last"));
  pipe.close(error_of(Code::unavailable, "broken"));
  pipe.close();  // the first word counts
  EXPECT_FALSE(pipe.write("late"));
  auto got = pipe.read();
  EXPECT_EQ(got.bytes, "last");
  EXPECT_TRUE(got.ended);
  got = pipe.read();
  EXPECT_TRUE(got.ended);
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->message, "broken");
}

TEST(BytePipe, WritesFailOnceTheReaderHasGone) {
  BytePipe pipe(100);
  EXPECT_TRUE(pipe.write("unread"));
  pipe.abandon();
  EXPECT_TRUE(pipe.abandoned());
  EXPECT_FALSE(pipe.write("x"));
}

TEST(BytePipe, EachSideIsCalledForWhatTheOtherDid) {
  BytePipe pipe(100);
  int readable = 0;
  int space = 0;
  pipe.on_readable([&] { ++readable; });
  pipe.on_space([&] { ++space; });
  EXPECT_TRUE(pipe.write("a"));
  EXPECT_EQ(readable, 1);
  (void)pipe.read();
  EXPECT_EQ(space, 1);
  (void)pipe.read();  // took nothing
  EXPECT_EQ(space, 1);
  pipe.abandon();
  EXPECT_EQ(space, 2);
  pipe.close();
  EXPECT_EQ(readable, 2);
}

TEST(BytePipe, CallbackMayUseThePipe) {
  BytePipe pipe(4);
  std::string all;
  pipe.on_readable([&] { all += pipe.read().bytes; });
  EXPECT_TRUE(pipe.write("abcd"));
  EXPECT_TRUE(pipe.write("efgh"));
  EXPECT_EQ(all, "abcdefgh");
}

TEST(BytePipe, NothingIsLostBetweenTwoThreads) {
  constexpr int kCount = 20'000;
  BytePipe pipe(64);
  std::jthread writer([&] {
    for (int i = 0; i < kCount; ++i) {
      const std::string line = std::to_string(i) + "\n";
      while (!pipe.append(line)) std::this_thread::yield();
    }
    pipe.close();
  });
  std::string all;
  for (;;) {
    auto got = pipe.read();
    all += got.bytes;
    if (got.ended) break;
    if (got.bytes.empty()) std::this_thread::yield();
  }
  std::string expected;
  for (int i = 0; i < kCount; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace berth::net
