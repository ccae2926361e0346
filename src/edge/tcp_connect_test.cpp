// Targets that cannot be reached: a client does not notice while the listener has another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/tcp_proxy.h"
#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;
using Counts = std::map<std::string, int>;

class TcpConnectTest : public ::testing::Test {
 protected:
  TcpConnectTest() : edge_({.threads = 2}) {}
  Edge edge_;
};

TEST_F(TcpConnectTest, WithADeadTargetOfTwoEveryClientIsServed) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.room_at()}, {edge_.open_room("b")}});
  EXPECT_EQ(spread(door.at, 40), (Counts{{"b", 40}}));
  const auto seen = edge_.seen(door.id);
  EXPECT_EQ(seen.connections, 40u);
  EXPECT_EQ(seen.refused(), 0u);
  EXPECT_EQ(seen.connect_failures, 20u) << "turns are taken as before";
  EXPECT_TRUE(eventually([&] { return edge_.driver->snapshot().fds_used == 1; }));
}

TEST_F(TcpConnectTest, WhatWasSaidMeanwhileArrives) {
  const auto door =
      edge_.open_door(Transport::tcp, {{edge_.room_at()}, {edge_.room_at()}, {edge_.open_room()}});
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::string said = random_bytes(1u << 20, i);
    EXPECT_TRUE(ask_over_tcp(door.at, said, kTimeoutMs).value_or("") == said) << i;
  }
}

TEST_F(TcpConnectTest, ManyClientsAtOnceAreServed) {
  const auto door = edge_.open_door(Transport::tcp,
                                    {{edge_.room_at()}, {edge_.open_room("b")}, {edge_.room_at()}});
  std::vector<Client> players;
  for (int i = 0; i < 200; ++i) players.push_back(Client::tcp(door.at));
  for (Client& player : players) ASSERT_EQ(player.read(1), "b");
  for (Client& player : players) ASSERT_EQ(player.ask("ahoy"), "ahoy");
}

TEST_F(TcpConnectTest, EachIsTriedOnceAndNotTooManyOfThem) {
  for (const std::size_t dead : {std::size_t{1}, std::size_t{2}, kMaxTargetsTried + 6}) {
    std::vector<model::WeightedTarget> targets;
    for (std::size_t i = 0; i < dead; ++i) targets.push_back({edge_.room_at()});
    const auto door = edge_.open_door(Transport::tcp, targets);
    Client player = Client::tcp(door.at);
    EXPECT_EQ(player.read_some(), "");
    EXPECT_EQ(player.error, ECONNRESET);
    const auto seen = edge_.seen(door.id);
    EXPECT_EQ(seen.refused(), 1u);
    EXPECT_EQ(seen.connect_failures, std::min(dead, kMaxTargetsTried));
  }
}

TEST_F(TcpConnectTest, ADrainedTargetDoesNotStepIn) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.room_at()}, {edge_.open_room("b"), 0}});
  EXPECT_EQ(greeting_at(door.at), "");
  EXPECT_TRUE(eventually([&] { return edge_.seen(door.id).refused() == 1; }));
}

TEST_F(TcpConnectTest, WeightsHoldAmongThoseThatAreLeft) {
  const auto door = edge_.open_door(
      Transport::tcp,
      {{edge_.room_at(), 40}, {edge_.open_room("b"), 30}, {edge_.open_room("c"), 10}});
  const Counts seen = spread(door.at, 80);
  EXPECT_EQ(seen.at("b") + seen.at("c"), 80);
  EXPECT_NEAR(seen.at("b"), 60, 6);
}

TEST_F(TcpConnectTest, AClientThatLostItsTargetStaysWithTheNextOne) {
  const auto dead = edge_.room_at(), alive = edge_.open_room("b");
  const auto door = edge_.open_door(Transport::tcp, {{dead}, {alive}}, {.session_seconds = 3600});
  EXPECT_EQ(spread(door.at, 20), (Counts{{"b", 20}}));
  EXPECT_LE(edge_.seen(door.id).connect_failures, 1u);
  edge_.open_room_at(dead, "a");
  EXPECT_EQ(spread(door.at, 20), (Counts{{"b", 20}})) << "and does not go back";
}

TEST_F(TcpConnectTest, ByClientAddressTheSameOneStepsInEachTime) {
  std::vector<model::WeightedTarget> targets{{edge_.open_room("a")}, {edge_.open_room("b")}};
  for (int i = 0; i < 2; ++i) targets.push_back({edge_.room_at()});
  const auto door =
      edge_.open_door(Transport::tcp, targets, {.scheduler = model::Scheduler::source_ip});
  EXPECT_EQ(spread(door.at, 20).size(), 1u);
}

TEST_F(TcpConnectTest, TheNthPortStaysTheNthPort) {
  constexpr model::Port kPorts = 3;
  const model::Target dead{Edge::room_ip(), Edge::fresh_port(kPorts)};
  const auto door =
      edge_.open_door(Transport::tcp, {{dead}, {edge_.open_rooms(kPorts)}}, {}, kPorts);
  for (model::Port n = 0; n < kPorts; ++n)
    EXPECT_EQ(greeting_at({door.at.ip, static_cast<model::Port>(door.at.port + n)}),
              fmt::format("{}", n));
}

TEST_F(TcpConnectTest, ASilentTargetIsLeftForAnother) {
  Edge edge({.threads = 1, .second = std::chrono::milliseconds{30}});
  const SilentRoom silent(edge.room_at());
  const auto door = edge.open_door(Transport::tcp, {{silent.at()}, {edge.open_room("b")}});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(spread(door.at, 20), (Counts{{"b", 20}}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{60})
      << "the kernel alone gives up after seven, ten times";
  EXPECT_EQ(edge.seen(door.id).connect_failures, 10u);
  EXPECT_EQ(edge.seen(door.id).refused(), 0u);
}

TEST_F(TcpConnectTest, ASilentTargetThatIsTheOnlyOneIsWaitedFor) {
  Edge edge({.threads = 1, .second = std::chrono::milliseconds{30}});
  SilentRoom silent(edge.room_at());
  const auto door = edge.open_door(Transport::tcp, {{silent.at()}});
  Client player = Client::tcp(door.at);
  ASSERT_TRUE(player.send("ahoy"));
  ASSERT_EQ(player.read_some(1, 400), "") << "longer than the patience";
  silent.listen();
  ASSERT_EQ(player.error, ETIMEDOUT) << "it still waits";
  Client peer = [&] {
    Client found(Fd{});
    (void)eventually([&] { return (found = silent.accept_who_says("ahoy")).fd() >= 0; });
    return found;
  }();
  ASSERT_TRUE(peer.send("welcome"));
  EXPECT_EQ(player.read(7), "welcome");
}

TEST_F(TcpConnectTest, ATargetThatGoesBeforeItAnsweredIsLeftForAnother) {
  const SilentRoom silent(edge_.room_at());
  const auto door = edge_.open_door(Transport::tcp, {{silent.at()}});
  Client player = Client::tcp(door.at);
  ASSERT_TRUE(player.send("ahoy"));
  ASSERT_TRUE(eventually([&] { return edge_.seen(door.id).active == 1; }));
  ASSERT_TRUE(edge_.change(door.id, {{edge_.open_room()}}, {silent.at()}));
  EXPECT_EQ(player.read(4), "ahoy");
}

// Its machine is gone, and nobody says so: without questions a connection that is not used would
// stay for ever.
TEST_F(TcpConnectTest, ATargetThatDiesSilentlyIsNoticed) {
  const Fd fd = connect_tcp(edge_.open_room()).value();
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    (void)::getsockopt(fd.get(), level, name, &value, &length);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPIDLE), 600);
}

// On the addresses of a machine, connections to targets begin at the same address that listeners
// have.
TEST_F(TcpConnectTest, APortFromWhichATargetIsReachedCanBecomeAListeners) {
  const model::Target room = edge_.open_room();
  // Another process may have a connection from the same port, to another place: then the next one.
  EXPECT_TRUE(eventually([&] {
    const Fd fd = connect_tcp(room).value();
    SocketAddress from;
    socklen_t length = SocketAddress::kRoom;
    return ::getsockname(fd.get(), from.room(), &length) == 0 && listen_tcp(from).has_value();
  }));
}

// The kernel gives a connection the very port that it is to reach, sooner or later: then it is its
// own other end, and a dead target seems to answer.
TEST_F(TcpConnectTest, AConnectionToADeadTargetDoesNotMeetItself) {
  // One that the kernel hands out by itself, on the address that it gives connections: it goes
  // through all of them, those with even numbers first.
  const auto port = static_cast<model::Port>(33'000 + 2 * (::getpid() % 10'000));
  const model::Target dead{"127.0.0.1", port};
  bool avoided = false;
  for (int i = 0; i < 200'000 && !avoided; ++i) {
    const Result<Fd> fd = connect_tcp(dead);
    if (!fd) {
      avoided = fd.error().message.contains("itself");
      continue;
    }
    SocketAddress from;
    socklen_t length = SocketAddress::kRoom;
    ASSERT_EQ(::getsockname(fd->get(), from.room(), &length), 0);
    ASSERT_NE(from, SocketAddress::of(dead).value()) << "after " << i;
  }
  EXPECT_TRUE(avoided);
}

TEST_F(TcpConnectTest, AListenerThatGoesEndsThoseWhoWait) {
  const SilentRoom silent(edge_.room_at());
  const auto door = edge_.open_door(Transport::tcp, {{silent.at()}});
  Client player = Client::tcp(door.at);
  ASSERT_TRUE(eventually([&] { return edge_.seen(door.id).active == 1; }));
  ASSERT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&door.id, 1}).front());
  EXPECT_EQ(player.read_some(), "");
  EXPECT_EQ(player.error, ECONNRESET);
  EXPECT_TRUE(eventually([&] { return edge_.driver->snapshot().fds_used == 0; }));
}

}  // namespace
}  // namespace berth::edge
