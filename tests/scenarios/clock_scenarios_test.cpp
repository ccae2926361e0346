// Replicas whose wall clocks differ, as machines have them whose clocks nobody sets. How long
// something has waited is judged by what a replica saw itself; what another one wrote down is that
// one's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "claims/slot.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using wire::Value;
using namespace std::chrono_literals;

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

// Of the replica that leads first, and of the one that leads when a test changes the leader.
struct Clocks {
  Duration first{};
  Duration second{};
};

class ClockTest : public ::testing::TestWithParam<Clocks> {
 protected:
  ClockTest() : house_(1, options()) {}
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    settle();
  }
  static world::WorldOptions options() {
    world::WorldOptions out{.replicas = 2};
    out.clocks_ahead = {GetParam().first, GetParam().second};
    out.config.quarantine = 2min;
    out.restart_delay = 1min;  // one that is gone does not lead again before another does
    return out;
  }

  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  void run_for(Duration span) {
    const Instant end = house_.world().kernel().now() + span;
    const Result<> ran = house_.run_until([&] { return house_.world().kernel().now() >= end; });
    ASSERT_TRUE(ran) << ran.error().to_string();
  }
  std::string leader() {
    const auto leases = house_.cluster().list(kLeases);
    return leases && !leases->empty()
               ? std::string(wire::string_at(leases->front(), "/spec/holderIdentity"))
               : "";
  }
  // Somebody takes the lease away: its holder ends, and the other one takes over.
  void change_leader() {
    const std::string former = leader();
    ASSERT_TRUE(
        house_.cluster().ask("PATCH", kLeases + "/berth",
                             wire::Object{{"spec", wire::Object{{"holderIdentity", "somebody"}}}}));
    const Instant patience = house_.world().kernel().now() + 50s;
    const Result<> ran = house_.run_until([&] {
      const bool waits = house_.world().leaders() == 0 || leader() == "somebody";
      return !waits || house_.world().kernel().now() > patience;
    });
    ASSERT_TRUE(ran) << ran.error().to_string();
    ASSERT_EQ(leader(), former == "berth-0" ? "berth-1" : "berth-2");
  }
  // The texts of all claims.
  std::set<std::string> claims() {
    std::set<std::string> out;
    const auto listeners = house_.cluster().list(kListeners);
    const std::string path =
        "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);
    for (const Value& listener : listeners ? *listeners : std::vector<Value>{})
      if (const std::string_view text = wire::string_at(listener, path); !text.empty())
        out.emplace(text);
    return out;
  }
  void wait_for_state(std::string_view state) {
    const std::string text = fmt::format(R"("state":"{}")", state);
    const Result<> ran = house_.run_until([&, looked = Instant{}]() mutable {
      if (house_.world().kernel().now() - looked < 100ms) return false;
      looked = house_.world().kernel().now();
      return std::ranges::any_of(
          claims(), [&](const auto& claim) { return claim.find(text) != std::string::npos; });
    });
    ASSERT_TRUE(ran) << ran.error().to_string();
  }
  void fill_rooms(const RoomKind& first) {
    ASSERT_TRUE(user_.create("room-0", first, 10)) << user_.last_refusal();
    for (std::size_t i = 1; i < kRoomPorts; ++i)
      ASSERT_TRUE(user_.create(fmt::format("room-{}", i), kind_of(0), 10)) << user_.last_refusal();
    settle();
  }

  PoolHouse house_;
  User user_{house_.world()};
};

// The server may still be about to create their Pods.
TEST_P(ClockTest, ClaimsInFlightAreFreedAfterTheirTimeAndNotBefore) {
  house_.quota().refuses = 1;
  EXPECT_FALSE(user_.create("room-0", kind_of(0), 1));
  const std::set<std::string> first = claims();
  ASSERT_THAT(first, SizeIs(1));
  run_for(40s);
  for (std::size_t i = 1; i < kRoomPorts; ++i)
    EXPECT_FALSE(user_.create(fmt::format("room-{}", i), kind_of(0), 1));
  std::set<std::string> made = claims();
  ASSERT_THAT(made, SizeIs(kRoomPorts));
  // When the first one's time is over, all of them are looked at.
  made.erase(*first.begin());
  run_for(40s);
  EXPECT_EQ(claims(), made);
  run_for(1min);
  EXPECT_THAT(claims(), IsEmpty());
}

// A large workload has many of them at one moment.
TEST_P(ClockTest, ClaimsInFlightAreNotUsedAgain) {
  ASSERT_TRUE(user_.create_pool(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: arena, namespace: games}
spec:
  poolItems:
    - {itemName: item1, loadBalancerIDs: ["edge:arena"], protocol: TCP, startPort: 35000, endPort: 35040}
)"));
  settle();
  house_.quota().refuses = 1;
  constexpr std::size_t kPods = 16;
  for (std::size_t i = 0; i < kPods; ++i)
    EXPECT_EQ(user_.spawn("crowd", {.request = "arena TCP 8000"}, 1), "");
  EXPECT_THAT(claims(), SizeIs(kPods));
  // Then the oldest are, before more of the pool is.
  run_for(40s);
  EXPECT_EQ(user_.spawn("crowd", {.request = "arena TCP 8000"}, 1), "");
  EXPECT_THAT(claims(), SizeIs(kPods));
}

// The book of the house says so if somebody has it sooner.
TEST_P(ClockTest, AnotherLeaderDoesNotCutAQuarantineShort) {
  fill_rooms(kind_of(0));
  user_.remove("room-0");
  wait_for_state("Quarantined");
  change_leader();
  EXPECT_FALSE(user_.create("next", kind_of(0), 60)) << "players are still on their way";
  EXPECT_TRUE(user_.create("next", kind_of(0), 120)) << user_.last_refusal();
  settle();
}

TEST_P(ClockTest, AnotherLeaderKeepsAName) {
  const RoomKind kept{.request = "rooms TCP 8000", .keep = "5m"};
  fill_rooms(kept);
  user_.remove("room-0");
  wait_for_state("Kept");
  change_leader();
  EXPECT_FALSE(user_.create("thief", kind_of(0), 60));
  ASSERT_TRUE(user_.create("room-0", kept, 1)) << user_.last_refusal();
  settle();
  // And not for ever.
  user_.remove("room-0");
  wait_for_state("Kept");
  change_leader();
  run_for(6min);
  EXPECT_TRUE(user_.create("next", kind_of(0), 60)) << user_.last_refusal();
  settle();
}

// Its claim is on its way to the leader's cache, and the Pod looks older than it is.
TEST_P(ClockTest, NoPodIsToldThatItLostItsPort) {
  house_.cluster().link().max_watch_delay = 4s;
  for (std::size_t kind = 0; kind < kRoomKinds; ++kind)
    ASSERT_TRUE(user_.create(fmt::format("room-{}", kind), kind_of(kind), 10))
        << user_.last_refusal();
  settle();
  const auto events = house_.cluster().list("/api/v1/namespaces/games/events");
  ASSERT_TRUE(events);
  for (const Value& event : *events)
    EXPECT_NE(wire::string_at(event, "/reason"), "ClaimLost") << wire::to_json(event);
}

std::string name_of_case(const ::testing::TestParamInfo<Clocks>& info) {
  const auto shown = [](Duration ahead) {
    return ahead == 0min ? "Right" : ahead > 0min ? "Ahead" : "Behind";
  };
  return fmt::format("{}Then{}", shown(info.param.first), shown(info.param.second));
}

INSTANTIATE_TEST_SUITE_P(Clocks, ClockTest,
                         ::testing::Values(Clocks{}, Clocks{5min, 0min}, Clocks{-5min, 0min},
                                           Clocks{0min, 5min}, Clocks{0min, -5min},
                                           Clocks{5min, -5min}),
                         name_of_case);

}  // namespace
}  // namespace berth::scenario
