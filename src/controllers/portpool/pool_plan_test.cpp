#include "controllers/portpool/pool_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/keys.h"
#include "claims/test_support.h"
#include "frontend/listener_object.h"

namespace berth::controllers::portpool {
namespace {

using claims::testing::kNow;
using claims::testing::kRefsOf;
using claims::testing::lock_at;
using claims::testing::pool_with;
using claims::testing::tcp_item;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using frontend::WantedGrant;
using frontend::WantedListener;

std::vector<WantedListener> wanted(const api::PortPool& pool) {
  return wants_of(pool, kRefsOf, kNow).parts.front().listeners;
}
std::vector<std::string> names(const std::vector<WantedListener>& listeners) {
  std::vector<std::string> out;
  for (const WantedListener& one : listeners) out.push_back(one.name);
  return out;
}
std::vector<WantedGrant> grants(const api::PortPool& pool) {
  return wants_of(pool, kRefsOf, kNow).parts.front().grants;
}

// As the controller makes it.
wire::Value made(const api::PortPool& pool, const WantedListener& wanted) {
  const frontend::Owner owner = owner_of(pool);
  return frontend::new_listener(
      owner, wanted, claims::testing::sealer().marks(frontend::identity_of(owner, wanted)));
}

TEST(WantedListeners, OneForEachPort) {
  const auto all = wanted(pool_with({tcp_item("item1", 30000, 30003)}));
  EXPECT_THAT(names(all), ElementsAre("demo-tcp-30000", "demo-tcp-30001", "demo-tcp-30002"));
  EXPECT_EQ(all.front().part, "item1");
  EXPECT_EQ(all.front().spec.port, 30000);
  EXPECT_EQ(all.front().spec.end_port, 0);
  EXPECT_EQ(all.front().spec.load_balancer_id, "edge:demo");
  EXPECT_FALSE(all.front().spec.target_group) << "it leads nowhere";
}

TEST(WantedListeners, AnItemThatGrowsWantsTheSameAndMore) {
  const auto before = names(wanted(pool_with({tcp_item("item1", 30000, 30002)})));
  auto after = names(wanted(pool_with({tcp_item("item1", 30000, 30004)})));
  ASSERT_EQ(after.size(), 4u);
  after.resize(2);
  EXPECT_EQ(after, before);
}

TEST(WantedListeners, BothProtocolsWhereNoneIsNamed) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  pool.spec.pool_items.front().protocol = "";
  EXPECT_THAT(names(wanted(pool)), ElementsAre("demo-tcp-30000", "demo-udp-30000"));
}

TEST(WantedListeners, OneForEachSegmentAndNoneForARemainder) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30011)});
  pool.spec.pool_items.front().segment_length = 4;
  const auto all = wanted(pool);
  EXPECT_THAT(names(all), ElementsAre("demo-tcp-30000-30003", "demo-tcp-30004-30007"));
  EXPECT_EQ(all.back().spec.port, 30004);
  EXPECT_EQ(all.back().spec.end_port, 30007);
}

TEST(WantedListeners, TheFirstLoadBalancerHasTheLockAndTheOthersFollowIt) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  pool.spec.pool_items.front().load_balancer_ids = {"edge:east", "edge:west", "edge:south"};
  const auto all = wanted(pool);
  EXPECT_THAT(names(all), ElementsAre("east-tcp-30000", "west-tcp-30000", "south-tcp-30000"));
  EXPECT_TRUE(all[0].is_lock());
  EXPECT_EQ(all[0].peers, "west-tcp-30000,south-tcp-30000");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_FALSE(all[i].is_lock());
    EXPECT_EQ(all[i].lock, "east-tcp-30000");
    EXPECT_EQ(all[i].peers, "");
  }
}

TEST(WantedListeners, HaveThePoolsAttributesAndTheItemsCertificate) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  pool.spec.listener_attribute = api::ListenerAttribute{.session_time = 30};
  pool.spec.pool_items.front().certificate = api::ListenerCertificate{.cert_id = "c-1"};
  const api::ListenerSpec spec = wanted(pool).front().spec;
  EXPECT_EQ(spec.listener_attribute->session_time, 30);
  EXPECT_EQ(spec.certificate->cert_id, "c-1");
}

TEST(WantedListeners, AnItemThatCannotBeReadSaysWhy) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  pool.spec.pool_items.front().load_balancer_ids = {"edge:"};
  EXPECT_TRUE(wanted(pool).empty());
  EXPECT_FALSE(wants_of(pool, kRefsOf, kNow).unreadable.at("item1").problem.empty());
  EXPECT_TRUE(wanted_grants(pool, kRefsOf, kNow).empty());
}

TEST(NewListener, IsFreeAndGoesWithItsPool) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  pool.spec.pool_items.front().load_balancer_ids = {"edge:east", "edge:west"};
  const auto all = wanted(pool);
  const wire::Value lock = made(pool, all[0]);
  EXPECT_EQ(wire::string_at(lock, "/metadata/namespace"), "games");
  EXPECT_EQ(wire::string_at(lock, "/metadata/ownerReferences/0/uid"), "uid-of-rooms");
  EXPECT_EQ(wire::string_at(lock, "/metadata/finalizers/0"), api::kFinalizer);
  EXPECT_EQ(wire::string_at(lock, "/metadata/labels/owner-name"), "rooms");
  const auto has_claim = [](const wire::Value& object) {
    return wire::find(object, "/metadata/annotations/berth.dev~1claim") != nullptr;
  };
  EXPECT_TRUE(has_claim(lock)) << "a claim tests the annotation, so it is there from the beginning";
  EXPECT_EQ(wire::string_at(lock, "/metadata/annotations/berth.dev~1claim"), "");
  EXPECT_EQ(wire::string_at(lock, "/metadata/annotations/berth.dev~1slot-peers"), "west-tcp-30000");
  const wire::Value peer = made(pool, all[1]);
  EXPECT_FALSE(has_claim(peer)) << "nobody may claim it beside the lock";
  EXPECT_EQ(wire::string_at(peer, "/metadata/annotations/berth.dev~1slot-lock"), "east-tcp-30000");
}

TEST(WantedGrants, OneForEachLoadBalancerAndProtocol) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30010)});
  pool.spec.pool_items.front().load_balancer_ids = {"edge:east", "edge:west"};
  pool.spec.pool_items.front().protocol = "";
  const auto all = grants(pool);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].lb.id, "east");
  EXPECT_EQ(all[3].lb.id, "west");
  EXPECT_EQ(all[3].grant.transport, model::Transport::udp);
  for (const WantedGrant& one : all) {
    EXPECT_EQ(one.grant.ports, (model::PortRange{30000, 30009}));
    EXPECT_EQ(one.grant.owner.to_string(), "PortPool games/rooms");
    EXPECT_EQ(one.grant.owner.uid, "uid-of-rooms");
    EXPECT_EQ(one.grant.item, "item1");
    EXPECT_EQ(one.grant.since, kNow);
  }
}

TEST(WantedGrants, ARemainderIsLeftToOthers) {
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30011)});
  pool.spec.pool_items.front().segment_length = 4;
  EXPECT_EQ(grants(pool).front().grant.ports, (model::PortRange{30000, 30007}));
  pool.spec.pool_items.front().segment_length = 20;
  EXPECT_TRUE(grants(pool).empty()) << "not one segment fits";
}

// A pool with items `item1` and `item2` on two load balancers, as its status tells of it.
class Status : public ::testing::Test {
 protected:
  Status() {
    pool_.spec.pool_items[1].load_balancer_ids = {"edge:west"};
    set_address("demo", "1.1.1.1");
    set_address("west", "2.2.2.2");
  }
  void set_address(const std::string& lb, const std::string& ip) {
    auto object = std::make_shared<api::LoadBalancer>();
    object->status.vips = {ip};
    balancers_[lb] = object;
  }
  void set_error(const std::string& lb, const std::string& error) {
    auto object = std::make_shared<api::LoadBalancer>();
    object->status.last_error = error;
    balancers_[lb] = object;
  }
  api::PortPoolStatus status() const {
    return pool_status(
        pool_, reports_, leaving_,
        [this](const model::LoadBalancerRef& lb) {
          const auto it = balancers_.find(lb.id);
          return it == balancers_.end() ? nullptr : it->second;
        },
        kRefsOf);
  }

  api::PortPool pool_ =
      pool_with({tcp_item("item1", 30000, 30002), tcp_item("item2", 31000, 31002)});
  std::map<std::string, frontend::PartReport> reports_{{"item1", {2, 2, ""}},
                                                       {"item2", {2, 2, ""}}};
  std::map<std::string, std::size_t> leaving_;
  std::map<std::string, std::shared_ptr<const api::LoadBalancer>> balancers_;
};

TEST_F(Status, IsReadyWhenEveryListenerIs) {
  const api::PortPoolStatus all = status();
  EXPECT_EQ(all.status, "Ready");
  ASSERT_EQ(all.pool_items.size(), 2u);
  EXPECT_EQ(all.pool_items[1].status, "Ready");
  EXPECT_EQ(all.pool_items[1].start_port, 31000);
  EXPECT_EQ(all.pool_items[1].pool_item_load_balancers.front().ips,
            std::vector<std::string>{"2.2.2.2"});
  EXPECT_THAT(all.pool_items[1].protocol, ElementsAre("TCP"));
}

TEST_F(Status, SaysHowFarItIs) {
  reports_["item1"].ready = 1;
  EXPECT_EQ(status().status, "NotReady");
  EXPECT_EQ(status().pool_items[0].message, "1 of 2 listeners are ready");
  EXPECT_EQ(status().pool_items[1].status, "Ready") << "the other item is not held up";
}

TEST_F(Status, SaysWhyALoadBalancerDoesNotTakeAListener) {
  reports_["item1"].ready = 1;
  const WantedListener wanted{.part = "item1"};
  api::Listener refused = lock_at({.ports = {30001, 30001}});
  refused.status.listener_id.clear();
  refused.status.message = "forbidden: no permission";
  frontend::Survey survey{.reports = reports_};
  survey.found = {{&wanted, std::make_shared<const api::Listener>(refused)}};
  api::PortPoolStatus told = status();
  add_reasons(survey, told);
  EXPECT_EQ(told.pool_items[0].message,
            "1 of 2 listeners are ready; Listener demo-tcp-30001: forbidden: no permission");
  EXPECT_EQ(told.pool_items[1].message, "Ready");
  // It has it; where it leads is for the Pod to know.
  refused.status.listener_id = "lbl-1";
  survey.found = {{&wanted, std::make_shared<const api::Listener>(refused)}};
  told = status();
  add_reasons(survey, told);
  EXPECT_EQ(told.pool_items[0].message, "1 of 2 listeners are ready");
}

TEST_F(Status, SaysWhatIsInTheWay) {
  reports_["item1"] = {2, 0, "are granted to PortPool games/halls"};
  EXPECT_EQ(status().pool_items[0].status, "NotReady");
  EXPECT_EQ(status().pool_items[0].message, "are granted to PortPool games/halls");
  pool_.spec.pool_items[0].load_balancer_ids = {"edge:"};
  EXPECT_THAT(status().pool_items[0].message, HasSubstr("has no name"));
}

TEST_F(Status, AnItemIsNotReadyBeforeItsAddressIsKnown) {
  balancers_.erase("demo");
  EXPECT_THAT(status().pool_items[0].message, HasSubstr("edge:demo: its address is not known yet"));
  set_error("demo", "no permission");
  EXPECT_THAT(status().pool_items[0].message, HasSubstr("no permission"));
  EXPECT_EQ(status().pool_items[0].status, "NotReady");
}

TEST_F(Status, AnItemThatLeftTheSpecStaysUntilNothingOfItIsLeft) {
  pool_.status = status();
  pool_.spec.pool_items.pop_back();
  leaving_["item2"] = 1;
  const api::PortPoolStatus all = status();
  EXPECT_EQ(all.status, "NotReady");
  ASSERT_EQ(all.pool_items.size(), 2u);
  EXPECT_EQ(all.pool_items[1].item_name, "item2");
  EXPECT_EQ(all.pool_items[1].status, "Deleting");
  EXPECT_EQ(all.pool_items[1].start_port, 31000) << "as it was";
  EXPECT_EQ(all.pool_items[1].message, "1 listeners are left");
  leaving_.clear();
  EXPECT_EQ(status().pool_items.size(), 1u);
  EXPECT_EQ(status().status, "Ready");
}

TEST_F(Status, ShowsWhatIsPassedThrough) {
  pool_.spec.pool_items[0].external = "outside";
  EXPECT_EQ(status().pool_items[0].external, "outside");
}

TEST(Peers, AreReadFromTheLock) {
  api::Listener lock = lock_at({});
  EXPECT_TRUE(peers_of(lock).empty());
  claims::testing::put(lock.meta.annotations, kPeersAnnotation, "a");
  EXPECT_THAT(peers_of(lock), ElementsAre("a"));
  claims::testing::put(lock.meta.annotations, kPeersAnnotation, "a,b,c");
  EXPECT_THAT(peers_of(lock), ElementsAre("a", "b", "c"));
}

// Whoever may edit a Listener can write others of its pool on it, whose ports would be taken back
// with it.
TEST(Peers, AreNotOfAnotherSlot) {
  const auto peer_of = [](std::string lock, model::Port port) {
    api::Listener peer = claims::testing::peer_at({.lb = "west", .ports = {port, port}});
    claims::testing::put(peer.meta.annotations, kLockAnnotation, std::move(lock));
    return peer;
  };
  claims::ListenerStore listeners;
  claims::add_indexes(listeners, {});
  api::Listener lock = lock_at({});
  std::string all;
  for (api::Listener one :
       {peer_of(lock.meta.name, 30000), lock_at({.ports = {30001, 30001}}),
        peer_of("demo-tcp-30001", 30001), claims::testing::peer_at({.lb = "east"})}) {
    one.meta.resource_version = listeners.all().size() + 1;
    all += (all.empty() ? "" : ",") + one.meta.name;
    listeners.put(std::move(one));
  }
  claims::testing::put(lock.meta.annotations, kPeersAnnotation, all);
  std::vector<std::string> found;
  for (const claims::ListenerPtr& peer : peers_in(listeners, lock))
    found.push_back(peer->meta.name);
  // Of the last one, somebody took off whose it is.
  EXPECT_THAT(found, ElementsAre("west-tcp-30000", "east-tcp-30000"));
}

}  // namespace
}  // namespace berth::controllers::portpool
