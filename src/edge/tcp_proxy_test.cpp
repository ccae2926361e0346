#include "edge/tcp_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

class TcpProxyTest : public ::testing::Test {
 protected:
  TcpProxyTest() : edge_({.threads = 2}) {}
  Edge edge_;
};

TEST_F(TcpProxyTest, BytesComeBackAsTheyWereSent) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room()}});
  const std::string large = random_bytes(8u << 20, 1);
  EXPECT_TRUE(ask_over_tcp(door.at, large, kTimeoutMs).value() == large) << "8 MiB changed";
  const auto seen = edge_.seen(door.id);
  EXPECT_EQ(seen.connections, 1u);
  EXPECT_EQ(seen.bytes_in, large.size());
  EXPECT_EQ(seen.bytes_out, large.size());
  EXPECT_TRUE(eventually([&] { return edge_.seen(door.id).active == 0; }));
}

TEST_F(TcpProxyTest, LongStreamsArriveWhole) {
  HeldDoor door(edge_);
  auto [player, room] = door.connect();
  const std::string said = random_bytes(64u << 20, 3);
  std::jthread talking([&] {
    (void)room.send(said);
    room.end();
  });
  EXPECT_TRUE(player.read(said.size()) == said) << "64 MiB changed";
  EXPECT_EQ(player.read_some(), "");
  EXPECT_EQ(player.error, 0);
}

TEST_F(TcpProxyTest, ConnectionsDoNotMixUpTheirBytes) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room()}, {edge_.open_room()}});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> players;
    for (std::uint64_t p = 0; p < 16; ++p) {
      players.emplace_back([&, p] {
        for (std::uint64_t i = 0; i < 20; ++i) {
          const std::string said = random_bytes(1 + p * 4099 + i * 977, p * 100 + i);
          const auto heard = ask_over_tcp(door.at, said, kTimeoutMs);
          if (!heard || *heard != said) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(TcpProxyTest, EitherSideMayEndItsHalfFirst) {
  HeldDoor door(edge_);
  auto [player, room] = door.connect();
  player.end();
  EXPECT_EQ(room.read_some(), "");
  EXPECT_EQ(room.error, 0) << "an end, not a reset";
  ASSERT_TRUE(room.send("still here"));
  EXPECT_EQ(player.read(10), "still here");
  room.end();
  EXPECT_EQ(player.read_some(), "");
  EXPECT_EQ(player.error, 0);

  auto [second, second_room] = door.connect();
  second_room.end();
  EXPECT_EQ(second.read_some(), "");
  EXPECT_EQ(second.error, 0);
  ASSERT_TRUE(second.send("goodbye"));
  EXPECT_EQ(second_room.read(7), "goodbye");
}

TEST_F(TcpProxyTest, ResetsArePassedOnBothWays) {
  HeldDoor door(edge_);
  auto [player, room] = door.connect();
  ASSERT_TRUE(player.send("x"));
  ASSERT_EQ(room.read(1), "x");
  room.reset();
  EXPECT_EQ(player.read_some(), "");
  EXPECT_EQ(player.error, ECONNRESET);

  auto [second, second_room] = door.connect();
  ASSERT_TRUE(second.send("x"));
  ASSERT_EQ(second_room.read(1), "x");
  second.reset();
  EXPECT_EQ(second_room.read_some(), "");
  EXPECT_EQ(second_room.error, ECONNRESET);
}

TEST_F(TcpProxyTest, AResetAfterAnEndIsPassedOnToo) {
  HeldDoor door(edge_);
  auto [player, room] = door.connect();
  player.end();
  EXPECT_EQ(room.read_some(), "");
  player.reset();
  // Nobody speaks any more: only the reset itself can tell.
  EXPECT_TRUE(eventually([&] { return door.seen().active == 0; }));
}

TEST_F(TcpProxyTest, WhatWasSaidBeforeAResetArrives) {
  HeldDoor door(edge_);
  auto [player, room] = door.connect();
  ASSERT_TRUE(player.send(std::string(100'000, 'x')));
  ASSERT_TRUE(room.send("too large"));
  room = Client(Fd());  // closed with unread bytes: the kernel sends a reset
  EXPECT_EQ(player.read(9), "too large");
}

TEST_F(TcpProxyTest, ASlowReaderHoldsBackItsPeerAndNobodyElse) {
  Edge edge({.threads = 1});
  HeldDoor slow_door(edge);
  const auto fast_door = edge.open_door(Transport::tcp, {{edge.open_room()}});
  auto [player, room] = slow_door.connect();

  const std::string said = random_bytes(64u << 20, 2);
  std::size_t sent = 0;
  // Until it is held back: nobody reads.
  while (room.wait(POLLOUT, 200)) {
    const ssize_t n = ::send(room.fd(), said.data() + sent, said.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    ASSERT_LT(sent, said.size()) << "64 MiB were taken from a client that does not read";
  }
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(ask_over_tcp(fast_door.at, "ahoy", kTimeoutMs).value(), "ahoy");

  std::jthread rest([&] {
    (void)room.send(std::string_view(said).substr(sent));
    room.end();
  });
  EXPECT_TRUE(player.read(said.size()) == said) << "bytes changed";
  EXPECT_EQ(player.read_some(), "");
}

TEST_F(TcpProxyTest, ADeadTargetResetsItsPlayerAndCounts) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.room_at()}});
  const auto heard = ask_over_tcp(door.at, "ahoy", kTimeoutMs);
  EXPECT_FALSE(heard && !heard->empty());
  EXPECT_TRUE(eventually([&] { return edge_.seen(door.id).refused() == 1; }));
}

TEST_F(TcpProxyTest, NewConnectionsAreSpreadByWeight) {
  const auto door =
      edge_.open_door(Transport::tcp, {{edge_.open_room("a"), 30}, {edge_.open_room("b"), 10}});
  EXPECT_EQ(spread(door.at, 40), (std::map<std::string, int>{{"a", 30}, {"b", 10}}));
}

TEST_F(TcpProxyTest, TheLeastUsedTargetIsChosen) {
  const auto door =
      edge_.open_door(Transport::tcp, {{edge_.open_room("a")}, {edge_.open_room("b")}},
                      {.scheduler = model::Scheduler::least_connections});
  std::map<std::string, std::vector<Client>> players;
  for (int i = 0; i < 10; ++i) {
    Client player = Client::tcp(door.at);
    const std::string room = player.read(1);
    players[room].push_back(std::move(player));
  }
  EXPECT_EQ(players["a"].size(), 5u);
  players["a"].clear();
  ASSERT_TRUE(eventually([&] {
    std::uint64_t active = 0;
    for (const TargetSnapshot& target : edge_.seen(door.id).targets) active += target.active;
    return active == 5;
  }));
  for (int i = 0; i < 5; ++i) {
    Client player = Client::tcp(door.at);
    ASSERT_EQ(player.read(1), "a");
    players["a"].push_back(std::move(player));
  }
}

TEST_F(TcpProxyTest, AClientAddressStaysWithItsTarget) {
  for (const model::RuleAttributes& attributes :
       {model::RuleAttributes{.scheduler = model::Scheduler::source_ip},
        model::RuleAttributes{.session_seconds = 3600}}) {
    const auto door = edge_.open_door(Transport::tcp,
                                      {{edge_.open_room("a")}, {edge_.open_room("b")}}, attributes);
    EXPECT_EQ(spread(door.at, 20).size(), 1u);
  }
}

TEST_F(TcpProxyTest, ADrainedTargetKeepsItsPlayersAndGetsNoNewOnes) {
  const auto first = edge_.open_room("a"), second = edge_.open_room("b");
  const auto door = edge_.open_door(Transport::tcp, {{first}});
  Client player = Client::tcp(door.at);
  ASSERT_EQ(player.read(1), "a");
  ASSERT_TRUE(edge_.change(door.id, {{first, 0}, {second}}));
  EXPECT_EQ(spread(door.at, 10), (std::map<std::string, int>{{"b", 10}}));
  EXPECT_EQ(player.ask("ahoy"), "ahoy");

  ASSERT_TRUE(edge_.change(door.id, {{second, 0}}));
  EXPECT_FALSE(ask_over_tcp(door.at, "", kTimeoutMs)) << "everybody is drained: refused";
  EXPECT_EQ(player.ask("ahoy"), "ahoy");
  ASSERT_TRUE(edge_.change(door.id, {{second, 10}}));
  EXPECT_EQ(greeting_at(door.at), "b");
}

TEST_F(TcpProxyTest, ARemovedTargetLosesItsPlayersBeforeTheCallReturns) {
  const auto first = edge_.open_room("a"), second = edge_.open_room("b");
  const auto door = edge_.open_door(Transport::tcp, {{first}, {second}});
  std::map<std::string, std::vector<Client>> players;
  for (int i = 0; i < 20; ++i) {
    Client player = Client::tcp(door.at);
    const std::string room = player.read(1);
    players[room].push_back(std::move(player));
  }
  ASSERT_TRUE(edge_.change(door.id, {}, {first}));
  EXPECT_EQ(edge_.seen(door.id).active, 10u);
  for (Client& player : players["a"]) {
    EXPECT_EQ(player.read_some(), "");
    EXPECT_EQ(player.error, ECONNRESET);
  }
  for (Client& player : players["b"]) EXPECT_EQ(player.ask("ahoy"), "ahoy");
}

TEST_F(TcpProxyTest, TheNthPortOfARangeGoesToTheNthPortOfTheTarget) {
  constexpr model::Port kPorts = 20;
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_rooms(kPorts)}}, {}, kPorts);
  for (model::Port n = 0; n < kPorts; ++n)
    EXPECT_EQ(greeting_at({door.at.ip, static_cast<model::Port>(door.at.port + n)}),
              fmt::format("{}", n));
  EXPECT_EQ(edge_.seen(door.id).connections, kPorts);
}

TEST_F(TcpProxyTest, SeveralAddressesOfBothFamiliesReachTargetsOfBothFamilies) {
  DualEdge dual;
  const model::Target v4 = dual.open_room("four"),
                      v6 = dual.open_room_at({"::1", DualEdge::fresh_v6_port()}, "six");
  const auto door = dual.open_door(Transport::tcp, {{v4}, {v6}});
  for (const std::string& vip : {Edge::room_ip(), std::string("::1")})
    EXPECT_EQ(spread({vip, door.at.port}, 10),
              (std::map<std::string, int>{{"four", 5}, {"six", 5}}));
}

TEST_F(TcpProxyTest, ConnectionsPastTheBudgetAreResetAndCounted) {
  Edge small({.threads = 2, .fd_budget = 7});
  const auto door = small.open_door(Transport::tcp, {{small.open_room("a")}});
  std::vector<Client> players;
  for (int i = 0; i < 3; ++i) {
    players.push_back(Client::tcp(door.at));
    ASSERT_EQ(players.back().read(1), "a");
  }
  Client fourth = Client::tcp(door.at);
  EXPECT_EQ(fourth.read_some(), "");
  EXPECT_EQ(fourth.error, ECONNRESET);
  EXPECT_EQ(small.seen(door.id).refused(), 1u);
  players.clear();
  ASSERT_TRUE(eventually([&] { return small.driver->snapshot().fds_used == 1; }));
  EXPECT_EQ(Client::tcp(door.at).read(1), "a");
}

TEST_F(TcpProxyTest, WithoutFileDescriptorsOfTheProcessClientsWaitAndNothingSpins) {
  const auto cpu_time = [] {
    timespec used{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
  };
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room("a")}});
  Client player(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  {
    const NoFiles none;
    const SocketAddress to = SocketAddress::of(door.at).value();
    ASSERT_EQ(::connect(player.fd(), to.get(), to.length()), 0);
    const auto before = cpu_time();
    EXPECT_EQ(player.read_some(1, 600), "");
    EXPECT_EQ(player.error, ETIMEDOUT) << "it was not turned away";
    EXPECT_LT(cpu_time() - before, std::chrono::milliseconds{200}) << "in 600 ms";
  }
  EXPECT_EQ(player.read(1), "a") << "served as soon as there are some again";
}

TEST_F(TcpProxyTest, ConnectionsAreSharedBetweenThreads) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room("a")}});
  std::vector<Client> players;
  for (int i = 0; i < 64; ++i) players.push_back(Client::tcp(door.at));
  for (Client& player : players) ASSERT_EQ(player.read(1), "a");
  for (Client& player : players) EXPECT_EQ(player.ask("ahoy"), "ahoy");
  EXPECT_EQ(edge_.seen(door.id).active, 64u);
}

}  // namespace
}  // namespace berth::edge
