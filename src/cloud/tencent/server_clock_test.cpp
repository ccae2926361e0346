#include "cloud/tencent/server_clock.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

TEST(HttpDate, IsRead) {
  const auto at = parse_http_date("Wed, 18 Nov 2026 02:20:33 GMT");
  ASSERT_TRUE(at);
  EXPECT_EQ(format_rfc3339(*at), "2026-11-18T02:20:33Z");
  for (const char* wrong : {"", "2026-11-18T02:20:33Z", "Wed, 18 Nix 2026 02:20:33 GMT",
                            "Wed, 18 Nov 2026 02:20:33 CET", "Wed, 99 Nov 2026 02:20:33 GMT"}) {
    EXPECT_FALSE(parse_http_date(wrong)) << wrong;
  }
}

TEST(ServerClock, IsCorrectedOnceForOneDifference) {
  ServerClock clock;
  const WallTime ours = *parse_http_date("Wed, 18 Nov 2026 02:00:00 GMT");
  EXPECT_EQ(clock.ahead(), 0s);
  EXPECT_TRUE(clock.correct("Wed, 18 Nov 2026 02:20:33 GMT", ours, 0s));
  EXPECT_EQ(clock.ahead(), 20min + 33s);
  EXPECT_FALSE(clock.correct("Wed, 18 Nov 2026 02:20:34 GMT", ours, clock.ahead()))
      << "it knows that already";
  EXPECT_FALSE(clock.correct("", ours, clock.ahead()));
  EXPECT_TRUE(clock.correct("Wed, 18 Nov 2026 01:00:00 GMT", ours, clock.ahead()));
  EXPECT_EQ(clock.ahead(), -1h);
}

TEST(ServerClock, WhatWasSignedBeforeItWasCorrectedIsSignedAgain) {
  ServerClock clock;
  const WallTime ours = *parse_http_date("Wed, 18 Nov 2026 02:00:00 GMT");
  EXPECT_TRUE(clock.correct("Wed, 18 Nov 2026 02:20:33 GMT", ours, 0s));
  EXPECT_TRUE(clock.correct("Wed, 18 Nov 2026 02:20:33 GMT", ours, 0s)) << "by another call";
  EXPECT_TRUE(clock.correct("", ours, 0s));
}

}  // namespace
}  // namespace berth::cloud::tencent
