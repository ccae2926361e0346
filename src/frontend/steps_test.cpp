#include "frontend/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "api/port_pool.h"
#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

api::Grant grant(const std::string& owner, std::int64_t first, std::int64_t last,
                 const std::string& kind = "PortPool") {
  return {.protocol = "TCP",
          .start_port = first,
          .end_port = last,
          .owner_kind = kind,
          .owner_namespace = "games",
          .owner_name = owner,
          .owner_uid = "uid-" + owner,
          .item = "one"};
}

// Three pools on one load balancer: two in its list, one in a block of it.
class OwnersTest : public ::testing::Test {
 protected:
  OwnersTest() {
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    block_.meta = {.name = "b-1", .uid = "uid-b-1"};
    block_.spec = {.load_balancer = "edge.demo",
                   .protocol = "TCP",
                   .start_port = 128,
                   .end_port = 255,
                   .grants = {grant("inside", 130, 130)}};
    before_.meta = {.name = "edge.demo", .uid = "uid-demo"};
    before_.spec = {.provider = "edge", .load_balancer_id = "demo"};
    api::Grant named = grant("b-1", 128, 255, "PortBlock");
    before_.spec.grants = {grant("low", 100, 110), std::move(named), grant("high", 900, 910)};
    before_.status.listeners_used = 5;
    after_ = before_;
    block_after_ = block_;
  }

  std::set<std::string> concerned() {
    after_.meta.resource_version = block_.meta.resource_version = ++version_;
    balancers_.put(after_);
    blocks_.put(block_);
    const claims::GrantBook book(balancers_, blocks_);
    return names(owners_on({std::make_shared<const api::LoadBalancer>(before_),
                            std::make_shared<const api::LoadBalancer>(after_)},
                           api::port_pool_kind().type, book));
  }
  std::set<std::string> concerned_in_block() const {
    return names(owners_in({std::make_shared<const api::PortBlock>(block_),
                            std::make_shared<const api::PortBlock>(block_after_)},
                           api::port_pool_kind().type));
  }
  static std::set<std::string> names(const std::set<kube::ObjectKey>& keys) {
    std::set<std::string> out;
    for (const kube::ObjectKey& key : keys) out.insert(key.name);
    return out;
  }
  void give(const api::Grant& more) { after_.spec.grants.push_back(more); }

  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  kube::ResourceVersion version_ = 1;
  api::LoadBalancer before_, after_;
  api::PortBlock block_, block_after_;
};

const auto kAll = UnorderedElementsAre("high", "inside", "low");

// With a thousand pools on it, each new one would have all of them looked at.
TEST_F(OwnersTest, AGrantConcernsWhoeverGotIt) {
  give(grant("new", 500, 510));
  EXPECT_THAT(concerned(), ElementsAre("new"));
  after_.spec.grants.back().owner_kind = "Ingress";
  EXPECT_THAT(concerned(), IsEmpty());
}

TEST_F(OwnersTest, MoreListenersConcernNobody) {
  after_.status.listeners_used = 6;
  EXPECT_THAT(concerned(), IsEmpty());
  after_.status.listeners_used = 4;
  EXPECT_THAT(concerned(), kAll) << "there may be room under a quota";
}

TEST_F(OwnersTest, WhatIsGivenBackConcernsAll) {
  after_.spec.grants.pop_back();
  EXPECT_THAT(concerned(), kAll) << "somebody may wait for it";
}

TEST_F(OwnersTest, WhatTheLoadBalancerSaysConcernsAll) {
  after_.status.last_error = "it does not answer";
  EXPECT_THAT(concerned(), kAll);
}

// Somebody writes by hand, or the object is another one.
TEST_F(OwnersTest, WhatIsOddConcernsAll) {
  give(grant("greedy", 905, 920));
  EXPECT_THAT(concerned(), UnorderedElementsAre("greedy", "high", "inside", "low"));
  after_ = before_;
  after_.spec.grants[0].item = "another";
  EXPECT_THAT(concerned(), kAll);
  after_ = before_;
  after_.meta.uid = "uid-of-another";
  EXPECT_THAT(concerned(), kAll);
  after_ = before_;
  after_.meta.deleting = true;
  EXPECT_THAT(concerned(), kAll);
}

TEST_F(OwnersTest, TheSameHoldsForBlocks) {
  block_after_.spec.grants.push_back(grant("new", 131, 131));
  EXPECT_THAT(concerned_in_block(), ElementsAre("new"));
  block_after_.spec.closed = true;
  EXPECT_THAT(concerned_in_block(), UnorderedElementsAre("inside", "new"));
  block_after_ = block_;
  block_after_.spec.grants.clear();
  EXPECT_THAT(concerned_in_block(), ElementsAre("inside"));
}

// In grants and labels such an owner has the namespace of its Listeners; its object has none.
TEST_F(OwnersTest, ClusterScopedOwnersAreFoundByTheirNames) {
  using Keys = std::set<kube::ObjectKey>;
  api::Grant dome = grant("dome", 500, 510, "Arena");
  dome.owner_namespace = "berth-system";
  give(dome);
  const kube::Change<api::LoadBalancer> more{std::make_shared<const api::LoadBalancer>(before_),
                                             std::make_shared<const api::LoadBalancer>(after_)};
  const kube::Change<api::LoadBalancer> fewer{more.after, more.before};
  const claims::GrantBook book(balancers_, blocks_);
  const Keys found{{"", "dome"}};
  EXPECT_EQ(owners_on(more, testing::kArena, book), found);
  EXPECT_EQ(owners_on(fewer, testing::kArena, book), found);
  block_after_.spec.grants.push_back(dome);
  const kube::Change<api::PortBlock> in_block{std::make_shared<const api::PortBlock>(block_),
                                              std::make_shared<const api::PortBlock>(block_after_)};
  EXPECT_EQ(owners_in(in_block, testing::kArena), found);
  api::Listener listener;
  listener.meta.ns = kube::Interned("berth-system");
  claims::testing::put(listener.meta.labels, api::kOwnerKindKey, "Arena");
  claims::testing::put(listener.meta.labels, api::kOwnerNameKey, "dome");
  claims::testing::put(listener.meta.annotations, claims::kItemAnnotation, "all");
  EXPECT_EQ(owner_named_by(listener, testing::kArena), (kube::ObjectKey{"", "dome"}));
  EXPECT_EQ(owner_named_by(listener, testing::kStage), std::nullopt);
}

TEST(OwnerNamedBy, ANameThatIsLongerThanALabelIsInTheReference) {
  const std::string name(100, 'x');
  api::Listener listener;
  listener.meta.ns = kube::Interned("games");
  claims::testing::put(listener.meta.labels, api::kOwnerKindKey, "Stage");
  claims::testing::put(listener.meta.labels, api::kOwnerNameKey, api::label_value(name));
  claims::testing::put(listener.meta.annotations, claims::kItemAnnotation, "all");
  listener.meta.owners = {{.kind = kube::Interned("Stage"), .name = "another", .uid = "u"},
                          {.kind = kube::Interned("Arena"), .name = name, .uid = "u"},
                          {.kind = kube::Interned("Stage"), .name = name, .uid = "u"}};
  EXPECT_EQ(owner_named_by(listener, testing::kStage), (kube::ObjectKey{"games", name}));
}

}  // namespace
}  // namespace berth::frontend
