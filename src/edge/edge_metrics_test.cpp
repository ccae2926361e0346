#include "edge/edge_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Protocol;
using namespace testing;

class EdgeMetricsTest : public ::testing::Test {
 protected:
  // -1: there is no such series.
  double value_of(const std::string& name, const std::string& protocol) {
    return value_of(fmt::format("{}{{lb=\"{}\",{}}} ", name, to_string(edge_.lb), protocol));
  }
  double value_of(const std::string& series) {
    const std::string text = "\n" + registry_.text();
    const std::size_t at = text.find("\n" + series);
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 1 + series.size());
  }
  void remove(const std::string& id) {
    ASSERT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&id, 1}).front());
  }

  Edge edge_{{.threads = 2}};
  metrics::Registry registry_;
  const EdgeMetrics metrics_{registry_, *edge_.driver};
};

TEST_F(EdgeMetricsTest, TcpIsCountedForAllPortsOfALoadBalancer) {
  const auto dead = edge_.room_at(), room = edge_.open_room();  // in the order of their turns
  const auto first = edge_.open_door(Protocol::tcp, {{room}});
  const auto second = edge_.open_door(Protocol::tcp, {{dead}, {room}});
  ASSERT_EQ(ask_over_tcp(first.at, "ahoy", kTimeoutMs).value(), "ahoy");
  ASSERT_EQ(ask_over_tcp(second.at, "hello", kTimeoutMs).value(), "hello");
  EXPECT_EQ(value_of("berth_edge_connections_total", R"(protocol="TCP")"), 2);
  EXPECT_EQ(value_of("berth_edge_connect_failures_total", R"(protocol="TCP")"), 1);
  EXPECT_EQ(value_of("berth_edge_refused_total", R"(protocol="TCP")"), 0);
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
  const auto door = edge_.open_door(Protocol::udp, {{edge_.open_room()}});
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
    const auto door = edge_.open_door(Protocol::tcp, {{edge_.open_room()}});
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
  const auto door = edge_.open_door(Protocol::tcp, {{edge_.room_at()}});
  (void)ask_over_tcp(door.at, "ahoy", kTimeoutMs);
  EXPECT_TRUE(
      eventually([&] { return value_of("berth_edge_refused_total", R"(protocol="TCP")") == 1; }));
}

}  // namespace
}  // namespace berth::edge
