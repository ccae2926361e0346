#include "kube/admission/key_plan.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using crypto::Key;
using namespace std::chrono_literals;

const WallTime kStart = parse_rfc3339("2026-03-01T00:00:00Z").value();
constexpr Duration kDay = 24h;
constexpr RingRules kRules{.rotation = 90 * kDay, .overlap = 180 * kDay};

Key made(std::string id, Duration after) {
  return {.id = std::move(id), .bytes = Secret("x"), .made = kStart + after};
}

std::string plan_at(const std::vector<Key>& keys, Duration after, bool demanded = false) {
  const RingPlan plan = plan_rotation(keys, kRules, kStart + after, demanded);
  return fmt::format(
      "{}{}", plan.make ? "make" : "",
      plan.retire.empty() ? "" : fmt::format(" retire {}", fmt::join(plan.retire, ",")));
}

std::string ids(const std::vector<Key>& keys) {
  std::string out;
  for (const Key& key : keys) out += key.id;
  return out;
}

TEST(KeyPlan, TheFirstKeyIsMadeAndSealsAtOnce) {
  EXPECT_EQ(plan_at({}, 0h), "make");
  EXPECT_EQ(ring_at({made("a", 0h)}, kStart).signer(), "a");
}

TEST(KeyPlan, ASuccessorIsAnnouncedBeforeItSeals) {
  const std::vector<Key> one{made("a", 0h)};
  EXPECT_EQ(plan_at(one, 90 * kDay - 1s), "");
  EXPECT_EQ(plan_at(one, 90 * kDay), "make");
  const std::vector<Key> two{one[0], made("b", 90 * kDay)};
  EXPECT_EQ(plan_at(two, 90 * kDay), "");
  EXPECT_EQ(ring_at(two, kStart + 90 * kDay + kKeyAnnouncement - 1s).signer(), "a");
  EXPECT_EQ(ring_at(two, kStart + 90 * kDay + kKeyAnnouncement).signer(), "b");
}

TEST(KeyPlan, AKeyGoesWhenItsSuccessorHasSealedForLongEnough) {
  const std::vector<Key> keys{made("a", 0h), made("b", 90 * kDay), made("c", 180 * kDay)};
  const Duration end_of_a = 90 * kDay + kKeyAnnouncement + kRules.overlap;
  EXPECT_EQ(plan_at(keys, end_of_a - 1s), "make");
  EXPECT_EQ(plan_at(keys, end_of_a), "make retire a");
  EXPECT_EQ(plan_at(keys, 5000 * kDay), "make retire a,b") << "the last one stays, however old";
}

TEST(KeyPlan, ADemandIsMetUnlessAKeyWasJustMade) {
  const std::vector<Key> keys{made("a", 0h)};
  EXPECT_EQ(plan_at(keys, kKeyAnnouncement - 1s, true), "");
  EXPECT_EQ(plan_at(keys, kKeyAnnouncement, true), "make");
  EXPECT_EQ(plan_at(keys, kKeyAnnouncement), "");
}

TEST(KeyPlan, DemandsDoNotFillARing) {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < kMaxKeysInRing; ++i)
    keys.push_back(made(fmt::format("{}", i), kKeyAnnouncement * i));
  EXPECT_EQ(plan_at(keys, kKeyAnnouncement * (2 * kMaxKeysInRing), true), "");
}

// One replica's clock is years ahead.
TEST(KeyPlan, AKeyFromTheFutureStopsNothing) {
  const std::vector<Key> keys{made("a", 0h), made("z", 5000 * kDay)};
  EXPECT_EQ(plan_at(keys, 1h), "");
  EXPECT_EQ(ring_at(keys, kStart + kDay).signer(), "a");
  EXPECT_EQ(plan_at(keys, 90 * kDay), "make");
  EXPECT_EQ(plan_at(keys, 1000 * kDay), "make") << "it is no successor yet";
}

// One replica's clock is minutes behind that of the one which made the keys. A key of its own would
// be the oldest, and seal before anybody else has read it.
TEST(KeyPlan, AKeyOfAClockThatIsAheadIsAsGoodAsOnesOwn) {
  const std::vector<Key> keys{made("a", 10min)};
  EXPECT_EQ(plan_at(keys, 0h), "");
  EXPECT_EQ(plan_at(keys, 90 * kDay), "");
  EXPECT_EQ(plan_at(keys, 90 * kDay + 10min), "make");
}

TEST(KeyPlan, WhatTheSecretLostComesBack) {
  const Key a = made("a", 0h);
  const Key b = made("b", 90 * kDay);
  const Key c = made("c", 180 * kDay);
  EXPECT_EQ(ids(completed({a, b, c}, {})), "abc");
  EXPECT_EQ(ids(completed({}, std::vector{a, b})), "ab");
  EXPECT_EQ(ids(completed({a, b}, std::vector{a, b, c})), "abc") << "an older state was restored";
  EXPECT_EQ(ids(completed({b, c}, std::vector{a, b, c})), "bc") << "it was retired by another";
  EXPECT_EQ(ids(completed({made("n", 200 * kDay)}, std::vector{a, b})), "nab")
      << "made anew by one who knew nothing";
}

}  // namespace
}  // namespace berth::kube
