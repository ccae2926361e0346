#include "edge/echo_station.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using namespace testing;

class EchoStationTest : public ::testing::Test {
 protected:
  static model::Target fresh() { return {Edge::room_ip(), Edge::fresh_port()}; }
};

TEST_F(EchoStationTest, ManyPortsOfBothProtocolsAnswer) {
  const auto station = EchoStation::start().value();
  std::vector<std::unique_ptr<EchoStation::Place>> places;
  std::vector<model::Target> at;
  for (int i = 0; i < 50; ++i) {
    at.push_back(fresh());
    const std::string hello = std::to_string(i) + "\n";
    places.push_back(station->open({.at = at.back(), .greeting = hello}).value());
    // The same number for UDP: ports of the two protocols are apart.
    places.push_back(station->open({.protocol = model::Transport::udp, .at = at.back()}).value());
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_EQ(ask_over_tcp(at[i], "ahoy", kTimeoutMs).value(), std::to_string(i) + "\nahoy");
    EXPECT_EQ(ask_over_udp(at[i], "ahoy", kTimeoutMs).value(), "ahoy");
  }
}

TEST_F(EchoStationTest, AClosedPlaceIsFreeAtOnceAndItsPlayersAreGone) {
  const auto station = EchoStation::start().value();
  const auto at = fresh();
  auto place = station->open({.at = at}).value();
  ASSERT_TRUE(ask_over_tcp(at, "x", kTimeoutMs));
  place.reset();
  EXPECT_FALSE(ask_over_tcp(at, "x", kTimeoutMs));
  EXPECT_TRUE(station->open({.at = at})) << "the port is still taken";
  EXPECT_EQ(station->sockets(), 0u);
}

TEST_F(EchoStationTest, ItTellsWhoTalks) {
  Mutex mu;
  std::vector<std::string> peers;
  const auto station = EchoStation::start().value();
  const auto at = fresh();
  const auto heard = [&](const std::string& peer) {
    const MutexLock lock(mu);
    peers.push_back(peer);
  };
  auto tcp = station->open({.at = at, .on_talk = heard}).value();
  auto udp = station->open({.protocol = model::Transport::udp, .at = at, .on_talk = heard}).value();
  ASSERT_TRUE(ask_over_tcp(at, "x", kTimeoutMs));
  ASSERT_TRUE(ask_over_udp(at, "x", kTimeoutMs));
  tcp.reset();
  udp.reset();
  ASSERT_EQ(peers.size(), 2u);
  for (const std::string& peer : peers) EXPECT_THAT(peer, ::testing::StartsWith("127."));
}

TEST_F(EchoStationTest, SocketsAreBounded) {
  const auto station = EchoStation::start(2).value();
  const auto first = station->open({.at = fresh()}).value();
  const auto second_at = fresh();
  const auto second = station->open({.at = second_at}).value();
  const auto third = station->open({.at = fresh()});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::exhausted);
  // A connection past the bound is closed without a word.
  const auto heard = ask_over_tcp(second_at, "ahoy", kTimeoutMs);
  EXPECT_FALSE(heard && !heard->empty());
}

TEST_F(EchoStationTest, APortThatIsTakenIsSaidSo) {
  const auto station = EchoStation::start().value();
  const auto at = fresh();
  const auto place = station->open({.at = at}).value();
  const auto again = station->open({.at = at});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::conflict);
}

}  // namespace
}  // namespace berth::edge
