// Targets and listeners that change while traffic flows.

#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

// Players that ask until they are told to stop.
class Players {
 public:
  Players(int count, std::function<bool(std::uint64_t seed)> ask) {
    for (int p = 0; p < count; ++p) {
      threads_.emplace_back([this, p, ask](std::stop_token stop) {
        for (std::uint64_t i = 0; !stop.stop_requested(); ++i)
          ++(ask(static_cast<std::uint64_t>(p) << 32 | i) ? good : bad);
      });
    }
  }
  void stop() { threads_.clear(); }

  std::atomic<int> good{0};
  std::atomic<int> bad{0};

 private:
  std::vector<std::jthread> threads_;
};

TEST(Change, DrainingAndAddingLoseNoConnection) {
  Edge edge({.threads = 2});
  std::vector<model::Target> rooms;
  for (int i = 0; i < 4; ++i) rooms.push_back(edge.open_room());
  const auto door = edge.open_door(Transport::tcp, {{rooms[0]}});
  Players players(6, [&](std::uint64_t seed) {
    const std::string said = random_bytes(1 + seed % 100'000, seed);
    const auto heard = ask_over_tcp(door.at, said, kTimeoutMs);
    return heard && *heard == said;
  });
  for (std::size_t i = 1; i <= 300; ++i) {
    const model::Target &next = rooms[i % 4], &last = rooms[(i + 3) % 4];
    ASSERT_TRUE(edge.change(door.id, {{next, 10}, {last, 0}}));
    const int before = players.good;
    ASSERT_TRUE(eventually([&] { return players.good > before + 2; }));
  }
  players.stop();
  std::printf("%d connections over 300 changes\n", players.good.load());
  EXPECT_EQ(players.bad, 0);
}

TEST(Change, RemovingBreaksConnectionsButNeverBytes) {
  Edge edge({.threads = 2});
  std::vector<model::Target> rooms;
  for (int i = 0; i < 4; ++i) rooms.push_back(edge.open_room());
  const auto door = edge.open_door(Transport::tcp, {{rooms[0]}});
  std::atomic<int> broken{0};
  Players players(6, [&](std::uint64_t seed) {
    const std::string said = random_bytes(1 + seed % 300'000, seed);
    const auto heard = ask_over_tcp(door.at, said, kTimeoutMs);
    if (!heard) {
      ++broken;
      return heard.error().code == Code::unavailable;  // reset, not silence
    }
    return *heard == said;
  });
  for (std::size_t i = 1; i <= 300; ++i) {
    const model::Target &next = rooms[i % 4], &last = rooms[(i + 3) % 4];
    ASSERT_TRUE(edge.change(door.id, {{next}}, {last}));
  }
  players.stop();
  std::printf("%d connections, %d of them broken by 300 removals\n", players.good.load(),
              broken.load());
  EXPECT_EQ(players.bad, 0);
  EXPECT_TRUE(eventually([&] { return edge.seen(door.id).active == 0; }));
}

TEST(Change, DatagramsGoWhereTheyShouldWhileTargetsChange) {
  Edge edge({.threads = 2});
  std::vector<model::Target> rooms;
  for (int i = 0; i < 4; ++i) rooms.push_back(edge.open_room());
  const auto door = edge.open_door(Transport::udp, {{rooms[0]}});
  std::atomic<int> lost{0};
  Players players(4, [&](std::uint64_t seed) {
    Client player = Client::udp(door.at);
    for (int i = 0; i < 10; ++i) {
      const std::string said = fmt::format("{}/{}", seed, i);
      if (!player.send(said)) return false;
      const std::string heard = player.read_some(2048, 100);
      // A datagram may get lost with its target; another one's never comes.
      if (heard.empty()) {
        ++lost;
        return true;
      }
      if (heard != said) return false;
    }
    return true;
  });
  for (std::size_t i = 1; i <= 300; ++i) {
    const model::Target &next = rooms[i % 4], &last = rooms[(i + 3) % 4];
    ASSERT_TRUE(edge.change(door.id, {{next}}, {last}));
  }
  ASSERT_TRUE(eventually([&] { return players.good > 50; }));
  players.stop();
  std::printf("%d players, %d lost a datagram\n", players.good.load(), lost.load());
  EXPECT_EQ(players.bad, 0);
}

TEST(Change, ThousandsOfListenersInOneProcess) {
  constexpr std::size_t kListeners = 3000;  // of each protocol
  constexpr model::Port kFirst = 21'000;    // below those that the system hands out by itself
  Edge edge({.threads = 2});
  const auto room = edge.open_room();
  std::vector<model::ListenerSpec> specs;
  for (const auto protocol : {model::Protocol::tcp, model::Protocol::udp}) {
    for (std::size_t i = 0; i < kListeners; ++i) {
      const auto port = static_cast<model::Port>(kFirst + i);
      specs.push_back(model::plain_listener(protocol, {port, port}, fmt::format("room-{}", i)));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<model::ListenerId> ids;
  std::vector<lb::TargetChange> changes;
  for (const auto& id : edge.driver->create(edge.context, edge.lb, specs)) {
    ids.push_back(id.value());
    changes.push_back({.rule = {ids.back(), {}}, .add = {{room}}});
  }
  for (const auto& changed : edge.driver->change_targets(edge.context, edge.lb, changes))
    ASSERT_TRUE(changed) << changed.error().to_string();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu listeners opened in %.3f s\n", specs.size(), took.count());
  EXPECT_EQ(edge.driver->snapshot().fds_used, 2 * kListeners);

  const std::string vip = edge.vip();
  for (std::size_t i = 0; i < kListeners; i += 7) {
    const model::Target at{vip, static_cast<model::Port>(kFirst + i)};
    ASSERT_EQ(ask_over_tcp(at, "ahoy", kTimeoutMs).value(), "ahoy");
    ASSERT_EQ(ask_over_udp(at, "ahoy", kTimeoutMs).value(), "ahoy");
  }
  for (const auto& removed : edge.driver->remove(edge.context, edge.lb, ids)) ASSERT_TRUE(removed);
  EXPECT_TRUE(eventually([&] { return edge.driver->snapshot().fds_used == 0; }));
}

TEST(Change, AWideRangeReachesEachOfItsPorts) {
  constexpr model::Port kPorts = 500;
  Edge edge({.threads = 2});
  const model::Target first{Edge::room_ip(), Edge::fresh_port(kPorts)};
  for (model::Port n = 0; n < kPorts; ++n)
    edge.open_room_at({first.ip, static_cast<model::Port>(first.port + n)}, fmt::format("{}:", n));
  const auto tcp = edge.open_door(Transport::tcp, {{first}}, {}, kPorts);
  const auto udp = edge.open_door(Transport::udp, {{first}}, {}, kPorts);
  for (model::Port n = 0; n < kPorts; ++n) {
    const auto at = [&](const Edge::Door& door) {
      return model::Target{door.at.ip, static_cast<model::Port>(door.at.port + n)};
    };
    ASSERT_EQ(ask_over_tcp(at(tcp), "ahoy", kTimeoutMs).value(), fmt::format("{}:ahoy", n));
    ASSERT_EQ(ask_over_udp(at(udp), "ahoy", kTimeoutMs).value(), "ahoy");
  }
  EXPECT_EQ(edge.seen(tcp.id).connections, kPorts);
  EXPECT_EQ(edge.seen(udp.id).connections, kPorts);
}

}  // namespace
}  // namespace berth::edge
