#include "ledger/host_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <set>

namespace berth::ledger {
namespace {

using model::Port;
using namespace std::chrono_literals;

constexpr Instant kStart{};

TEST(HostPortUse, ThePortsOfOneChoiceAreDifferent) {
  Random random(1);
  HostPortUse use({100, 109});
  const auto all = use.choose(10, random).value();
  EXPECT_EQ(std::set<Port>(all.begin(), all.end()).size(), 10u);
  for (const Port port : all) EXPECT_TRUE(use.range().contains(port));
}

TEST(HostPortUse, OnlyAskingForMoreThanThereAreIsExhausted) {
  Random random(1);
  HostPortUse use({100, 101});
  for (int i = 0; i < 50; ++i) use.add_pod("games", {100, 101});
  EXPECT_TRUE(use.choose(2, random));
  const auto refused = use.choose(3, random);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::exhausted);
  EXPECT_EQ(refused.error().message, "asks for 3 host ports, the range 100-101 has 2");
}

TEST(HostPortUse, TheLeastUsedComeFirst) {
  Random random(1);
  HostPortUse use({100, 103});
  use.add_pod("games", {100, 101});
  use.add_pod("games", {100});
  use.add_pod("games", {102, 9});  // 9 is nobody's business here
  EXPECT_EQ(use.choose(1, random).value(), std::vector<Port>{103});
  const auto three = use.choose(3, random).value();
  EXPECT_THAT(three, testing::UnorderedElementsAre(101, 102, 103));
  use.remove_pod({100});
  use.remove_pod({100, 101});
  EXPECT_EQ(use.use_of(100), 0u);
  EXPECT_THAT(use.choose(3, random).value(), testing::UnorderedElementsAre(100, 101, 103));
}

TEST(HostPortUse, PortsThatThePodHasAreNotGivenToItAgain) {
  Random random(1);
  HostPortUse use({100, 103});
  use.add_pod("games", {102});
  EXPECT_THAT(use.choose(2, random, {101, 7, 101}).value(),
              testing::UnorderedElementsAre(100, 103));
  EXPECT_THAT(use.choose(1, random, {100, 101, 103}).value(), testing::ElementsAre(102));
  EXPECT_EQ(use.choose(3, random, {101, 100}).error().message,
            "asks for 3 host ports, the range 100-103 has 4 and the Pod has 2 of them");
}

TEST(HostPortUse, ReplicasThatKnowTheSameChooseDifferently) {
  Random one(1);
  Random other(2);
  HostPortUse mine({20000, 29999});
  HostPortUse theirs({20000, 29999});
  EXPECT_NE(mine.choose(3, one).value(), theirs.choose(3, other).value());
}

TEST(HostPortUse, AnAnswerCountsUntilItsPodIsSeen) {
  HostPortUse use({100, 109});
  use.reserve("games", {105, 101}, kStart);
  EXPECT_EQ(use.use_of(101), 1u);
  EXPECT_TRUE(use.is_reserved("games", {101, 105}, kStart + 1s));
  EXPECT_FALSE(use.is_reserved("games", {101}, kStart + 1s));
  EXPECT_FALSE(use.is_reserved("other", {101, 105}, kStart + 1s));
  use.add_pod("games", {101, 105});
  EXPECT_EQ(use.use_of(101), 1u);
  EXPECT_FALSE(use.is_reserved("games", {101, 105}, kStart + 1s));
  use.expire(kStart + kHostPortReservation);
  EXPECT_EQ(use.use_of(101), 1u);
  use.remove_pod({101, 105});
  EXPECT_EQ(use.use_of(101), 0u);
}

TEST(HostPortUse, AnAnswerWhosePodNeverCameLeavesNothing) {
  HostPortUse use({100, 109});
  use.reserve("games", {101}, kStart);
  use.reserve("games", {101}, kStart + 1s);
  EXPECT_EQ(use.use_of(101), 2u);
  use.expire(kStart + kHostPortReservation);
  EXPECT_EQ(use.use_of(101), 1u);
  use.expire(kStart + kHostPortReservation + 1s);
  EXPECT_EQ(use.use_of(101), 0u);
}

// Any history of Pods and answers: the counts are those of a simple book.
TEST(HostPortUse, CountsAreRightAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    HostPortUse use({100, 107});
    std::map<Port, std::uint32_t> book;
    std::vector<std::vector<Port>> pods;
    for (int step = 0; step < 100; ++step) {
      const auto chosen = use.choose(1 + random.below(3), random).value();
      for (const Port port : chosen) {
        for (Port other = 100; other <= 107; ++other) {
          const bool taken = std::ranges::find(chosen, other) != chosen.end();
          EXPECT_TRUE(taken || use.use_of(port) <= use.use_of(other)) << "seed " << seed;
        }
      }
      if (random.chance(0.6) || pods.empty()) {
        if (random.chance(0.5)) use.reserve("games", chosen, kStart);
        use.add_pod("games", chosen);
        for (const Port port : chosen) ++book[port];
        pods.push_back(chosen);
      } else {
        const std::size_t gone = random.below(pods.size());
        use.remove_pod(pods[gone]);
        for (const Port port : pods[gone]) --book[port];
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      for (Port port = 100; port <= 107; ++port)
        ASSERT_EQ(use.use_of(port), book[port]) << "seed " << seed << ", step " << step;
    }
  }
}

// It runs inside every creation of such a Pod. A choice that looked at all ports would take tens
// of microseconds; the limit leaves room for sanitizers. Processor time: a busy machine takes none
// of it.
TEST(HostPortUse, AChoiceAmongTenThousandPortsTakesMicroseconds) {
  constexpr int kChoices = 20'000;
  Random random(1);
  HostPortUse use({20000, 29999});
  const auto cpu_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double begin = cpu_seconds();
  for (int i = 0; i < kChoices; ++i) use.add_pod("games", use.choose(3, random).value());
  EXPECT_LT((cpu_seconds() - begin) / kChoices, 50e-6);
  EXPECT_EQ(use.use_of(20000), 6u);
}

}  // namespace
}  // namespace berth::ledger
