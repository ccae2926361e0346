#include "controllers/listener/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_support.h"
#include "kube/client/test_fake_transport.h"

namespace berth::controllers::listener {
namespace {

using claims::testing::applied;
using claims::testing::leading_to;
using claims::testing::peer_at;
using claims::testing::put;

const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};

// What the engine is told of a load balancer with a pool's Listener on it.
class StandingWishes : public ::testing::Test {
 protected:
  StandingWishes() {
    claims::add_indexes(listeners_, {});
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    api::LoadBalancer object;
    object.meta.name = model::object_name(kDemo);
    object.meta.resource_version = 1;
    object.spec.grants = {{.protocol = "TCP",
                           .start_port = 30000,
                           .end_port = 30009,
                           .owner_namespace = "games",
                           .owner_uid = "uid-of-rooms"}};
    balancers_.put(std::move(object));
    have(of_pool("games"));
  }

  static std::shared_ptr<const kube::ClusterConfig> cluster() {
    auto config = std::make_shared<kube::ClusterConfig>();
    config->server = "https://api:6443";
    return config;
  }
  static api::Listener of_pool(std::string_view ns) {
    api::Listener listener = peer_at({});
    listener.meta.ns = kube::Interned(ns);
    return applied(claims::testing::sealed(std::move(listener)));
  }
  void have(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  engine::StandingWish wish_of(const std::string& ns) const {
    for (const engine::StandingWish& one : controller_.wishes_for(kDemo))
      if (one.key.value.starts_with(ns + "/")) return one;
    ADD_FAILURE() << "nothing of " << ns;
    return {};
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::FakeTransport transport_;
  kube::Client client_{transport_, cluster()};
  metrics::Registry registry_;
  kube::EventRecorder events_{tasks_, client_, "berth", registry_};
  claims::Courtesy courtesy_;
  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  ListenerController controller_{tasks_,     client_, listeners_,
                                 balancers_, blocks_, claims::testing::sealer(),
                                 courtesy_,  events_, {.naming = {.cluster_id = "berth"}},
                                 &registry_};
  kube::ResourceVersion version_ = 0;
};

TEST_F(StandingWishes, HaveWhatAPoolMade) {
  const engine::StandingWish own = wish_of("games");
  EXPECT_TRUE(own.applied);
  EXPECT_TRUE(own.wish.spec);
}

// The LoadBalancer object has handed its ports on.
TEST_F(StandingWishes, HaveWhatLiesInABlock) {
  api::LoadBalancer object = *balancers_.get("", model::object_name(kDemo));
  api::PortBlock block;
  block.meta.name = "block";
  block.meta.uid = "uid-of-block";
  block.meta.resource_version = 1;
  block.spec = {.load_balancer = object.meta.name,
                .protocol = "TCP",
                .start_port = 29952,
                .end_port = 30079,
                .grants = object.spec.grants};
  object.meta.resource_version = 2;
  object.spec.grants = {{.protocol = "TCP",
                         .start_port = 29952,
                         .end_port = 30079,
                         .owner_kind = "PortBlock",
                         .owner_name = "block",
                         .owner_uid = "another"}};
  balancers_.put(object);
  blocks_.put(block);
  EXPECT_FALSE(wish_of("games").wish.spec) << "it names another one";
  object.meta.resource_version = 3;
  object.spec.grants.front().owner_uid = "uid-of-block";
  balancers_.put(object);
  EXPECT_EQ(wish_of("games").wish.own, (model::PortRange{30000, 30009}));
}

// With all that makes ours: the name, the owner, and the annotation that says it is done. The audit
// would call the pool's listener drifted, and lead it away.
TEST_F(StandingWishes, DoNotHaveWhatSomebodyWroteInAnotherNamespace) {
  have(applied(leading_to(of_pool("evil"), "10.6.6.6")));
  const engine::StandingWish foreign = wish_of("evil");
  EXPECT_FALSE(foreign.applied);
  EXPECT_FALSE(foreign.wish.spec);
  EXPECT_TRUE(wish_of("games").wish.spec);
}

// In the pool's own namespace, with the pool's owner reference, and an id that is another's.
TEST_F(StandingWishes, DoNotHaveWhatSomebodyChanged) {
  api::Listener moved = of_pool("games");
  moved.spec.port = 30005;
  have(applied(std::move(moved)));
  EXPECT_FALSE(wish_of("games").wish.spec) << "its seal is of another port";
  api::Listener unsealed = of_pool("games");
  unsealed.meta.created = claims::testing::kNow;
  put(unsealed.meta.annotations, claims::kSealAnnotation, "");
  have(applied(std::move(unsealed)));
  EXPECT_FALSE(wish_of("games").wish.spec) << "and this has none, and is younger than our keys";
}

TEST_F(StandingWishes, SayWhatTheirOwnerHas) {
  EXPECT_EQ(wish_of("games").wish.own, (model::PortRange{30000, 30009}));
}

TEST_F(StandingWishes, OfAListenerWithoutAGrantNothingIsLeftButItsName) {
  balancers_.erase({"", model::object_name(kDemo)}, "", 2);
  const engine::StandingWish own = wish_of("games");
  EXPECT_FALSE(own.applied);
  EXPECT_FALSE(own.wish.spec);
  EXPECT_THAT(own.wish.name, ::testing::StartsWith("berth_demo-tcp-30000_"))
      << "so that it is nobody's leftover";
}

// Somebody deleted the LoadBalancer object, or took the grant out of it, and the pool is gone.
TEST_F(StandingWishes, OfAListenerThatGoesWithoutAGrantItsOwnIsRemoved) {
  api::Listener going = of_pool("games");
  going.meta.deleting = true;
  going.meta.finalizers = {kube::Interned(api::kFinalizer)};
  have(going);
  const auto has_grant_of = [&](std::string uid, std::int64_t port) {
    api::LoadBalancer object = *balancers_.get("", model::object_name(kDemo));
    object.meta.resource_version = ++version_ + 10;
    object.spec.grants[0].owner_uid = std::move(uid);
    object.spec.grants[0].start_port = port;
    balancers_.put(std::move(object));
  };
  const model::PortRange its{30000, 30000};
  has_grant_of("uid-of-others", 30001);
  EXPECT_EQ(wish_of("games").wish.own, its);
  has_grant_of("uid-of-others", 30000);
  EXPECT_NE(wish_of("games").wish.own, its) << "another has the port";
  balancers_.erase({"", model::object_name(kDemo)}, "", 100);
  EXPECT_EQ(wish_of("games").wish.own, its);
  put(going.meta.annotations, claims::kSealAnnotation, "forged");
  have(std::move(going));
  EXPECT_NE(wish_of("games").wish.own, its) << "somebody wrote it";
}

}  // namespace
}  // namespace berth::controllers::listener
