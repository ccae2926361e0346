#include "net/reply_head.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

using namespace std::chrono_literals;

// 784111777 seconds after the epoch: the date that RFC 9110 uses as its example.
constexpr WallTime kNow{784'111'777s};

TEST(ReplyHead, SaysWhatTheBodyIsAndWhen) {
  const Reply reply{.headers = {{"Content-Type", "text/plain"}}, .body = "hello"};
  EXPECT_EQ(reply_head(reply, framing_of(reply), true, kNow),
            "HTTP/1.1 200 OK\r\n"
            "Content-Type: text/plain\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Length: 5\r\n"
            "\r\n");
}

TEST(ReplyHead, LastOneOfAConnectionSaysSo) {
  const Reply reply{.status = 299, .headers = {{"Date", "today"}}};
  EXPECT_EQ(
      reply_head(reply, framing_of(reply), false, kNow),
      "HTTP/1.1 299 Unknown\r\nDate: today\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(ReplyHead, HandlersCannotContradictTheFraming) {
  const Reply reply{
      .headers = {{"content-length", "7"}, {"Transfer-Encoding", "x"}, {"connection", "x"}},
      .stream = std::make_shared<BytePipe>(1)};
  const auto head = reply_head(reply, framing_of(reply), true, kNow);
  EXPECT_EQ(head.find("ontent-length"), std::string::npos) << head;
  EXPECT_EQ(head.find("onnection"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos) << head;
}

TEST(ReplyHead, StatusWithoutBodyHasNoLength) {
  const Reply reply{.status = 304, .body = "ignored"};
  EXPECT_EQ(framing_of(reply), Framing::none);
  EXPECT_EQ(reply_head(reply, Framing::none, true, kNow).find("Length"), std::string::npos);
}

TEST(Chunk, CarriesItsLengthInHex) {
  EXPECT_EQ(chunk_of("a"), "1\r\na\r\n");
  EXPECT_EQ(chunk_of(std::string(26, 'b')), "1a\r\n" + std::string(26, 'b') + "\r\n");
}

}  // namespace
}  // namespace berth::net
