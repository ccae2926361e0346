#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

TEST(Drain, NobodyNewComesInAndThoseWhoAreThereMayFinish) {
  Edge edge;
  const auto door = edge.open_door(Transport::tcp, {{edge.open_room()}});
  Client player = Client::tcp(door.at);
  ASSERT_EQ(player.ask("ahoy"), "ahoy");

  const Context bounded = edge.context.within(std::chrono::milliseconds{1});
  EXPECT_EQ(edge.driver->drain(bounded), 1u) << "it does not wait for ever";
  EXPECT_FALSE(Client::tcp(door.at).connected());
  EXPECT_EQ(player.ask("still here"), "still here");
  player.reset();
  EXPECT_EQ(edge.driver->drain(edge.context), 0u) << "it waits for the last one";
}

TEST(Drain, PortsOfUdpAreFreeForAnother) {
  Edge edge;
  const auto door = edge.open_door(Transport::udp, {{edge.open_room()}});
  ASSERT_EQ(Client::udp(door.at).ask("ahoy"), "ahoy");
  EXPECT_EQ(edge.driver->drain(edge.context), 0u);
  EXPECT_TRUE(bind_udp(door.at));
}

}  // namespace
}  // namespace berth::edge
