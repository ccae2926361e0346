#include "controllers/loadbalancer/reconcile.h"

#include <gmock/gmock.h>

#include "api/decode.h"
#include "api/walkers.h"
#include "claims/test_support.h"
#include "controllers/loadbalancer/test_support.h"
#include "kube/client/test_scripted_api.h"

namespace berth::controllers::loadbalancer {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Object;
using wire::Value;

const kube::ResourceType& kBalancer = api::load_balancer_kind().type;

class NobodyHears final : public engine::Sink {
  void report(const engine::Outcome&) override {}
};

// One load balancer of a cloud, on which a pool has ports.
class LoadBalancerTest : public DirectoryTest {
 protected:
  LoadBalancerTest() {
    claims::add_indexes(listeners_, {});
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    EXPECT_TRUE(listeners_.replace({}, listener_version_));
    EXPECT_TRUE(blocks_.replace({}, 1));
    api_.on_change = [this](std::string_view plural, const kube::ObjectKey& key, const Value* now) {
      if (plural == "portblocks") {
        if (now) blocks_.put(api::decode_port_block(*now).value());
        if (!now) blocks_.erase(key, "", api_.version());
        return;
      }
      if (now) balancers_.put(api::decode_load_balancer(*now).value());
      if (!now) balancers_.erase(key, "", api_.version());
    };
    directory_.names[kLb] = "rooms";
    controller_.add_to(manager_);
    running_.push_back(tasks_.spawn("manager", [this](std::stop_token stop) {
      (void)manager_.run({.tasks = tasks_, .stop = std::move(stop)});
    }));
    running_.push_back(tasks_.spawn("describe", [this](std::stop_token stop) {
      controller_.run({.tasks = tasks_, .stop = std::move(stop)});
    }));
    pass(1ms);
  }

  void has_object(const model::LoadBalancerRef& ref, bool granted = true) {
    api::LoadBalancerSpec spec{.provider = std::string(model::to_string(ref.provider)),
                               .account = ref.account,
                               .region = ref.region,
                               .load_balancer_id = ref.id};
    if (granted) spec.grants = {kGrant};
    api_.put(kBalancer, Object{{"metadata", Object{{"name", model::object_name(ref)}}},
                               {"spec", api::encode(spec)}});
  }
  void has_object() { has_object(kLb); }
  void has_listener(model::Port port) {
    api::Listener listener = claims::testing::lock_at({.ports = {port, port}});
    claims::testing::put(listener.meta.annotations, claims::kBalancerAnnotation,
                         model::canonical(kLb));
    listener.meta.resource_version = ++listener_version_;
    listeners_.put(std::move(listener));
  }
  api::LoadBalancer object(const model::LoadBalancerRef& ref = kLb) const {
    const Value* const found = api_.find(kBalancer, {"", model::object_name(ref)});
    return found ? api::decode_load_balancer(*found).value() : api::LoadBalancer{};
  }
  bool is_there() const { return api_.find(kBalancer, {"", kName}) != nullptr; }
  std::string reason() const {
    return object().status.conditions.empty() ? "" : object().status.conditions.front().reason;
  }

  static inline const model::LoadBalancerRef kLb = lb("lb-1");
  static inline const std::string kName = model::object_name(kLb);
  static inline const std::string kWrite = "PATCH loadbalancers/" + kName + "/status";
  static inline const api::Grant kGrant{.protocol = "TCP",
                                        .start_port = 30000,
                                        .end_port = 30009,
                                        .owner_kind = "PortPool",
                                        .owner_namespace = "games",
                                        .owner_name = "rooms",
                                        .owner_uid = "uid-of-rooms"};

  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  claims::ListenerStore listeners_;
  kube::ResourceVersion listener_version_ = 1;
  NobodyHears sink_;
  // It serves nobody: what it is asked to look at is not the business of these tests.
  engine::Engine engine_{
      tasks_, lb::Drivers{},       [](const auto&) { return engine::Standing{}; },
      sink_,  [] { return true; }, Random(1),
      {}};
  metrics::Registry registry_;
  claims::Grantor grantor_{client_, balancers_, blocks_, listeners_, claims::testing::sealer()};
  LoadBalancerController controller_{tasks_, client_,  balancers_, blocks_, listeners_, grantor_,
                                     {},     drivers_, engine_,    {},      &registry_};
  kube::Manager manager_;
  std::vector<std::unique_ptr<Task>> running_;
};

TEST_F(LoadBalancerTest, WhatTheProviderSaysIsWrittenOnce) {
  has_object();
  pass(1s);
  EXPECT_THAT(api_.writes(), ElementsAre(kWrite));
  EXPECT_EQ(object().status.name, "rooms");
  EXPECT_EQ(reason(), "Described");
  EXPECT_EQ(object().spec.grants, std::vector{kGrant}) << "which are not its business";
  const std::size_t asked = directory_.described.size();
  pass(1h);
  EXPECT_GT(directory_.described.size(), asked + 5) << "it is looked at again";
  EXPECT_THAT(api_.writes(), SizeIs(1)) << "and nothing has changed";
}

TEST_F(LoadBalancerTest, WhatChangesAtTheProviderIsSeenWithinMinutes) {
  has_object();
  pass(1s);
  directory_.names[kLb] = "halls";
  pass(8min);
  EXPECT_EQ(object().status.name, "halls");
  EXPECT_THAT(api_.writes(), SizeIs(2));
}

TEST_F(LoadBalancerTest, AnErrorIsShownUntilItIsOver) {
  has_object();
  pass(1s);
  directory_.names.clear();
  ASSERT_TRUE(kernel_.run_until([&] { return reason() == "LoadBalancerNotFound"; }));
  pass(1min);
  EXPECT_THAT(object().status.last_error, HasSubstr("lb-1 does not exist"));
  EXPECT_EQ(object().status.name, "rooms") << "what was known stays";
  EXPECT_THAT(api_.writes(), SizeIs(2)) << "the same error is written once";
  const std::string since = object().status.conditions.front().last_transition_time;
  directory_.names[kLb] = "rooms";
  pass(20s);
  EXPECT_EQ(reason(), "Described");
  EXPECT_EQ(object().status.last_error, "");
  EXPECT_NE(object().status.conditions.front().last_transition_time, since);
}

TEST_F(LoadBalancerTest, WhatNoDriverServesIsSaid) {
  const model::LoadBalancerRef elsewhere{model::Provider::gcp, "us-east1", "rooms", "play"};
  has_object(elsewhere);
  pass(1s);
  ASSERT_THAT(object(elsewhere).status.conditions, SizeIs(1));
  EXPECT_EQ(object(elsewhere).status.conditions.front().reason, "NotSupported");
}

TEST_F(LoadBalancerTest, AStormOfListenersIsOneWrite) {
  has_object();
  pass(1s);
  api_.forget_calls();
  for (model::Port port = 30000; port < 30010; ++port) {
    has_listener(port);
    pass(100ms);
  }
  pass(10s);
  EXPECT_EQ(object().status.listeners_used, 10);
  EXPECT_THAT(api_.writes(), ElementsAre(kWrite));
}

TEST_F(LoadBalancerTest, AWriteThatFailsIsMadeAgain) {
  api_.on({"PATCH", "loadbalancers"}, {.refused = 500});
  api_.on({"PATCH", "loadbalancers"}, {.lost_before = true});
  has_object();
  pass(1min);
  EXPECT_EQ(object().status.name, "rooms");
  EXPECT_THAT(api_.writes(), SizeIs(3));
}

TEST_F(LoadBalancerTest, AnObjectThatGoesMeanwhileIsNotMissed) {
  api_.on({"PATCH", "loadbalancers"}, {.before = [&] { api_.erase(kBalancer, {"", kName}); }});
  has_object();
  pass(10min);
  EXPECT_FALSE(is_there());
  EXPECT_THAT(api_.writes(), ElementsAre(kWrite));
}

TEST_F(LoadBalancerTest, AnObjectThatLeavesIsLeftAlone) {
  has_object();
  pass(1s);
  api_.forget_calls();
  directory_.names[kLb] = "halls";
  api_.edit(kBalancer, {"", kName},
            Object{{"metadata", Object{{"deletionTimestamp", "2026-01-02T00:00:00Z"}}}});
  pass(1h);
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(LoadBalancerTest, AnObjectOnWhichNobodyHasAPortGoes) {
  has_object(kLb, false);
  pass(1s);
  EXPECT_FALSE(is_there());
  EXPECT_THAT(directory_.described, IsEmpty());
}

TEST_F(LoadBalancerTest, AnObjectThatListenersStandOnStays) {
  has_listener(30000);
  has_object(kLb, false);
  pass(1min);
  EXPECT_TRUE(is_there()) << "its grants were lost, and are made from them";
}

TEST_F(LoadBalancerTest, AGrantThatComesMeanwhileKeepsTheObject) {
  api_.on({"DELETE", "loadbalancers"}, {.before = [&] {
            api_.edit(kBalancer, {"", kName},
                      Object{{"spec", Object{{"grants", wire::Array{api::encode(kGrant)}}}}});
          }});
  has_object(kLb, false);
  pass(1min);
  EXPECT_TRUE(is_there());
  EXPECT_THAT(api_.writes(), Contains("DELETE loadbalancers/" + kName));
  EXPECT_EQ(object().spec.grants, std::vector{kGrant});
}

TEST_F(LoadBalancerTest, ABlockThatNobodyUsesIsCalledInAndThenTheObjectGoes) {
  const kube::ResourceType& blocks = api::port_block_kind().type;
  const api::PortBlockSpec spec{
      .load_balancer = kName, .protocol = "TCP", .start_port = 30080, .end_port = 30207};
  api_.put(blocks, Object{{"metadata", Object{{"name", "block"}}}, {"spec", api::encode(spec)}});
  const auto block = api::decode_port_block(*api_.find(blocks, {"", "block"})).value();
  const api::Grant names{.protocol = "TCP",
                         .start_port = 30080,
                         .end_port = 30207,
                         .owner_kind = "PortBlock",
                         .owner_name = "block",
                         .owner_uid = block.meta.uid};
  has_object(kLb, false);
  api_.edit(kBalancer, {"", kName},
            Object{{"spec", Object{{"grants", wire::Array{api::encode(names)}}}}});
  pass(10s);
  EXPECT_THAT(api_.all(blocks), SizeIs(0));
  EXPECT_FALSE(is_there());
}

}  // namespace
}  // namespace berth::controllers::loadbalancer
