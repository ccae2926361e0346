#include "edge/health_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

const model::HealthCheck kQuick{
    .timeout_seconds = 2, .interval_seconds = 1, .healthy_count = 2, .unhealthy_count = 2};

class HealthCheckerTest : public ::testing::Test {
 protected:
  HealthCheckerTest() : edge_({.threads = 1, .second = std::chrono::milliseconds{50}}) {}
  bool is_healthy(const Edge::Door& door, const model::Target& target) {
    for (const TargetSnapshot& one : edge_.seen(door.id).targets)
      if (one.target.target == target) return one.healthy;
    ADD_FAILURE() << "no target " << model::to_string(target);
    return false;
  }

  Edge edge_;
};

TEST_F(HealthCheckerTest, ATargetThatDoesNotAnswerGetsNothingUntilItDoes) {
  const auto alive = edge_.open_room("a"), dead = edge_.room_at();
  const auto door = edge_.open_door(Transport::tcp, {{alive}, {dead}}, {.health_check = kQuick});
  ASSERT_TRUE(eventually([&] { return !is_healthy(door, dead); }));
  EXPECT_TRUE(is_healthy(door, alive));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask_over_tcp(door.at, "", kTimeoutMs).value(), "a");
  edge_.open_room_at(dead, "b");
  ASSERT_TRUE(eventually([&] { return is_healthy(door, dead); }));
  EXPECT_TRUE(eventually([&] { return ask_over_tcp(door.at, "", kTimeoutMs).value() == "b"; }));
}

TEST_F(HealthCheckerTest, WhenNobodyAnswersTrafficStillGoesToAll) {
  const auto room = edge_.open_room("a"), checked = edge_.room_at();
  auto check = kQuick;
  check.port = checked.port;  // nobody listens there
  const auto door = edge_.open_door(Transport::tcp, {{room}}, {.health_check = check});
  ASSERT_TRUE(eventually([&] { return !is_healthy(door, room); }));
  EXPECT_EQ(ask_over_tcp(door.at, "", kTimeoutMs).value(), "a");
}

TEST_F(HealthCheckerTest, NothingIsCheckedUnlessAsked) {
  const auto alive = edge_.open_room("a"), dead = edge_.room_at();
  auto off = kQuick;
  off.enabled = false;
  const auto door = edge_.open_door(Transport::tcp, {{alive}, {dead}}, {.health_check = kQuick});
  const auto unchecked = edge_.open_door(Transport::tcp, {{alive}, {dead}});
  const auto disabled = edge_.open_door(Transport::tcp, {{alive}, {dead}}, {.health_check = off});
  ASSERT_TRUE(eventually([&] { return !is_healthy(door, dead); }));
  EXPECT_TRUE(is_healthy(unchecked, dead));
  EXPECT_TRUE(is_healthy(disabled, dead));
}

TEST_F(HealthCheckerTest, AttributesTurnChecksOnAndOff) {
  const auto alive = edge_.open_room("a"), dead = edge_.room_at();
  const auto door = edge_.open_door(Transport::tcp, {{alive}, {dead}});
  ASSERT_TRUE(edge_.set_attributes(door.id, {.health_check = kQuick}));
  ASSERT_TRUE(eventually([&] { return !is_healthy(door, dead); }));
  ASSERT_TRUE(edge_.set_attributes(door.id, {}));
  EXPECT_TRUE(eventually([&] { return is_healthy(door, dead); }));
}

TEST_F(HealthCheckerTest, AUdpPortThatIsClosedIsUnhealthyAndASilentOneIsNot) {
  const auto echo = edge_.open_room(), dead = edge_.room_at(), silent = edge_.room_at();
  const Fd mute = bind_udp(silent).value();
  const auto door =
      edge_.open_door(Transport::udp, {{echo}, {dead}, {silent}}, {.health_check = kQuick});
  ASSERT_TRUE(eventually([&] { return !is_healthy(door, dead); }));
  EXPECT_TRUE(is_healthy(door, echo));
  EXPECT_TRUE(is_healthy(door, silent));
}

TEST_F(HealthCheckerTest, TargetsThatTakeLongDoNotKeepOthersFromBeingAsked) {
  constexpr std::size_t kAtOnce = 2;
  FdBudget budget(100);
  const auto checker = HealthChecker::start(budget, std::chrono::milliseconds{20}, kAtOnce).value();
  const auto listener = std::make_shared<Listener>(Listener::Options{});
  std::vector<std::unique_ptr<SilentRoom>> silent;
  std::vector<model::WeightedTarget> targets;
  for (std::size_t i = 0; i < 2 * kAtOnce; ++i) {
    silent.push_back(std::make_unique<SilentRoom>(edge_.room_at()));
    targets.push_back({silent.back()->at()});
  }
  targets.push_back({edge_.room_at()});  // the last in the order of addresses
  ASSERT_TRUE(listener->set_targets(targets));
  checker->set(listener, kQuick);
  EXPECT_TRUE(eventually([&] {
    return std::ranges::all_of(listener->backends(),
                               [](const BackendPtr& backend) { return !backend->healthy; });
  })) << "somebody was never asked";
}

TEST_F(HealthCheckerTest, ThatWeHaveNoFileDescriptorIsNoFaultOfATarget) {
  const auto alive = edge_.open_room("a");
  const auto door = edge_.open_door(Transport::tcp, {{alive}}, {.health_check = kQuick});
  const NoFiles none;
  for (int i = 0; i < 20; ++i) {  // as many intervals, ten times what it takes
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    ASSERT_TRUE(is_healthy(door, alive));
  }
}

TEST_F(HealthCheckerTest, TargetsMayComeAndGoWhileTheyAreChecked) {
  const auto door = edge_.open_door(Transport::tcp, {}, {.health_check = kQuick});
  std::vector<model::Target> rooms;
  for (int i = 0; i < 10; ++i) rooms.push_back(i % 2 == 0 ? edge_.open_room() : edge_.room_at());
  for (int round = 0; round < 50; ++round) {
    for (const model::Target& room : rooms) ASSERT_TRUE(edge_.change(door.id, {{room}}));
    for (const model::Target& room : rooms) ASSERT_TRUE(edge_.change(door.id, {}, {room}));
  }
  ASSERT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&door.id, 1}).front());
  EXPECT_TRUE(eventually([&] { return edge_.driver->snapshot().fds_used == 0; }))
      << "a question was left open";
}

}  // namespace
}  // namespace berth::edge
