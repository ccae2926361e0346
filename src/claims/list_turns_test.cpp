#include "claims/list_turns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth::claims {
namespace {

using Turn = ListTurns::Turn;
using namespace std::chrono_literals;

const kube::ObjectKey kRooms{"games", "rooms"};

TEST(ListTurns, ManyShareOneThatBeganAfterTheyAsked) {
  ListTurns turns;
  const Instant start{1h};
  EXPECT_EQ(turns.ask(kRooms, start), Turn::mine);
  EXPECT_EQ(turns.ask(kRooms, start), Turn::wait);
  EXPECT_EQ(turns.ask({"games", "halls"}, start), Turn::mine) << "another pool waits for nobody";
  turns.done(kRooms, start + 1ms, true);
  EXPECT_EQ(turns.ask(kRooms, start), Turn::fresh);
  EXPECT_EQ(turns.ask(kRooms, start + 1ms), Turn::mine) << "asked when it had begun";
  turns.done(kRooms, start + 2ms, false);
  EXPECT_EQ(turns.ask(kRooms, start + 1ms), Turn::mine) << "it failed";
}

TEST(ListTurns, NamesThatUsersChooseDoNotFillTheMemory) {
  ListTurns turns;
  const Instant start{1h};
  EXPECT_EQ(turns.ask(kRooms, start), Turn::mine);
  for (int i = 0; i < 10'000; ++i) {
    const kube::ObjectKey pool{"games", fmt::format("no-such-pool-{}", i)};
    ASSERT_EQ(turns.ask(pool, start), Turn::mine);
    turns.done(pool, start + 1ms, true);
    ASSERT_LE(turns.size(), kMaxRememberedLists + 1);
  }
  EXPECT_EQ(turns.ask(kRooms, start), Turn::wait) << "one under way is not forgotten";
}

}  // namespace
}  // namespace berth::claims
