// Somebody takes all that he can get: others do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

constexpr std::size_t kFiles = 4000;

std::string player_ip(int n) { return fmt::format("127.30.0.{}", n); }

TEST(Strain, IdleConnectionsOfOneAddressStopNeitherNewRoomsNorOtherPlayers) {
  Edge edge({.threads = 2, .fd_budget = kFiles});
  const auto room = edge.open_door(Transport::tcp, {{edge.open_room("a")}});
  constexpr model::Port kPorts = 5;
  const auto late = edge.open_door(Transport::tcp, {}, {}, kPorts);
  std::vector<Client> idle;
  for (std::size_t i = 0; i < kFiles / 2; ++i) idle.push_back(Client::tcp(room.at));
  // All of them were taken or turned away.
  ASSERT_TRUE(eventually([&] {
    const ListenerSnapshot seen = edge.seen(room.id);
    return seen.connections + seen.refused() == idle.size();
  }));
  const auto opened = edge.change(late.id, {{edge.open_rooms(kPorts)}});
  ASSERT_TRUE(opened) << opened.error().to_string();
  for (int n = 1; n <= 20; ++n) {
    EXPECT_EQ(Client::from(player_ip(n), Transport::tcp, late.at).read(1), "0") << "another room";
    EXPECT_EQ(Client::from(player_ip(n), Transport::tcp, room.at).read(1), "a") << "the same room";
  }
}

TEST(Strain, SessionsOfOneAddressStopNobodyElse) {
  Edge edge({.threads = 2, .fd_budget = kFiles});
  const auto room = edge.open_door(Transport::udp, {{edge.open_room()}});
  const auto late = edge.open_door(Transport::udp, {});
  // Players that were there before.
  std::vector<Client> players;
  for (int n = 1; n <= 20; ++n) {
    players.push_back(Client::from(player_ip(n), Transport::udp, room.at));
    ASSERT_EQ(players.back().ask("ahoy"), "ahoy");
  }
  std::vector<Client> greedy;
  for (std::size_t i = 0; i < kFiles; ++i) {
    greedy.push_back(Client::udp(room.at));
    ASSERT_EQ(greedy.back().ask("x"), "x") << "its own that was silent for longest made room";
  }
  const auto opened = edge.change(late.id, {{edge.open_room()}});
  ASSERT_TRUE(opened) << opened.error().to_string();
  for (Client& player : players) EXPECT_EQ(player.ask("ahoy"), "ahoy");
  EXPECT_EQ(edge.seen(room.id).connections, kFiles + players.size()) << "on the sessions they had";
}

TEST(Strain, ManyAddressesInOneRoomStopNoOtherRoom) {
  constexpr std::size_t kMost = 10;
  Edge edge({.threads = 2, .connections_per_listener = kMost});
  const auto full = edge.open_door(Transport::tcp, {{edge.open_room("a")}}),
             other = edge.open_door(Transport::tcp, {{edge.open_room("b")}});
  std::vector<Client> idle;
  for (std::size_t i = 0; i < kMost; ++i) {
    idle.push_back(Client::from(player_ip(1 + static_cast<int>(i)), Transport::tcp, full.at));
    ASSERT_EQ(idle.back().read(1), "a");
  }
  Client late = Client::from(player_ip(100), Transport::tcp, full.at);
  EXPECT_EQ(late.read_some(), "");
  EXPECT_EQ(late.error, ECONNRESET);
  EXPECT_EQ(edge.seen(full.id).refused(), 1u);
  EXPECT_EQ(Client::from(player_ip(100), Transport::tcp, other.at).read(1), "b");
  idle.pop_back();
  EXPECT_TRUE(eventually(
      [&] { return Client::from(player_ip(100), Transport::tcp, full.at).read(1) == "a"; }));
}

TEST(Strain, ACrowdBehindOneNatPlays) {
  Edge edge({.threads = 2, .fd_budget = kFiles});
  const auto tcp = edge.open_door(Transport::tcp, {{edge.open_room("a")}}),
             udp = edge.open_door(Transport::udp, {{edge.open_room()}});
  std::vector<Client> players;
  for (std::size_t i = 0; i < kLeastPerClient; ++i) {
    players.push_back(Client::tcp(tcp.at));
    ASSERT_EQ(players.back().read(1), "a") << i;
    players.push_back(Client::udp(udp.at));
    ASSERT_EQ(players.back().ask("x"), "x") << i;
  }
  for (const auto& door : {tcp, udp}) {
    EXPECT_EQ(edge.seen(door.id).refused(), 0u);
    EXPECT_EQ(edge.seen(door.id).active, kLeastPerClient);
  }
}

TEST(Strain, SessionsInSomebodysNameDoNotKeepHimOut) {
  Edge edge({.threads = 2, .connections_per_client = 3});
  const auto room = edge.open_room("a");
  // On two threads.
  const auto one = edge.open_door(Transport::udp, {{room}}),
             two = edge.open_door(Transport::udp, {{room}}),
             tcp = edge.open_door(Transport::tcp, {{room}});
  Client player = Client::udp(one.at);
  ASSERT_EQ(player.ask("ahoy"), "ahoy");
  for (int i = 0; i < 20; ++i) {
    Client forged = Client::udp(one.at);
    ASSERT_EQ(forged.ask("x"), "x");
    ASSERT_EQ(player.ask("ahoy"), "ahoy");
  }
  EXPECT_EQ(edge.seen(one.id).connections, 21u) << "who speaks keeps his session";
  EXPECT_EQ(edge.seen(one.id).active, 3u);
  EXPECT_EQ(Client::tcp(tcp.at).read(1), "a") << "TCP is counted apart";
  // The other thread has none of his sessions to end, and asks the first.
  Client elsewhere = Client::udp(two.at);
  EXPECT_TRUE(
      eventually([&] { return elsewhere.send("x") && elsewhere.read_some(1, 200) == "x"; }));
}

}  // namespace
}  // namespace berth::edge
