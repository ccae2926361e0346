#include "claims/sightings.h"

#include <gtest/gtest.h>

#include "claims/test_support.h"
#include "sim/kernel/kernel.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;
using testing::kNow;

class SightingsTest : public ::testing::Test {
 protected:
  SightingsTest() { add_indexes(store_, {}); }

  api::Listener have(const std::string& claim) {
    api::Listener lock = testing::with_claim(testing::lock_at({}), claim);
    lock.meta.resource_version = ++version_;
    store_.put(lock);
    return lock;
  }
  static std::string claimed(std::string token, Duration ago = 0s) {
    return ledger::encode({.token = std::move(token), .ns = "games", .since = kNow - ago});
  }

  void pass_time(Duration span) { (void)sleep_for(kernel_.world(), span, {}); }

  sim::Kernel kernel_{1};
  ListenerStore store_;
  Sightings sightings_{kernel_.world(), store_};
  kube::ResourceVersion version_ = 0;
};

TEST_F(SightingsTest, AClaimIsAsOldAsItsSighting) {
  const api::Listener lock = have(claimed("t", 24h));
  EXPECT_EQ(sightings_.age(lock), 0s) << "whatever it says of itself";
  pass_time(40s);
  EXPECT_EQ(sightings_.age(lock), 40s);
  // Something else of it changes.
  EXPECT_EQ(sightings_.age(have(claimed("t", 24h))), 40s);
}

TEST_F(SightingsTest, AnotherClaimIsAYoungOne) {
  const api::Listener before = have(claimed("t"));
  pass_time(40s);
  const api::Listener after = have(claimed("u"));
  pass_time(5s);
  EXPECT_EQ(sightings_.age(after), 5s);
  EXPECT_EQ(sightings_.age(before), 0s) << "nobody has it any more";
}

TEST_F(SightingsTest, WhatWaitsForNothingHasNoAge) {
  const ledger::Claim claim{.token = "t", .ns = "games", .since = kNow};
  const api::Listener bound =
      have(ledger::encode(ledger::bound_to(claim, "room-0", "uid-1", kNow)));
  const api::Listener free = have("");
  pass_time(40s);
  EXPECT_EQ(sightings_.age(bound), 0s);
  EXPECT_EQ(sightings_.age(free), 0s);
}

TEST_F(SightingsTest, TheSameClaimThatComesBackIsYoungAgain) {
  have(claimed("t"));
  pass_time(40s);
  have("");
  const api::Listener again = have(claimed("t"));
  EXPECT_EQ(sightings_.age(again), 0s);
}

}  // namespace
}  // namespace berth::claims
