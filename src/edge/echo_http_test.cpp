#include "edge/echo_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/echo_server.h"
#include "edge/echo_station.h"
#include "edge/test_support.h"

namespace berth::edge {
namespace {

using namespace testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET /lobby HTTP/1.1\r\nHost: a.example\r\n\r\n";

std::string said(std::string heard) {
  const auto answer = take_request(heard, "this is a\n");
  return answer ? answer->text : "nothing";
}

TEST(EchoHttp, ARequestIsAnsweredWithTheGreetingAndItself) {
  std::string heard(kGet);
  const auto answer = take_request(heard, "this is a\n");
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer->text, HasSubstr("Content-Length: 46\r\n"));
  EXPECT_THAT(answer->text, EndsWith("\r\n\r\nthis is a\nGET /lobby HTTP/1.1\nHost: a.example\n"));
  EXPECT_FALSE(answer->last);
  EXPECT_EQ(heard, "");
}

TEST(EchoHttp, TheNextRequestIsLeftAndAHalfOneIsWaitedFor) {
  std::string heard = std::string(kGet) + "GET /next HT";
  ASSERT_TRUE(take_request(heard, ""));
  EXPECT_EQ(heard, "GET /next HT");
  EXPECT_FALSE(take_request(heard, ""));
  EXPECT_EQ(heard, "GET /next HT");
}

TEST(EchoHttp, ABodyBelongsToItsRequest) {
  std::string heard = "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nah";
  EXPECT_FALSE(take_request(heard, ""));
  heard += "oy+";
  EXPECT_THAT(take_request(heard, "")->text, EndsWith("\nahoy"));
  EXPECT_EQ(heard, "+");
}

TEST(EchoHttp, AHeadIsAskedForWithoutABody) {
  const std::string text = said("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("Content-Length: 26\r\n"));
  EXPECT_THAT(text, EndsWith("\r\n\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("this is")));
}

TEST(EchoHttp, TheConnectionEndsWhenAClientWantsItOrCannotBeUnderstood) {
  const auto last = [](std::string heard) { return take_request(heard, "")->last; };
  EXPECT_TRUE(last("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(last("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
  EXPECT_TRUE(last("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(last("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_TRUE(last(std::string(kMaxEchoRequest + 1, 'x')));
}

TEST(EchoHttp, APlaceThatSpeaksItAnswersManyOnOneConnection) {
  const auto station = EchoStation::start().value();
  const model::Target at{Edge::room_ip(), Edge::fresh_port()};
  const auto place = station->open({.at = at, .greeting = "this is a\n", .http = true}).value();
  const auto heard = ask_over_tcp(at, std::string(kGet) + std::string(kGet), kTimeoutMs);
  ASSERT_TRUE(heard) << heard.error().to_string();
  EXPECT_THAT(*heard, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_NE(heard->find("this is a\n"), heard->rfind("this is a\n")) << *heard;
}

}  // namespace
}  // namespace berth::edge
