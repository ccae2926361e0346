// What clients can make a server hold, and who is served meanwhile.
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

#include "net/server.h"
#include "net/test_support.h"

namespace berth::net {
namespace {

using namespace std::chrono_literals;
using testing::RawSocket;
using testing::start_server;

constexpr std::size_t kKiB = 1u << 10;
constexpr std::size_t kMiB = 1u << 20;

Reply echo(const Request& request, const Peer&, std::stop_token) { return {.body = request.body}; }

std::string head_of(std::size_t length) {
  return fmt::format(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", length);
}

std::string post(std::size_t length) { return head_of(length) + std::string(length, 'x'); }

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

std::string ask(const Server& server, std::string_view bytes) {
  auto client = RawSocket::connect(server.port());
  client.send(bytes);
  return client.read_all();
}

std::string status_of(const std::string& reply) { return reply.substr(0, 12); }

// Waits for what the server says of itself.
template <class Condition>
[[nodiscard]] bool eventually(const Server& server, Condition condition) {
  const auto until = std::chrono::steady_clock::now() + testing::kPatience;
  while (!condition(server.statistics())) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// A handler that holds its requests until it is opened.
class Gate {
 public:
  Handler handler() {
    return [this](const Request& request, const Peer&, std::stop_token) {
      if (request.url == "/") opened_.wait();
      return Reply{.body = std::to_string(request.body.size())};
    };
  }
  void open() {
    if (!std::exchange(is_open_, true)) open_.set_value();
  }

 private:
  bool is_open_ = false;
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

TEST(ServerBudget, UnfinishedRequestsStayBelowTheBoundAndOthersAreAnswered) {
  constexpr std::size_t kCrowd = 64;
  constexpr std::size_t kBody = 4 * kMiB;
  const ServerOptions options{
      .max_connections = kCrowd, .max_body_bytes = kBody, .max_bytes_in_flight = 16 * kMiB};
  const auto webhooks = start_server(echo, options);
  const auto ops = start_server(echo);
  std::vector<RawSocket> crowd;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    crowd.push_back(RawSocket::connect(webhooks->port()));
    crowd.back().send(head_of(kBody));
  }
  ASSERT_TRUE(eventually(*webhooks, [&](const auto& now) { return now.open == kCrowd; }));

  const std::string piece(64 * kKiB, 'x');
  for (std::size_t sent = 0; sent + piece.size() < kBody; sent += piece.size()) {
    for (auto& client : crowd) client.try_send(piece);
    ASSERT_LE(webhooks->statistics().bytes_in_flight, options.max_bytes_in_flight);
    if (sent % kMiB != 0) continue;
    EXPECT_EQ(status_of(ask(*webhooks, post(20 * kKiB))), "HTTP/1.1 200") << sent;
    EXPECT_EQ(status_of(ask(*ops, post(0))), "HTTP/1.1 200") << sent;
  }
  EXPECT_EQ(status_of(ask(*webhooks, post(3 * kMiB))), "HTTP/1.1 200") << "a large one too";
  const auto end = webhooks->statistics();
  EXPECT_LE(end.most_bytes_in_flight, options.max_bytes_in_flight);
  EXPECT_GT(end.most_bytes_in_flight, options.max_bytes_in_flight / 4) << "the crowd did send";
  EXPECT_LE(end.most_open, kCrowd);
  EXPECT_GT(end.shed, 0u);
  EXPECT_GT(end.evicted, 0u);
  EXPECT_EQ(end.refused, 0u);
  crowd.clear();
  EXPECT_TRUE(eventually(*webhooks, [](const auto& now) { return now.bytes_in_flight == 0; }));
}

TEST(ServerBudget, NothingIsTakenForABodyThatIsOnlyDeclared) {
  const auto server = start_server(echo);
  auto client = RawSocket::connect(server->port());
  client.send(head_of(6 * kMiB) + "x");
  ASSERT_TRUE(eventually(*server, [](const auto& now) { return now.bytes_in_flight > 0; }));
  EXPECT_LT(server->statistics().most_bytes_in_flight, 64 * kKiB);
}

TEST(ServerBudget, TheOldestIdleConnectionMakesRoom) {
  const auto server = start_server(echo, {.max_connections = 2});
  auto first = RawSocket::connect(server->port());
  auto second = RawSocket::connect(server->port());
  for (auto* client : {&second, &first, &second}) {  // the first was the first to fall silent
    client->send(kGet);
    EXPECT_EQ(status_of(client->read_until("\r\n\r\n")), "HTTP/1.1 200");
  }
  EXPECT_EQ(status_of(ask(*server, post(5))), "HTTP/1.1 200");
  EXPECT_EQ(first.read_all(), "");
  second.send(kGet);
  EXPECT_EQ(status_of(second.read_until("\r\n\r\n")), "HTTP/1.1 200");
  EXPECT_EQ(server->statistics().evicted, 1u);
  EXPECT_EQ(server->statistics().refused, 0u);
}

TEST(ServerBudget, ConnectionsThatNeverSayAnythingKeepNobodyOut) {
  const auto server = start_server(echo, {.max_connections = 4});
  std::vector<RawSocket> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(RawSocket::connect(server->port()));
  silent.back().send("POST / HTTP/1.1\r\nHos");
  ASSERT_TRUE(eventually(*server, [](const auto& now) { return now.open == 4; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(ask(*server, post(5))), "HTTP/1.1 200");
}

TEST(ServerBudget, AConnectionWhoseRequestIsInHandIsNotClosedForAnother) {
  Gate gate;
  const auto server = start_server(gate.handler(), {.max_connections = 1});
  auto first = RawSocket::connect(server->port());
  first.send(post(5));
  EXPECT_TRUE(eventually(*server, [](const auto& now) { return now.requests == 1; }));
  EXPECT_EQ(ask(*server, ""), "");
  EXPECT_EQ(server->statistics().refused, 1u);
  gate.open();
  EXPECT_EQ(status_of(first.read_all()), "HTTP/1.1 200");
}

TEST(ServerBudget, TheOldestUnfinishedRequestGivesWayAndIsToldToComeAgain) {
  const auto server = start_server(echo, {.max_connections = 4, .max_bytes_in_flight = 2 * kMiB});
  auto slow = RawSocket::connect(server->port());
  slow.send(head_of(800 * kKiB) + std::string(700 * kKiB, 'x'));
  ASSERT_TRUE(
      eventually(*server, [](const auto& now) { return now.bytes_in_flight >= 700 * kKiB; }));
  EXPECT_EQ(status_of(ask(*server, post(900 * kKiB))), "HTTP/1.1 200");
  const auto reply = slow.read_all();
  EXPECT_EQ(status_of(reply), "HTTP/1.1 503") << reply;
  EXPECT_NE(reply.find("Retry-After: 1\r\n"), std::string::npos) << reply;
  EXPECT_EQ(server->statistics().shed, 1u);
}

// Requests that are being answered hold the half of the bytes that is for all.
struct FullServer {
  explicit FullServer(ServerOptions options = {}) {
    options.max_connections = 8;
    options.max_bytes_in_flight = 2 * kMiB;
    server = start_server(gate.handler(), options);
    large.emplace(RawSocket::connect(server->port()));
    large->send(post(900 * kKiB));
    EXPECT_TRUE(eventually(*server, [](const auto& now) { return now.requests == 1; }));
  }
  ~FullServer() { gate.open(); }

  Gate gate;
  std::unique_ptr<Server> server;
  std::optional<RawSocket> large;
};

TEST(ServerBudget, ARequestWaitsForBytesThatOthersGiveBack) {
  FullServer full;
  auto waiting = RawSocket::connect(full.server->port());
  waiting.send(head_of(500 * kKiB));
  waiting.try_send(std::string(500 * kKiB, 'x'));
  ASSERT_TRUE(eventually(*full.server, [](const auto& now) { return now.waiting == 1; }));
  EXPECT_EQ(full.server->statistics().shed, 0u);
  full.gate.open();
  EXPECT_TRUE(full.large->read_all().ends_with("\r\n\r\n921600"));
  EXPECT_TRUE(waiting.read_all().ends_with("\r\n\r\n512000"));
  EXPECT_LE(full.server->statistics().most_bytes_in_flight, 2 * kMiB);
}

TEST(ServerBudget, ASmallRequestNeverWaitsForLargeOnes) {
  FullServer full;
  auto small = RawSocket::connect(full.server->port());
  small.send(
      "POST /small HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 20000\r\n\r\n" +
      std::string(20000, 'x'));
  EXPECT_TRUE(small.read_all().ends_with("\r\n\r\n20000"));
}

TEST(ServerBudget, ARequestThatWaitedForTooLongIsToldToComeAgain) {
  FullServer full({.body_timeout = 1s});  // enough for the large one, on any machine
  const auto reply = ask(*full.server, post(500 * kKiB));
  EXPECT_EQ(status_of(reply), "HTTP/1.1 503") << reply;
  EXPECT_NE(reply.find("Retry-After: 1\r\n"), std::string::npos) << reply;
  EXPECT_EQ(full.server->statistics().shed, 1u);
}

TEST(ServerBudget, WhatNeverFitsIsTooLarge) {
  const auto server = start_server(echo, {.max_connections = 4, .max_bytes_in_flight = kMiB});
  EXPECT_EQ(status_of(ask(*server, post(kMiB))), "HTTP/1.1 413");
  EXPECT_EQ(server->statistics().bytes_in_flight, 0u);
}

TEST(ServerBudget, ClientThatLeavesGivesItsBytesBack) {
  const auto server = start_server(echo);
  {
    auto client = RawSocket::connect(server->port());
    client.send(head_of(6 * kMiB) + std::string(kMiB, 'x'));
    ASSERT_TRUE(eventually(*server, [](const auto& now) { return now.bytes_in_flight >= kMiB; }));
  }
  EXPECT_TRUE(eventually(*server, [](const auto& now) { return now.bytes_in_flight == 0; }));
}

}  // namespace
}  // namespace berth::net
