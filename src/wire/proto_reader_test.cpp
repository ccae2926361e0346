#include "wire/proto_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace berth::wire {
namespace {

using namespace std::string_view_literals;

bool is_readable(std::string_view bytes) {
  ProtoReader in(bytes);
  while (in.next()) {
  }
  return in.ok();
}

TEST(ProtoReader, ReadsEveryWireType) {
  ProtoReader in(
      "\x08\x96\x01"                          // 1: varint 150
      "\x11\x01\x00\x00\x00\x00\x00\x00\x80"  // 2: fixed64
      "\x1a\x03"
      "abc"                           // 3: bytes
      "\x25\x04\x03\x02\x01"          // 4: fixed32
      "\xf8\xff\xff\xff\x0f\x01"sv);  // 536870911: varint 1
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->number, 1u);
  EXPECT_EQ(in->scalar, 150u);
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->scalar, 0x8000000000000001u);
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->type, 2u);
  EXPECT_EQ(in->bytes, "abc");
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->scalar, 0x01020304u);
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->number, (1u << 29) - 1);
  EXPECT_FALSE(in.next());
  EXPECT_TRUE(in.ok());
}

TEST(ProtoReader, ReadsTheLargestVarint) {
  ProtoReader in("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in->scalar, std::numeric_limits<std::uint64_t>::max());
}

TEST(ProtoReader, NothingIsAMessage) { EXPECT_TRUE(is_readable("")); }

TEST(ProtoReader, TellsMalformedFromTheEnd) {
  for (const std::string_view bad : {
           "\x08"sv,                                              // no value
           "\x08\x80"sv,                                          // varint without end
           "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,      // beyond 64 bits
           "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv,  // eleven bytes
           "\x1a\x04"
           "abc"sv,                                           // bytes cut short
           "\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv,  // length beyond the input
           "\x11\x01\x02\x03"sv,                              // fixed64 cut short
           "\x25\x01"sv,                                      // fixed32 cut short
           "\x00\x01"sv,                                      // field number 0
           "\x0b"sv, "\x0c"sv, "\x0e"sv, "\x0f"sv,            // groups and unknown types
           "\xf8\xff\xff\xff\x1f\x01"sv,                      // field number beyond 29 bits
       }) {
    EXPECT_FALSE(is_readable(bad)) << testing::PrintToString(std::string(bad));
  }
}

TEST(ProtoReader, StaysAtItsError) {
  ProtoReader in("\x08\x01\x0b\x08\x01"sv);
  EXPECT_TRUE(in.next());
  EXPECT_FALSE(in.next());
  EXPECT_FALSE(in.next());
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace berth::wire
