#include "net/websocket.h"

#include <gtest/gtest.h>

#include "net/test_support.h"

namespace berth::net {
namespace {

using testing::RawSocket;
using testing::start_server;

Request handshake() {
  return {.url = "/x",
          .headers = {{"Connection", "keep-alive, Upgrade"},
                      {"Upgrade", "websocket"},
                      {"Sec-WebSocket-Version", "13"},
                      {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                      {"Sec-WebSocket-Protocol", "old, new"}}};
}

TEST(WebSocket, TakesTheBestProtocolThatIsOffered) {
  EXPECT_EQ(offered_protocol(handshake(), {"new", "old"}), "new");
  EXPECT_EQ(offered_protocol(handshake(), {"newest", "old"}), "old");
  EXPECT_EQ(offered_protocol(handshake(), {"ne"}), std::nullopt);
}

TEST(WebSocket, IsNotTakenForOneWithoutAWholeHandshake) {
  for (const char* missing : {"Connection", "Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key",
                              "Sec-WebSocket-Protocol"}) {
    Request request = handshake();
    request.headers.set(missing, "");
    EXPECT_EQ(offered_protocol(request, {"new"}), std::nullopt) << missing;
  }
}

TEST(WebSocket, FramesCarryTheirLength) {
  const auto head_of = [](std::size_t size) {
    std::string out;
    append_message(out, std::string(size, 'x'));
    EXPECT_TRUE(out.ends_with(std::string(size, 'x')));
    return out.substr(0, out.size() - size);
  };
  using namespace std::string_literals;
  EXPECT_EQ(head_of(0), "\x82\x00"s);
  EXPECT_EQ(head_of(125), "\x82\x7d"s);
  EXPECT_EQ(head_of(126), "\x82\x7e\x00\x7e"s);
  EXPECT_EQ(head_of(0x10000), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
  std::string close;
  append_close(close);
  EXPECT_EQ(close, "\x88\x02\x03\xe8"s);
}

// The key and its answer are those of RFC 6455.
TEST(WebSocket, TheServerSwitchesAndEndsWithTheFrames) {
  const auto server = start_server([](const Request& request, const Peer&, std::stop_token) {
    std::string frames;
    append_message(frames, "hello");
    append_close(frames);
    return websocket_reply(request, "new", frames);
  });
  auto client = RawSocket::connect(server->port());
  client.send(
      "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      "Sec-WebSocket-Protocol: new\r\n\r\n");
  const std::string reply = client.read_all();
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << reply;
  EXPECT_NE(reply.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
            std::string::npos);
  EXPECT_NE(reply.find("Connection: Upgrade\r\n"), std::string::npos);
  EXPECT_EQ(reply.find("Content-Length"), std::string::npos);
  EXPECT_TRUE(reply.ends_with("\r\n\r\n\x82\x05hello\x88\x02\x03\xe8")) << reply;
}

}  // namespace
}  // namespace berth::net
