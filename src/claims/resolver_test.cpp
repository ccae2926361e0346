#include "claims/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

using model::LoadBalancerRef;
using model::Provider;
using ::testing::ElementsAre;
using testing::pool_with;
using testing::tcp_item;

const LoadBalancerRef kStands{Provider::tencent, "ap-x", "lb-1"};
const LoadBalancerRef kByDefault{Provider::tencent, "ap-z", "lb-1"};

// A pool whose item is written as "lb-1", read by a process whose default region is ap-z.
class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest() {
    add_indexes(listeners_, {});
    add_indexes(balancers_);
    add_indexes(blocks_);
    pool_.spec.pool_items.front().load_balancer_ids = {"lb-1"};
  }

  void grant(const LoadBalancerRef& lb, const std::string& uid, const std::string& item) {
    api::LoadBalancer object;
    object.meta.name = model::object_name(lb);
    object.meta.resource_version = ++version_;
    object.spec = {.provider = std::string(model::to_string(lb.provider)),
                   .region = lb.region,
                   .load_balancer_id = lb.id};
    object.spec.grants = {{.protocol = "TCP", .owner_uid = uid, .item = item}};
    balancers_.put(std::move(object));
  }
  void put(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  std::vector<LoadBalancerRef> meaning() const { return result().value(); }
  Result<std::vector<LoadBalancerRef>> result() const {
    const Resolver resolver(
        {balancers_, blocks_}, listeners_, testing::sealer(), {Provider::tencent, "ap-z"},
        [this](const LoadBalancerRef&, std::string_view ns) {
          EXPECT_EQ(ns, pool_.meta.ns.view()) << "whose credentials to ask with";
          return directory_;
        });
    return resolver.load_balancers_of(pool_, pool_.spec.pool_items.front());
  }
  // Item item1 stands on lb-1, which was found by this name.
  api::Listener named(const std::string& name) const {
    Identity identity{.ns = "games",
                      .name = "lb-1-tcp-30000",
                      .lb = kStands,
                      .ports = {30000, 30000},
                      .owner_uid = pool_.meta.uid,
                      .item = "item1",
                      .found_by = name};
    api::Listener listener = testing::lock_at({.ports = identity.ports});
    listener.meta.name = identity.name;
    listener.spec.load_balancer_id = "lb-1";
    const Marks marks = testing::sealer().marks(identity);
    testing::put(listener.meta.annotations, kBalancerAnnotation, marks.balancer);
    testing::put(listener.meta.annotations, kFoundByAnnotation, name);
    testing::put(listener.meta.annotations, kSealAnnotation, marks.seal);
    return listener;
  }

  api::PortPool pool_ = pool_with({tcp_item("item1", 30000, 30002)});
  ListenerStore listeners_;
  BalancerStore balancers_;
  BlockStore blocks_;
  std::uint64_t version_ = 0;
  Result<LoadBalancerRef> directory_ = fail(Code::unavailable, "does not answer");
};

TEST_F(ResolverTest, DefaultsDecideAboutWhatIsNew) {
  EXPECT_THAT(meaning(), ElementsAre(kByDefault));
}

TEST_F(ResolverTest, WhereAnItemHasGrantsItStands) {
  grant(kStands, pool_.meta.uid, "item1");
  EXPECT_THAT(meaning(), ElementsAre(kStands));
}

TEST_F(ResolverTest, GrantsOfOthersSayNothing) {
  grant(kStands, "uid-of-another", "item1");
  EXPECT_THAT(meaning(), ElementsAre(kByDefault));
  grant(kStands, pool_.meta.uid, "item2");
  EXPECT_THAT(meaning(), ElementsAre(kByDefault));
}

TEST_F(ResolverTest, AnObjectThatSomebodyEditedIsNotBelieved) {
  grant(kStands, pool_.meta.uid, "item1");
  api::LoadBalancer edited = *balancers_.get({"", model::object_name(kStands)});
  edited.spec.region = "ap-evil";
  edited.meta.resource_version = ++version_;
  balancers_.put(std::move(edited));
  EXPECT_THAT(meaning(), ElementsAre(kByDefault));
}

TEST_F(ResolverTest, SealedListenersStandInForLostGrants) {
  Identity identity{.ns = "games",
                    .name = "lb-1-tcp-30000",
                    .lb = kStands,
                    .ports = {30000, 30000},
                    .owner_uid = pool_.meta.uid,
                    .item = "item1"};
  api::Listener listener = testing::lock_at({.ports = identity.ports});
  listener.meta.name = identity.name;
  listener.spec.load_balancer_id = "lb-1";
  testing::put(listener.meta.annotations, kBalancerAnnotation, model::canonical(kStands));
  testing::put(listener.meta.annotations, kSealAnnotation, "forged");
  put(listener);
  EXPECT_THAT(meaning(), ElementsAre(kByDefault)) << "what is forged says nothing";
  testing::put(listener.meta.annotations, kSealAnnotation, testing::sealer().marks(identity).seal);
  put(listener);
  EXPECT_THAT(meaning(), ElementsAre(kStands));
}

TEST_F(ResolverTest, ANewNameIsLookedUp) {
  pool_.spec.pool_items.front().load_balancer_ids = {"my-clb"};
  EXPECT_EQ(result().error().code, Code::unavailable);
  directory_ = kStands;
  EXPECT_THAT(meaning(), ElementsAre(kStands));
}

TEST_F(ResolverTest, ANameKeepsItsMeaningWhereSealedListenersStand) {
  pool_.spec.pool_items.front().load_balancer_ids = {"my-clb"};
  put(named("my-clb"));
  EXPECT_THAT(meaning(), ElementsAre(kStands)) << "while the directory is away";
  directory_ = kByDefault;
  EXPECT_THAT(meaning(), ElementsAre(kStands)) << "when another has the name";
  grant(kStands, pool_.meta.uid, "item1");
  EXPECT_THAT(meaning(), ElementsAre(kStands));
}

TEST_F(ResolverTest, ANameThatSomebodyWroteOnAListenerMovesNothing) {
  pool_.spec.pool_items.front().load_balancer_ids = {"my-clb"};
  directory_ = kByDefault;
  api::Listener edited = named("another");
  testing::put(edited.meta.annotations, kFoundByAnnotation, "my-clb");
  put(edited);
  EXPECT_THAT(meaning(), ElementsAre(kByDefault));
}

TEST_F(ResolverTest, WhenKeysAreLostNamesStandInTheirGrants) {
  pool_.spec.pool_items.front().load_balancer_ids = {"my-clb"};
  directory_ = kByDefault;
  api::Listener old = named("my-clb");
  testing::put(old.meta.annotations, kSealAnnotation, "lost.c2VhbA");
  put(old);
  EXPECT_THAT(meaning(), ElementsAre(kByDefault)) << "no grant says that it was there";
  grant(kStands, pool_.meta.uid, "item1");
  EXPECT_THAT(meaning(), ElementsAre(kStands));
}

}  // namespace
}  // namespace berth::claims
