#include "edge/seats.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace berth::edge {
namespace {

IpBytes ip_of(const std::string& text) { return SocketAddress::of({text, 1}).value().ip(); }

TEST(Seats, AClientHasSoManyOverAllListeners) {
  Seats seats({.per_listener = 100, .per_client = 2});
  SeatCount one{0}, two{0};
  const auto first = seats.take(one, ip_of("192.0.2.1"));
  auto second = seats.take(two, ip_of("192.0.2.1"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(seats.take(one, ip_of("192.0.2.1")).error(), Bound::client);
  EXPECT_TRUE(seats.take(one, ip_of("192.0.2.2"))) << "others do not notice";
  EXPECT_EQ(one, 1u) << "who was refused does not count, and who went neither";
  *second = Seat();
  EXPECT_EQ(two, 0u);
  EXPECT_TRUE(seats.take(one, ip_of("192.0.2.1")));
}

TEST(Seats, AListenerHasSoManyOverAllClients) {
  Seats seats({.per_listener = 2, .per_client = 100});
  SeatCount one{0}, two{0};
  std::vector<Seat> taken;
  for (const char* ip : {"192.0.2.1", "192.0.2.2"}) taken.push_back(*seats.take(one, ip_of(ip)));
  EXPECT_EQ(seats.take(one, ip_of("192.0.2.3")).error(), Bound::listener);
  EXPECT_EQ(one, 2u);
  EXPECT_TRUE(seats.take(two, ip_of("192.0.2.3")));
  taken.pop_back();
  EXPECT_TRUE(seats.take(one, ip_of("192.0.2.3")));
}

TEST(Seats, AnIPv6ClientIsItsNetwork) {
  EXPECT_EQ(client_of(ip_of("2001:db8:1:2::1")), client_of(ip_of("2001:db8:1:2:ffff::9")));
  EXPECT_NE(client_of(ip_of("2001:db8:1:2::1")), client_of(ip_of("2001:db8:1:3::1")));
  EXPECT_NE(client_of(ip_of("192.0.2.1")), client_of(ip_of("192.0.2.2")));
  EXPECT_EQ(client_of(ip_of("192.0.2.1")), client_of(ip_of("::ffff:192.0.2.1")));
}

TEST(Seats, BoundsLeaveMostForOthersAndLetACrowdIn) {
  const SeatBounds large = default_seat_bounds(100'000);
  EXPECT_EQ(large.per_listener, 25'000u);
  EXPECT_EQ(large.per_client, 12'500u);
  const SeatBounds small = default_seat_bounds(100);
  EXPECT_EQ(small.per_listener, kLeastPerListener);
  EXPECT_EQ(small.per_client, kLeastPerClient);
}

TEST(Seats, ManyThreadsLeaveNothingBehind) {
  Seats seats({.per_listener = 3, .per_client = 2});
  SeatCount listener{0};
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20'000; ++i)
          refused += seats.take(listener, ip_of(t % 2 == 0 ? "192.0.2.1" : "192.0.2.2")) ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(listener, 0u);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(seats.take(listener, ip_of("192.0.2.1")));
}

}  // namespace
}  // namespace berth::edge
