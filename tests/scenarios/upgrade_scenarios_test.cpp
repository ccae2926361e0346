// Rooms that were made by the version before us, which knew no seals, and rooms whose keys were
// lost: the next leader seals them once, and none of them notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "claims/pod_seal.h"
#include "claims/seal.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";
const std::string kKeys = "/api/v1/namespaces/default/secrets/berth-keys";

std::string annotation(const Value& object, std::string_view key) {
  return std::string(
      wire::string_at(object, "/metadata/annotations/" + wire::escape_pointer_step(key)));
}

class UpgradeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    User user(house_.world());
    for (std::size_t kind = 0; kind < kRoomKinds; ++kind)
      ASSERT_TRUE(user.create(fmt::format("room-{}", kind), kind_of(kind))) << user.last_refusal();
    settle();
    told_ = told();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  std::vector<Value> all(const std::string& path) {
    return house_.cluster().list(path).value_or(std::vector<Value>{});
  }
  void take_off(const std::string& path, std::initializer_list<std::string_view> keys) {
    Object annotations;
    for (const std::string_view key : keys) annotations[key] = nullptr;
    for (const Value& object : all(path)) {
      const std::string name(wire::string_at(object, "/metadata/name"));
      ASSERT_TRUE(house_.cluster().ask("PATCH", path + "/" + name,
                                       Object{{"metadata", Object{{"annotations", annotations}}}}));
    }
  }
  // The leader dies, and what it kept its keys in is gone.
  void lose_keys() {
    house_.world().crash_all();
    ASSERT_TRUE(house_.cluster().ask("DELETE", kKeys));
  }
  std::map<std::string, std::string> told() {
    std::map<std::string, std::string> out;
    for (const Value& pod : all(kPods))
      out[std::string(wire::string_at(pod, "/metadata/name"))] =
          annotation(pod, api::kPoolBindingsAnnotation);
    return out;
  }
  // No room is ever not Ready, and none moves.
  void expect_nobody_notices() {
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE(house_.cluster().run_for(milliseconds{50}));
      for (const Value& pod : all(kPods))
        ASSERT_EQ(annotation(pod, api::kBindStatusAnnotation), "Ready")
            << wire::string_at(pod, "/metadata/name");
    }
    settle();
    EXPECT_EQ(told(), told_);
  }
  void expect_all_sealed() {
    for (const Value& listener : all(kListeners)) {
      EXPECT_NE(annotation(listener, claims::kSealAnnotation), "") << wire::to_json(listener);
      EXPECT_NE(annotation(listener, claims::kBalancerAnnotation), "");
    }
    for (const Value& pod : all(kPods))
      EXPECT_NE(annotation(pod, claims::kPortsSealAnnotation), "") << wire::to_json(pod);
  }
  // As after a restart of a load balancer that lives in the controller's process.
  void empty_load_balancers() {
    house_.book().bear_unreached(true);
    sim::lb::ModelProvider& provider = house_.world().provider();
    for (const model::LoadBalancerRef& lb : provider.load_balancers())
      for (const auto& listener : provider.listeners(lb)) provider.remove_listener(lb, listener.id);
  }
  // Listeners that lead somewhere.
  std::set<std::string> served() {
    std::set<std::string> out;
    sim::lb::ModelProvider& provider = house_.world().provider();
    for (const model::LoadBalancerRef& lb : provider.load_balancers())
      for (const auto& listener : provider.listeners(lb))
        if (!model::targets_of(listener.spec).empty())
          out.insert(model::to_string(lb) + " " + listener.spec.name);
    return out;
  }
  // Long before the audit that comes by itself.
  void expect_served_soon(const std::set<std::string>& rooms) {
    ASSERT_TRUE(house_.cluster().run_for(seconds{30}));
    EXPECT_EQ(served(), rooms);
    house_.book().bear_unreached(false);
    settle();
    EXPECT_EQ(told(), told_);
  }

  std::vector<std::string> versions() {
    std::vector<std::string> out;
    for (const std::string& path : {kListeners, kPods, kPools})
      for (const Value& object : all(path))
        out.emplace_back(wire::string_at(object, "/metadata/resourceVersion"));
    return out;
  }

  // A load balancer that lives in the controller's process begins with nothing.
  static world::WorldOptions forgetful() {
    world::WorldOptions options;
    options.provider.limits.keeps_listeners = false;
    return options;
  }

  PoolHouse house_{1, forgetful()};
  std::map<std::string, std::string> told_;
};

TEST_F(UpgradeTest, RoomsOfTheVersionBeforeAreSealedOnceAndLoseNothing) {
  house_.book().look_away(true);
  lose_keys();
  take_off(kListeners, {claims::kSealAnnotation, claims::kBalancerAnnotation});
  take_off(kPods, {claims::kPortsSealAnnotation});
  house_.book().look_away(false);
  expect_nobody_notices();
  expect_all_sealed();

  const std::vector<std::string> before = versions();
  house_.world().crash_all();
  expect_nobody_notices();
  EXPECT_EQ(versions(), before) << "the next restart writes nothing";
  const Result<> closed = house_.close();
  EXPECT_TRUE(closed) << closed.error().to_string();
}

TEST_F(UpgradeTest, KeysThatAreLostCostNoRoomItsPort) {
  const std::string seal = annotation(all(kListeners).front(), claims::kSealAnnotation);
  lose_keys();
  expect_nobody_notices();
  expect_all_sealed();
  EXPECT_NE(annotation(all(kListeners).front(), claims::kSealAnnotation), seal);
}

// Both at once, and the object that says who owns which port as well.
TEST_F(UpgradeTest, KeysAndGrantsThatAreLostCostNoRoomItsPort) {
  house_.book().look_away(true);
  lose_keys();
  ASSERT_TRUE(house_.cluster().ask("DELETE", "/apis/berth.dev/v1/loadbalancers"));
  house_.book().look_away(false);
  expect_nobody_notices();
  expect_all_sealed();
}

// Their pool seals them again, and players are let in at that moment: nobody waits for an audit. So
// it is with what the version before made while our keys were there already.
TEST_F(UpgradeTest, ListenersThatGetTheirSealsAfterTheStartAreServedAtOnce) {
  const std::set<std::string> rooms = served();
  ASSERT_GE(rooms.size(), kRoomKinds);
  house_.world().crash_all();
  for (const Value& listener : all(kListeners)) {
    const std::string name(wire::string_at(listener, "/metadata/name"));
    const Object annotations{{claims::kSealAnnotation, "no seal"}};
    ASSERT_TRUE(house_.cluster().ask("PATCH", kListeners + "/" + name,
                                     Object{{"metadata", Object{{"annotations", annotations}}}}));
  }
  empty_load_balancers();
  expect_served_soon(rooms);
}

TEST_F(UpgradeTest, ListenersThatGetTheirGrantsAfterTheStartAreServedAtOnce) {
  const std::set<std::string> rooms = served();
  house_.world().crash_all();
  ASSERT_TRUE(house_.cluster().ask("DELETE", "/apis/berth.dev/v1/loadbalancers"));
  empty_load_balancers();
  expect_served_soon(rooms);
}

}  // namespace
}  // namespace berth::scenario
