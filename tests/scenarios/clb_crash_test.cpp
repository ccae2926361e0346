// Port pools on Tencent's load balancers: every call of the cloud is where a process dies, and
// random lives in which the cloud stumbles. Defects are planted, which the same lives must find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clb_trouble.h"
#include "lb/test_forwarding_listeners.h"
#include "meddling.h"

namespace berth::scenario {
namespace {

using namespace std::chrono_literals;

TEST(ClbCrash, AtEveryCallOfTheCloud) {
  std::vector<std::string> missed;
  const auto swept = crash_everywhere("calls of the cloud", [&](const sim::CrashPlan& plan) {
    return clb_story(plan, {}, &missed);
  });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 30u);
  EXPECT_THAT(missed, ::testing::IsEmpty());
}

TEST(ClbTrouble, PromisesAreKept) {
  ClbTroubleCount count;
  const auto swept =
      sim::sweep(sweep_for("pools on CLB in trouble", 20s, 60),
                 [&](std::uint64_t seed) { return live_in_clb_trouble(seed, {}, &count); });
  ASSERT_TRUE(swept) << swept.error().message;
  fmt::print(
      "pools on CLB in trouble: {} faults that befell calls, {} edits, {} Pods were told Ready\n",
      count.faults, count.edits, count.ready);
  EXPECT_GE(count.ready, swept->seeds);
  EXPECT_GE(count.faults, swept->seeds);
}

// Removes what it finds beside what it is asked to.
TEST(ClbPlanted, AStrangersListenerThatIsTouchedIsFound) {
  const Plant greedy =
      meddle_with_driver({.also_removes = [](std::span<const lb::ObservedListener> all,
                                             std::span<const model::ListenerId>) {
        std::vector<model::ListenerId> out;
        for (const lb::ObservedListener& one : all)
          if (one.spec.name == "somebody-else") out.push_back(one.id);
        return out;
      }});
  const auto ran = clb_story(sim::NoCrash{}, greedy);
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("stranger"), std::string::npos) << ran.error().message;
}

// Says that it removed what it did not.
class Forgetful final : public lb::ForwardingListeners {
 public:
  using ForwardingListeners::ForwardingListeners;
  std::vector<Result<>> remove(const Context&, const lb::Place&,
                               std::span<const model::ListenerId> ids) override {
    return std::vector<Result<>>(ids.size());
  }
};

TEST(ClbPlanted, AListenerThatIsLeftInTheCloudIsFound) {
  const Plant forgetful = [](world::WorldOptions& options) {
    options.around_listeners = [](lb::Listeners& inner) {
      return std::make_unique<Forgetful>(inner);
    };
  };
  EXPECT_FALSE(clb_story(sim::NoCrash{}, forgetful));
}

// A port goes on leading to the Pod that had it.
TEST(ClbPlanted, ATargetThatStaysIsFound) {
  const Plant keeps =
      meddle_with_driver({.changes = [](const model::LoadBalancerRef&, lb::TargetChange& change) {
        change.remove.clear();
      }});
  EXPECT_FALSE(clb_story(sim::NoCrash{}, keeps));
}

}  // namespace
}  // namespace berth::scenario
