#include "edge/udp_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

class UdpProxyTest : public ::testing::Test {
 protected:
  UdpProxyTest() : edge_({.threads = 2}) {}
  model::Target open_named(const std::string& name) { return open_named_at(edge_.room_at(), name); }
  model::Target open_named_at(const model::Target& at, const std::string& name) {
    rooms_.emplace(name, std::make_unique<NamedRoom>(at, name));
    return at;
  }
  static std::string ask(Client& client, std::string_view text = "who") {
    (void)client.send(text);
    return client.read_some();
  }

  Edge edge_;
  std::map<std::string, std::unique_ptr<NamedRoom>> rooms_;
};

TEST_F(UdpProxyTest, DatagramsOfAllSizesComeBackWhole) {
  const auto door = edge_.open_door(Transport::udp, {{edge_.open_room()}});
  Client player = Client::udp(door.at);
  for (const std::size_t size : {1u, 100u, 1472u, 9000u, 65'507u}) {
    const std::string said = random_bytes(size, size);
    EXPECT_TRUE(ask(player, said) == said) << size;
  }
  // Counted after it is sent.
  ASSERT_TRUE(eventually([&] { return edge_.seen(door.id).datagrams_out == 5; }));
  const auto seen = edge_.seen(door.id);
  EXPECT_EQ(seen.connections, 1u);
  EXPECT_EQ(seen.datagrams_in, 5u);
  EXPECT_EQ(seen.bytes_in, seen.bytes_out);
}

TEST_F(UdpProxyTest, AnEmptyDatagramIsADatagram) {
  const auto door = edge_.open_door(Transport::udp, {{open_named("a")}});
  Client player = Client::udp(door.at);
  ASSERT_EQ(::send(player.fd(), "", 0, 0), 0);
  EXPECT_THAT(player.read_some(), ::testing::StartsWith("a:"));
}

TEST_F(UdpProxyTest, ManyClientsAreToldApartAndStayWithTheirTarget) {
  const auto door = edge_.open_door(Transport::udp, {{open_named("a")}, {open_named("b")}});
  std::vector<Client> players;
  std::vector<std::string> first;
  for (int i = 0; i < 100; ++i) {
    players.push_back(Client::udp(door.at));
    first.push_back(ask(players.back()));
  }
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 100u)
      << "each client has a port of its own at its target";
  for (std::size_t i = 0; i < players.size(); ++i) EXPECT_EQ(ask(players[i]), first[i]);
  const auto seen = edge_.seen(door.id);
  EXPECT_EQ(seen.active, 100u);
  EXPECT_EQ(seen.targets[0].active, 50u);
}

TEST_F(UdpProxyTest, BurstsOfManyClientsKeepTheirOrder) {
  const auto door = edge_.open_door(Transport::udp, {{edge_.open_room()}, {edge_.open_room()}});
  std::vector<Client> players;
  for (int i = 0; i < 20; ++i) players.push_back(Client::udp(door.at));
  constexpr int kBurst = 20;  // small enough for the sockets' default buffers
  for (int n = 0; n < kBurst; ++n)
    for (std::size_t p = 0; p < players.size(); ++p)
      ASSERT_TRUE(players[p].send(fmt::format("{}/{}", p, n)));
  for (std::size_t p = 0; p < players.size(); ++p)
    for (int n = 0; n < kBurst; ++n) ASSERT_EQ(players[p].read_some(), fmt::format("{}/{}", p, n));
}

TEST_F(UdpProxyTest, ASilentSessionEnds) {
  Edge edge({.threads = 1, .udp_idle = std::chrono::milliseconds{100}});
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  Client player = Client::udp(door.at);
  // Where the machine is slow, a session may end before its answer comes.
  const auto is_heard = [&](const char* text) {
    return eventually([&] { return player.send(text) && player.read_some(1, 1000) == text; });
  };
  ASSERT_TRUE(is_heard("x"));
  EXPECT_TRUE(eventually([&] { return edge.driver->snapshot().fds_used == 1; }));
  EXPECT_EQ(edge.seen(door.id).active, 0u);
  const std::uint64_t before = edge.seen(door.id).connections;
  EXPECT_TRUE(is_heard("y")) << "and the client may speak again";
  EXPECT_GT(edge.seen(door.id).connections, before);
}

TEST_F(UdpProxyTest, AFullTableForgetsWhoWasSilentForLongest) {
  Edge edge({.threads = 1, .max_udp_sessions = 3});
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  std::vector<Client> players;
  for (int i = 0; i < 3; ++i) {
    players.push_back(Client::udp(door.at));
    ASSERT_EQ(ask(players.back(), "x"), "x");
  }
  ASSERT_EQ(ask(players[0], "x"), "x");
  Client fourth = Client::udp(door.at);
  ASSERT_EQ(ask(fourth, "x"), "x");
  EXPECT_EQ(edge.seen(door.id).active, 3u);
  ASSERT_EQ(ask(players[0], "x"), "x");
  EXPECT_EQ(edge.seen(door.id).connections, 4u) << "the one that spoke last was kept";
}

TEST_F(UdpProxyTest, WithoutFileDescriptorsTheOldestMakesRoom) {
  Edge edge({.threads = 1, .fd_budget = 3});
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  for (int i = 0; i < 10; ++i) {
    Client player = Client::udp(door.at);
    ASSERT_EQ(ask(player, "x"), "x");
  }
  EXPECT_EQ(edge.driver->snapshot().fds_used, 3u);
}

TEST_F(UdpProxyTest, MoreClientsInOneBurstThanTheTableHoldsHarmNobody) {
  Edge edge({.threads = 1, .max_udp_sessions = 2});
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  std::vector<Client> players;
  for (int i = 0; i < 50; ++i) players.push_back(Client::udp(door.at));
  for (int round = 0; round < 20; ++round)
    for (const Client& player : players) (void)player.send("x");
  Client last = Client::udp(door.at);
  ASSERT_TRUE(eventually([&] { return edge.seen(door.id).connections > 50; }));
  // The first may find the socket still full of what the others said.
  EXPECT_TRUE(eventually(
      [&] { return last.send("still there") && last.read_some(100, 500) == "still there"; }));
}

TEST_F(UdpProxyTest, ADrainedTargetKeepsItsSessionsAndGetsNoNewOnes) {
  const auto first = open_named("a"), second = open_named("b");
  const auto door = edge_.open_door(Transport::udp, {{first}});
  Client player = Client::udp(door.at);
  const std::string before = ask(player);
  ASSERT_TRUE(edge_.change(door.id, {{first, 0}, {second}}));
  for (int i = 0; i < 5; ++i) {
    Client other = Client::udp(door.at);
    EXPECT_EQ(ask(other)[0], 'b');
  }
  EXPECT_EQ(ask(player), before);
  ASSERT_TRUE(edge_.change(door.id, {{second, 0}}));
  Client late = Client::udp(door.at);
  ASSERT_TRUE(late.send("who"));
  EXPECT_TRUE(eventually([&] { return edge_.seen(door.id).refused() == 1; }));
  EXPECT_EQ(ask(player), before) << "all are drained: who talks goes on";
}

TEST_F(UdpProxyTest, ARemovedTargetLosesItsSessionsAtOnce) {
  const auto first = open_named("a"), second = open_named("b");
  const auto door = edge_.open_door(Transport::udp, {{first}});
  Client player = Client::udp(door.at);
  ASSERT_EQ(ask(player)[0], 'a');
  ASSERT_TRUE(edge_.change(door.id, {{second}}, {first}));
  EXPECT_EQ(edge_.seen(door.id).active, 0u);
  EXPECT_EQ(ask(player)[0], 'b');
}

TEST_F(UdpProxyTest, AClosedTargetEndsTheSessionAndTheNextDatagramIsGivenAnother) {
  const auto first = open_named("a");
  const auto door = edge_.open_door(Transport::udp, {{first}});
  Client player = Client::udp(door.at);
  ASSERT_EQ(ask(player)[0], 'a');
  rooms_.clear();
  ASSERT_TRUE(player.send("who"));
  ASSERT_TRUE(eventually([&] { return edge_.seen(door.id).active == 0; }));
  ASSERT_TRUE(edge_.change(door.id, {{first, 0}, {open_named("b")}}));
  EXPECT_EQ(ask(player)[0], 'b');
}

TEST_F(UdpProxyTest, AClientThatStaysWithItsTargetLeavesItWhenItsPortIsClosed) {
  for (const model::RuleAttributes& attributes :
       {model::RuleAttributes{.scheduler = model::Scheduler::source_ip},
        model::RuleAttributes{.session_seconds = 3600}}) {
    const auto door =
        edge_.open_door(Transport::udp, {{open_named("a")}, {open_named("b")}}, attributes);
    Client player = Client::udp(door.at);
    const std::string first = ask(player).substr(0, 1);
    rooms_.erase(first);
    const std::string other = first == "a" ? "b" : "a";
    EXPECT_TRUE(eventually([&] {
      return player.send("who") && player.read_some(100, 200).substr(0, 1) == other;
    })) << "it still goes to the one that is closed";
    rooms_.clear();
  }
}

TEST_F(UdpProxyTest, ADatagramThatIsTooLargeForTheTargetEndsNothing) {
  DualEdge dual;
  const auto door = dual.open_door(Transport::udp, {{open_named("a")}});
  Client player = Client::udp({"::1", door.at.port});
  const std::string before = ask(player);
  ASSERT_THAT(before, ::testing::StartsWith("a:"));
  ASSERT_TRUE(player.send(random_bytes(65'520, 1))) << "IPv6 takes a little more than IPv4";
  ASSERT_TRUE(eventually([&] { return dual.seen(door.id).dropped == 1; }));
  EXPECT_EQ(ask(player), before) << "the same session";
}

TEST_F(UdpProxyTest, WithoutFileDescriptorsOfTheProcessTheOldestMakesRoom) {
  Edge edge({.threads = 1});
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  Client first = Client::udp(door.at), second = Client::udp(door.at), third = Client::udp(door.at);
  ASSERT_EQ(ask(first, "x"), "x");
  ASSERT_EQ(ask(second, "x"), "x");
  // The next number that is free, and so everything above it, is not to be had; the sessions' are.
  const NoFiles none(static_cast<rlim_t>(Fd(::dup(0)).get()));
  EXPECT_EQ(ask(third, "x"), "x");
  EXPECT_EQ(ask(second, "x"), "x");
  EXPECT_EQ(edge.seen(door.id).connections, 3u) << "the one that spoke last was kept";
}

TEST_F(UdpProxyTest, DatagramsOfManyClientsLeaveFilesForConnections) {
  Edge edge({.threads = 2, .fd_budget = 40});
  const auto room = edge.open_room();
  const auto udp = edge.open_door(Transport::udp, {{room}}),
             tcp = edge.open_door(Transport::tcp, {{room}});
  for (int i = 0; i < 60; ++i) {
    Client player = Client::udp(udp.at);
    ASSERT_EQ(ask(player, "x"), "x");
  }
  EXPECT_GE(edge.seen(udp.id).active, 20u);
  EXPECT_EQ(ask_over_tcp(tcp.at, "ahoy", kTimeoutMs).value_or(""), "ahoy");
}

TEST_F(UdpProxyTest, AThreadThatHasTakenAllSessionsGivesOthersTheirShare) {
  constexpr std::size_t kMost = 8;
  Edge edge({.threads = 2, .max_udp_sessions = kMost});
  const auto room = edge.open_room();
  // Sockets go to the threads in turns.
  const auto one = edge.open_door(Transport::udp, {{room}}),
             two = edge.open_door(Transport::udp, {{room}});
  std::vector<Client> players;
  for (const auto& door : {one, two}) {
    for (std::size_t i = 0; i < kMost; ++i) {
      players.push_back(Client::udp(door.at));
      ASSERT_EQ(ask(players.back(), "x"), "x");
    }
  }
  EXPECT_TRUE(eventually([&] { return edge.seen(one.id).active == kMost / 2; }));
  EXPECT_EQ(edge.seen(two.id).active, kMost / 2);
}

TEST_F(UdpProxyTest, TheNthPortOfARangeGoesToTheNthPortOfTheTarget) {
  constexpr model::Port kPorts = 10;
  const model::Target first{Edge::room_ip(), Edge::fresh_port(kPorts)};
  for (model::Port n = 0; n < kPorts; ++n)
    open_named_at({first.ip, static_cast<model::Port>(first.port + n)}, fmt::format("{}", n));
  const auto door = edge_.open_door(Transport::udp, {{first}}, {}, kPorts);
  for (model::Port n = 0; n < kPorts; ++n) {
    Client player = Client::udp({door.at.ip, static_cast<model::Port>(door.at.port + n)});
    EXPECT_THAT(ask(player), ::testing::StartsWith(fmt::format("{}:", n)));
  }
}

TEST_F(UdpProxyTest, BothFamiliesAreCarried) {
  DualEdge dual;
  const auto door =
      dual.open_door(Transport::udp, {{dual.open_room_at({"::1", DualEdge::fresh_v6_port()})}});
  for (const std::string& vip : {Edge::room_ip(), std::string("::1")})
    EXPECT_EQ(ask_over_udp({vip, door.at.port}, "ahoy", kTimeoutMs).value(), "ahoy");
}

}  // namespace
}  // namespace berth::edge
