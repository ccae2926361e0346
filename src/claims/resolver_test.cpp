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
  std::vector<LoadBalancerRef> meaning() const {
    const Resolver resolver(balancers_, listeners_, testing::sealer(), {Provider::tencent, "ap-z"});
    return resolver.load_balancers_of(pool_, pool_.spec.pool_items.front()).value();
  }

  api::PortPool pool_ = pool_with({tcp_item("item1", 30000, 30002)});
  ListenerStore listeners_;
  BalancerStore balancers_;
  std::uint64_t version_ = 0;
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

}  // namespace
}  // namespace berth::claims
