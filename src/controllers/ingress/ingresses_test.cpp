// What the controller of Ingresses writes, in which order, and what becomes of writes that fail; on
// a scripted API, in virtual time. What an Ingress wants is decided in ingress_plan.h.
#include "controllers/ingress/ingresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/keys.h"
#include "api/test_ingress.h"
#include "claims/test_support.h"
#include "controllers/ingress/test_cluster.h"
#include "kube/client/test_scripted_api.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::controllers::ingress {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Object;
using wire::Value;

const kube::ResourceType& kIngress = api::ingress_kind().type;
const kube::ResourceType& kListener = api::listener_kind().type;
const kube::ResourceType& kBalancer = api::load_balancer_kind().type;
const kube::ObjectKey kWeb{"games", "web"};
const kube::ObjectKey kDemo{"", "edge.demo"};
const std::string kRule =
    "{port: 443, protocol: TCP, services: [{serviceName: web, servicePort: 8080, "
    "isDirectConnect: true}]}";

// Ingress games/web leads port 443 of the edge's demo to the Pods of Service web. Its text says no
// provider, and the process was started with Tencent as the default.
class IngressesTest : public ::testing::Test {
 protected:
  IngressesTest() {
    claims::add_indexes(listeners_, {});
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    api_.on_change = [this](std::string_view plural, const kube::ObjectKey& key, const Value* now) {
      if (plural == "ingresses") tell(ingresses_, api::decode_ingress, key, now);
      if (plural == "listeners") tell(listeners_, api::decode_listener, key, now);
      if (plural == "loadbalancers") tell(balancers_, api::decode_load_balancer, key, now);
    };
    put(testing::service("web"));
    put(testing::pod("web-a", "10.0.0.1", {{"app", "web"}}));
    controller_.add_to(manager_);
    running_ = tasks_.spawn("run", [this](std::stop_token stop) {
      (void)manager_.run({.tasks = tasks_, .stop = std::move(stop)});
    });
  }
  template <class Store, class Decode>
  void tell(Store& store, Decode decode, const kube::ObjectKey& key, const Value* now) {
    if (now) store.put(decode(*now).value());
    if (!now) store.erase(key, "", api_.version());
  }
  void put(kube::Service service) {
    service.meta.resource_version = ++version_;
    services_.put(std::move(service));
  }
  void put(kube::Pod pod) {
    pod.meta.resource_version = ++version_;
    pods_.put(std::move(pod));
  }
  void write(const std::string& rules, const std::string& text = "edge:demo") {
    const Object spec{{"rules", wire::parse_yaml("[" + rules + "]").value()}};
    const Object annotations{{api::kLoadBalancerIdsAnnotation, text}};
    if (api_.find(kIngress, kWeb)) {
      api_.edit(kIngress, kWeb,
                Object{{"metadata", Object{{"annotations", annotations}}}, {"spec", spec}});
    } else {
      api_.put(
          kIngress,
          Object{{"metadata",
                  Object{{"namespace", "games"}, {"name", "web"}, {"annotations", annotations}}},
                 {"spec", spec}});
    }
    settle();
  }
  void settle() { ASSERT_TRUE(kernel_.run_until_quiescent(500ms)); }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }
  // The load balancer has an address, and what is asked of it.
  void serve() {
    api_.edit(kBalancer, kDemo, Object{{"status", Object{{"vips", wire::Array{"1.1.1.1"}}}}});
    for (const Value& one : api_.all(kListener))
      api_.put(kListener, claims::testing::encoded(
                              claims::testing::applied(api::decode_listener(one).value())));
    settle();
  }
  void make_ready() {
    write(kRule);
    serve();
    ASSERT_EQ(says("status"), "Ready") << says("message");
    api_.forget_calls();
  }

  std::string says(const std::string& field) const {
    const Value* const found = api_.find(kIngress, kWeb);
    return found ? std::string(wire::string_at(*found, "/status/" + field)) : "gone";
  }
  std::vector<std::string> listeners() const {
    std::vector<std::string> out;
    for (const Value& one : api_.all(kListener))
      out.emplace_back(wire::string_at(one, "/metadata/name"));
    return out;
  }
  api::Listener listener(const std::string& name = "demo-443") const {
    return api::decode_listener(*api_.find(kListener, {"games", name})).value();
  }
  static std::vector<std::string> led_to(const api::Listener& listener) {
    std::vector<std::string> out;
    for (const api::ListenerBackend* const one : api::backends_of(listener.spec))
      out.push_back(fmt::format("{}:{}", one->ip, one->port));
    return out;
  }
  // Events tell of writes, and are none that others build on.
  std::vector<std::string> writes() const {
    std::vector<std::string> out = api_.writes();
    std::erase_if(out, [](const std::string& one) { return one.find("events") != one.npos; });
    return out;
  }

  sim::Kernel kernel_{1, {.wall_start = claims::testing::kNow}};
  sim::Process& tasks_ = kernel_.start_process("test");
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  kube::ResourceVersion version_ = 0;
  kube::Store<api::Ingress> ingresses_;
  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  kube::Store<kube::Pod> pods_;
  kube::Store<kube::Service> services_;
  const model::LoadBalancerDefaults defaults_{model::Provider::tencent, "ap-x"};
  claims::Grantor grantor_{client_, balancers_, blocks_, listeners_, claims::testing::sealer()};
  const claims::Resolver resolver_{
      grantor_.book(), listeners_, claims::testing::sealer(), defaults_,
      [](const model::LoadBalancerRef&, std::string_view) -> Result<model::LoadBalancerRef> {
        return fail(Code::unavailable, "it is being asked");
      }};
  claims::Courtesy courtesy_;
  frontend::Contenders contenders_;
  frontend::Keeper keeper_{{client_, listeners_, grantor_, claims::testing::sealer(), courtesy_,
                            contenders_, defaults_, "berth-system"}};
  metrics::Registry registry_;
  kube::EventRecorder events_{tasks_, client_, "berth", registry_};
  IngressController controller_{tasks_,
                                client_,
                                {ingresses_, listeners_, balancers_, blocks_, pods_, services_},
                                keeper_,
                                claims::testing::sealer(),
                                resolver_,
                                events_,
                                {.defaults = defaults_},
                                &registry_};
  kube::Manager manager_;
  std::unique_ptr<Task> running_;
};

TEST_F(IngressesTest, PortsAreOwnedBeforeListenersAreMadeAndThenNothingIsWritten) {
  write(kRule);
  ASSERT_GE(writes().size(), 4U);
  EXPECT_EQ(writes()[0], "PATCH ingresses/web") << "first our finalizer";
  EXPECT_EQ(writes()[1], "POST loadbalancers") << "then its grant";
  ASSERT_THAT(listeners(), ElementsAre("demo-443"));
  EXPECT_THAT(led_to(listener()), ElementsAre("10.0.0.1:80"));
  EXPECT_EQ(says("status"), "NotReady");
  serve();
  EXPECT_EQ(says("status"), "Ready") << says("message");
  api_.forget_calls();
  api_.edit(kIngress, kWeb, Object{{"metadata", Object{{"labels", Object{{"a", "b"}}}}}});
  settle();
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(IngressesTest, ItFollowsItsPods) {
  make_ready();
  put(testing::pod("web-b", "10.0.0.2", {{"app", "web"}}));
  settle();
  EXPECT_THAT(led_to(listener()), ElementsAre("10.0.0.1:80", "10.0.0.2:80"));
  pods_.erase({"games", "web-a"}, "", ++version_);
  settle();
  EXPECT_THAT(led_to(listener()), ElementsAre("10.0.0.2:80"));
  api_.forget_calls();
  put(testing::pod("other", "10.0.0.3", {{"app", "other"}}));
  settle();
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(IngressesTest, ItVouchesForWhatItLeadsToAndForNothingElse) {
  make_ready();
  EXPECT_TRUE(controller_.vouch(listener()));
  api::Listener edited = listener();
  edited.spec.target_group->backends.front().ip = "10.0.0.9";
  EXPECT_EQ(controller_.vouch(edited).error().code, Code::unavailable);
}

// Once it stands, that its text says less does not move it, and neither makes it invalid.
TEST_F(IngressesTest, ATextIsReadByWhereTheIngressStands) {
  make_ready();
  write(kRule, "demo");
  EXPECT_EQ(says("status"), "Ready") << says("message");
  EXPECT_THAT(listeners(), ElementsAre("demo-443"));
  EXPECT_TRUE(controller_.vouch(listener()));
  put(testing::pod("web-b", "10.0.0.2", {{"app", "web"}}));
  settle();
  EXPECT_THAT(led_to(listener()), ElementsAre("10.0.0.1:80", "10.0.0.2:80"));
}

// As Kubernetes lets it be.
TEST_F(IngressesTest, ItsNameMayBeLongerThanALabel) {
  const Object annotations{{api::kLoadBalancerIdsAnnotation, "edge:demo"}};
  api_.put(kIngress, Object{{"metadata", Object{{"namespace", "games"},
                                                {"name", std::string(100, 'x')},
                                                {"annotations", annotations}}},
                            {"spec", wire::parse_yaml("{rules: [" + kRule + "]}").value()}});
  settle();
  ASSERT_THAT(listeners(), ElementsAre("demo-443"));
  EXPECT_TRUE(controller_.vouch(listener()));
}

// Somebody wrote it while no webhook was asked.
TEST_F(IngressesTest, OfOneThatIsNotValidNothingIsActedOnAndWhatItHasStays) {
  make_ready();
  write("{port: 443, protocol: SCTP}");
  EXPECT_EQ(says("status"), "NotReady");
  EXPECT_THAT(says("message"), HasSubstr("spec.rules[0].protocol: 'SCTP' is not one of"));
  EXPECT_THAT(led_to(listener()), ElementsAre("10.0.0.1:80"));
  EXPECT_THAT(writes(), ElementsAre("PATCH ingresses/web"));
  write(kRule);
  EXPECT_EQ(says("status"), "Ready");
}

TEST_F(IngressesTest, WhoHasItsPortIsNamed) {
  const api::LoadBalancerSpec taken{.provider = "edge",
                                    .load_balancer_id = "demo",
                                    .grants = {{.protocol = "TCP",
                                                .start_port = 400,
                                                .end_port = 500,
                                                .owner_kind = "PortPool",
                                                .owner_namespace = "games",
                                                .owner_name = "rooms",
                                                .owner_uid = "uid-of-rooms",
                                                .item = "item1",
                                                .since = "2026-01-01T00:00:00Z"}}};
  api_.put(kBalancer,
           Object{{"metadata", Object{{"name", "edge.demo"}}}, {"spec", api::encode(taken)}});
  write(kRule);
  EXPECT_THAT(says("message"), HasSubstr("PortPool games/rooms"));
  EXPECT_THAT(listeners(), IsEmpty());
  api_.edit(kBalancer, kDemo, Object{{"spec", Object{{"grants", wire::Array{}}}}});
  pass(11s);
  EXPECT_THAT(listeners(), ElementsAre("demo-443"));
}

TEST_F(IngressesTest, OneThatIsDeletedGoesWhenItsListenersHaveGone) {
  make_ready();
  api_.edit(kIngress, kWeb,
            Object{{"metadata", Object{{"deletionTimestamp", "2026-01-02T00:00:00Z"}}}});
  settle();
  EXPECT_TRUE(listener().meta.deleting);
  EXPECT_NE(says("status"), "gone") << "the load balancer has its Listener";
  api_.erase(kListener, {"games", "demo-443"});
  settle();
  pass(2s);
  EXPECT_EQ(says("status"), "gone");
  const wire::Array* const left = wire::array_at(*api_.find(kBalancer, kDemo), "/spec/grants");
  EXPECT_TRUE(!left || left->empty());
}

TEST_F(IngressesTest, AWriteThatIsOvertakenIsDoneAgain) {
  api_.on({"PATCH", "ingresses/web"}, {.refused = 409});
  write(kRule);
  EXPECT_THAT(listeners(), IsEmpty());
  pass(2s);
  EXPECT_THAT(listeners(), ElementsAre("demo-443"));
  api_.on({"PATCH", "ingresses/web"}, {.refused = 409});
  serve();
  pass(2s);
  EXPECT_EQ(says("status"), "Ready");
}

}  // namespace
}  // namespace berth::controllers::ingress
