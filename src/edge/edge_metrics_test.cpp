#include "edge/edge_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

class EdgeMetricsTest : public ::testing::Test {
 protected:
  // -1: there is no such series.
  double value_of(const std::string& name, const std::string& protocol) {
    return value_of(fmt::format("{}{{lb=\"{}\",{}}} ", name, to_string(edge_.lb), protocol));
  }
  double value_of(const std::string& series) { return value_in(registry_, series); }
  double refused(Transport protocol, const char* reason) {
    return value_of("berth_edge_refused_total", fmt::format(R"(protocol="{}",reason="{}")",
                                                            model::to_string(protocol), reason));
  }
  static double value_in(metrics::Registry& registry, const std::string& series) {
    const std::string text = "\n" + registry.text();
    const std::size_t at = text.find("\n" + series);
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 1 + series.size());
  }
  void remove(const model::ListenerId& id) {
    ASSERT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&id, 1}).front());
  }

  Edge edge_{{.threads = 2}};
  metrics::Registry registry_;
  const EdgeMetrics metrics_{registry_, *edge_.driver};
};

TEST_F(EdgeMetricsTest, TcpIsCountedForAllPortsOfALoadBalancer) {
  const auto dead = edge_.room_at(), room = edge_.open_room();  // in the order of their turns
  const auto first = edge_.open_door(Transport::tcp, {{room}});
  const auto second = edge_.open_door(Transport::tcp, {{dead}, {room}});
  ASSERT_EQ(ask_over_tcp(first.at, "ahoy", kTimeoutMs).value(), "ahoy");
  ASSERT_EQ(ask_over_tcp(second.at, "hello", kTimeoutMs).value(), "hello");
  EXPECT_EQ(value_of("berth_edge_connections_total", R"(protocol="TCP")"), 2);
  EXPECT_EQ(value_of("berth_edge_connect_failures_total", R"(protocol="TCP")"), 1);
  for (const char* reason : {"target", "files", "listener", "client"})
    EXPECT_EQ(refused(Transport::tcp, reason), 0) << reason;
  const std::string lb = to_string(edge_.lb);
  for (const char* way : {"in", "out"}) {
    EXPECT_EQ(value_of(fmt::format(
                  R"(berth_edge_bytes_total{{direction="{}",lb="{}",protocol="TCP"}} )", way, lb)),
              9)
        << way;
  }
  EXPECT_TRUE(eventually(
      [&] { return value_of("berth_edge_connections_active", R"(protocol="TCP")") == 0; }));
  EXPECT_TRUE(eventually([&] { return value_of("berth_edge_open_files ") == 2; }));
  EXPECT_GT(value_of("berth_edge_open_files_limit "), 2);
}

TEST_F(EdgeMetricsTest, UdpIsCountedInDatagramsToo) {
  const auto door = edge_.open_door(Transport::udp, {{edge_.open_room()}});
  Client player = Client::udp(door.at);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(player.ask("ahoy"), "ahoy");
  const std::string lb = to_string(edge_.lb);
  for (const char* way : {"in", "out"}) {
    const auto series = [&](const char* name) {
      return fmt::format(R"({}{{direction="{}",lb="{}",protocol="UDP"}} )", name, way, lb);
    };
    EXPECT_TRUE(eventually([&] { return value_of(series("berth_edge_datagrams_total")) == 3; }));
    EXPECT_TRUE(eventually([&] { return value_of(series("berth_edge_bytes_total")) == 12; }));
  }
  EXPECT_EQ(value_of("berth_edge_connections_active", R"(protocol="UDP")"), 1);
  EXPECT_EQ(value_of("berth_edge_datagrams_dropped_total", R"(protocol="UDP")"), 0);
}

TEST_F(EdgeMetricsTest, WhatAListenerCarriedIsNotForgottenWhenItGoes) {
  double before = value_of("berth_edge_connections_total", R"(protocol="TCP")");  // not there yet
  for (int i = 1; i <= 5; ++i) {
    const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room()}});
    Client player = Client::tcp(door.at);
    ASSERT_EQ(player.ask("ahoy"), "ahoy");
    remove(door.id);
    const double now = value_of("berth_edge_connections_total", R"(protocol="TCP")");
    EXPECT_GE(now, before) << "a counter only grows";
    before = now;
    EXPECT_TRUE(eventually(
        [&] { return value_of("berth_edge_connections_total", R"(protocol="TCP")") == i; }));
  }
  EXPECT_EQ(value_of("berth_edge_connections_active", R"(protocol="TCP")"), 0);
}

TEST_F(EdgeMetricsTest, AClientThatWasTurnedAwayIsCounted) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.room_at()}});
  (void)ask_over_tcp(door.at, "ahoy", kTimeoutMs);
  EXPECT_TRUE(eventually([&] { return refused(Transport::tcp, "target") == 1; }));
}

TEST_F(EdgeMetricsTest, TheBoundIsNamed) {
  Edge small(
      {.threads = 1, .fd_budget = 24, .connections_per_listener = 4, .connections_per_client = 2});
  metrics::Registry registry;
  const EdgeMetrics metrics(registry, *small.driver);
  const auto told = [&](const char* name, const char* protocol, const char* reason) {
    return value_in(registry, fmt::format(R"({}{{lb="{}",protocol="{}",reason="{}"}} )", name,
                                          to_string(small.lb), protocol, reason));
  };
  const auto room = small.open_room("a");
  std::vector<Client> players;
  for (const Transport protocol : {Transport::tcp, Transport::udp}) {
    const auto door = small.open_door(protocol, {{room}});
    // The third of an address, then the fifth of the listener.
    for (const char* ip :
         {"127.30.0.1", "127.30.0.1", "127.30.0.1", "127.30.0.2", "127.30.0.3", "127.30.0.4"}) {
      players.push_back(Client::from(ip, protocol, door.at));
      if (protocol == Transport::udp)
        ASSERT_EQ(players.back().ask("x"), "x");
      else
        (void)players.back().read_some();
    }
  }
  for (const char* reason : {"client", "listener"}) {
    EXPECT_EQ(told("berth_edge_refused_total", "TCP", reason), 1) << reason;
    EXPECT_EQ(told("berth_edge_refused_total", "UDP", reason), 0) << reason;
    EXPECT_EQ(told("berth_edge_displaced_total", "UDP", reason), 1) << reason;
  }
  EXPECT_EQ(value_in(registry, "berth_edge_listening_files "), 2);
  EXPECT_EQ(value_in(registry, "berth_edge_listening_files_reserved "), 6);

  const auto crowded = small.open_door(Transport::tcp, {{room}});
  for (int n = 10; n < 16; ++n) {
    players.push_back(Client::from(fmt::format("127.30.0.{}", n), Transport::tcp, crowded.at));
    (void)players.back().read_some();
  }
  EXPECT_GE(told("berth_edge_refused_total", "TCP", "files"), 1);
}

}  // namespace
}  // namespace berth::edge
