// What the controller of pools writes, in which order, and what becomes of writes that fail. What a
// pool wants is decided in pool_plan.h, which has tests of its own.
#include "controllers/portpool/pools.h"

#include <gmock/gmock.h>

#include "controllers/portpool/test_controllers.h"

namespace berth::controllers::portpool {
namespace {

using namespace std::chrono_literals;
using claims::testing::pool_with;
using claims::testing::tcp_item;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBalancer;
using testing::kListener;
using testing::kPool;
using wire::Object;
using wire::Value;

const kube::ObjectKey kRooms{"games", "rooms"};
const kube::ObjectKey kDemo{"", "edge.demo"};

// Pool games/rooms has ports 30000 and 30001 of the edge's demo.
class PoolsTest : public testing::PortPoolControllerTest {
 protected:
  std::vector<std::string> listeners() const {
    std::vector<std::string> out;
    for (const Value& one : api_.all(kListener))
      out.emplace_back(wire::string_at(one, "/metadata/name"));
    return out;
  }
  // What people see of its first item.
  std::string message() const {
    const Value* const pool = api_.find(kPool, kRooms);
    return pool ? std::string(wire::string_at(*pool, "/status/poolItems/0/message")) : "gone";
  }
  std::size_t grants() const {
    const Value* const balancer = api_.find(kBalancer, kDemo);
    const wire::Array* const list = balancer ? wire::array_at(*balancer, "/spec/grants") : nullptr;
    return list ? list->size() : 0;
  }
  // Events tell of writes, and are none that others build on.
  std::vector<std::string> writes() const {
    std::vector<std::string> out = api_.writes();
    std::erase_if(out, [](const std::string& one) { return one.find("events") != one.npos; });
    return out;
  }
  // The load balancer has an address, and what is asked of it.
  void serve() {
    api_.edit(kBalancer, kDemo, Object{{"status", Object{{"vips", wire::Array{"1.1.1.1"}}}}});
    for (const std::string& name : listeners()) confirm(name);
    settle();
  }
  void make_ready() {
    put(pool_);
    settle();
    serve();
    ASSERT_EQ(message(), "Ready");
    api_.forget_calls();
  }
  // Somebody has the slot.
  void hold(const std::string& name) {
    put(claims::testing::with_claim(
        listener(name),
        ledger::Claim{
            .state = ledger::SlotState::bound, .token = "t", .ns = "games", .pod_name = "room-0"}));
  }
  void remove_pool() {
    api_.edit(kPool, kRooms,
              Object{{"metadata", Object{{"deletionTimestamp", "2026-01-02T00:00:00Z"}}}});
    settle();
  }
  bool is_leaving(const std::string& name) const { return listener(name).meta.deleting; }
  // The load balancer has it no more.
  void close(const std::string& name) {
    api_.erase(kListener, {"games", name});
    settle();
  }

  api::PortPool pool_ = pool_with({tcp_item("item1", 30000, 30002)});
  // What a name means.
  Result<model::LoadBalancerRef> directory_ = fail(Code::unavailable, "it is being asked");
  claims::Grantor grantor_{replica_.client, balancers_, blocks_, replica_.listeners,
                           claims::testing::sealer()};
  const model::LoadBalancerDefaults defaults_{model::Provider::tencent, "ap-x"};
  const claims::Resolver resolver_{
      grantor_.book(), replica_.listeners, claims::testing::sealer(), defaults_,
      [this](const model::LoadBalancerRef&, std::string_view) { return directory_; }};
  claims::Courtesy courtesy_;
  frontend::Contenders contenders_;
  frontend::Keeper keeper_{{replica_.client, replica_.listeners, grantor_,
                            claims::testing::sealer(), courtesy_, contenders_, defaults_,
                            "berth-system"}};
  PoolController controller_{
      tasks_,    replica_.client, caches_,   keeper_,   claims::testing::sealer(),
      resolver_, events_,         defaults_, &registry_};
  std::unique_ptr<Task> running_ = start(controller_);
};

TEST_F(PoolsTest, PortsAreOwnedBeforeListenersAreMadeAndThenNothingIsWritten) {
  put(pool_);
  settle();
  ASSERT_GE(writes().size(), 5U);
  EXPECT_EQ(writes()[0], "PATCH portpools/rooms") << "first our finalizer";
  EXPECT_EQ(writes()[1], "POST loadbalancers") << "then its grant";
  EXPECT_THAT(listeners(), ElementsAre("demo-tcp-30000", "demo-tcp-30001"));
  EXPECT_THAT(message(), HasSubstr("demo"));
  serve();
  EXPECT_EQ(message(), "Ready");
  api_.forget_calls();
  api_.edit(kPool, kRooms, Object{{"metadata", Object{{"labels", Object{{"a", "b"}}}}}});
  settle();
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(PoolsTest, WhoHasItsPortsIsNamedAndItHasThemWhenTheyAreFree) {
  const api::LoadBalancerSpec taken{.provider = "edge",
                                    .load_balancer_id = "demo",
                                    .grants = {{.protocol = "TCP",
                                                .start_port = 30001,
                                                .end_port = 30001,
                                                .owner_kind = "Ingress",
                                                .owner_namespace = "shops",
                                                .owner_name = "front",
                                                .owner_uid = "uid-of-front",
                                                .item = "rule/TCP/30001",
                                                .since = "2026-01-01T00:00:00Z"}}};
  api_.put(kBalancer,
           Object{{"metadata", Object{{"name", "edge.demo"}}}, {"spec", api::encode(taken)}});
  put(pool_);
  settle();
  EXPECT_THAT(message(), HasSubstr("Ingress shops/front"));
  EXPECT_THAT(listeners(), IsEmpty());
  EXPECT_EQ(grants(), 1U) << "all of its ports or none";
  api_.edit(kBalancer, kDemo, Object{{"spec", Object{{"grants", wire::Array{}}}}});
  pass(11s);
  EXPECT_THAT(listeners(), ElementsAre("demo-tcp-30000", "demo-tcp-30001"));
}

TEST_F(PoolsTest, AListenerThatPeopleDeleteIsMadeAgain) {
  make_ready();
  close("demo-tcp-30001");
  pass(2s);
  EXPECT_THAT(listeners(), ElementsAre("demo-tcp-30000", "demo-tcp-30001"));
}

TEST_F(PoolsTest, APoolThatIsDeletedWaitsForWhoHasAPort) {
  make_ready();
  hold("demo-tcp-30000");
  remove_pool();
  EXPECT_TRUE(is_leaving("demo-tcp-30001"));
  EXPECT_FALSE(is_leaving("demo-tcp-30000")) << "room-0 has it";
  close("demo-tcp-30001");
  EXPECT_NE(message(), "gone");
  EXPECT_EQ(grants(), 1U);
  put(claims::testing::with_claim(listener("demo-tcp-30000"), ""));
  settle();
  EXPECT_TRUE(is_leaving("demo-tcp-30000"));
  close("demo-tcp-30000");
  pass(2s);
  EXPECT_EQ(message(), "gone");
  EXPECT_EQ(grants(), 0U);
}

TEST_F(PoolsTest, AWriteThatIsOvertakenIsDoneAgain) {
  api_.on({"PATCH", "portpools/rooms"}, {.refused = 409});
  put(pool_);
  settle();
  EXPECT_THAT(listeners(), IsEmpty());
  pass(2s);
  EXPECT_THAT(listeners(), ElementsAre("demo-tcp-30000", "demo-tcp-30001"));
  api_.on({"PATCH", "portpools/rooms/status"}, {.refused = 409});
  serve();
  pass(2s);
  EXPECT_EQ(message(), "Ready");
}

TEST_F(PoolsTest, ANameIsWaitedForAndThenItsIdIsTold) {
  pool_.spec.pool_items.front().load_balancer_ids = {"my-clb"};
  put(pool_);
  settle();
  EXPECT_THAT(message(), HasSubstr("it is being asked"));
  EXPECT_THAT(listeners(), IsEmpty());
  directory_ = model::LoadBalancerRef{model::Provider::tencent, "ap-x", "lb-1"};
  controller_.look_at_those_with({model::Provider::tencent, "ap-x", "another"});
  settle();
  EXPECT_THAT(listeners(), IsEmpty()) << "it has no such name";
  controller_.look_at_those_with({model::Provider::tencent, "ap-x", "my-clb"});
  settle();
  EXPECT_THAT(listeners(), ElementsAre("lb-1-tcp-30000", "lb-1-tcp-30001"));
  EXPECT_EQ(wire::string_at(*api_.find(kPool, kRooms), "/status/poolItems/0/loadBalancerIDs/0"),
            "ap-x:lb-1");
}

}  // namespace
}  // namespace berth::controllers::portpool
