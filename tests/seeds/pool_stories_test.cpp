// What the page says of pools happens, on our own load balancer and on a simulated Tencent Cloud:
// every load balancer has its ports, and a Pod that asks for one is reached at each of them.

#include <set>

#include "stories.h"
#include "wire/yaml.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class PoolStories : public Stories {
 protected:
  // "lb-test1 TCP 30000", "lb-test1 UDP 30000-30004": what a pool of these ports has, in steps.
  static std::set<std::string> ways(const std::vector<std::string>& lbs,
                                    const std::vector<std::string>& protocols, int first, int end,
                                    int step = 1) {
    std::set<std::string> out;
    for (const std::string& lb : lbs)
      for (const std::string& protocol : protocols)
        for (int port = first; port + step <= end; port += step)
          out.insert(fmt::format("{} {} {}", lb, protocol, range(port, port + step - 1)));
    return out;
  }
  static std::string range(std::int64_t first, std::int64_t last) {
    return first < last ? fmt::format("{}-{}", first, last) : fmt::format("{}", first);
  }
  std::set<std::string> listeners(const std::string& ns) {
    std::set<std::string> out;
    for (const Value& one : list(api::listener_kind().type, ns)) {
      const std::string_view lb = wire::string_at(one, "/spec/loadbalancerID");
      out.insert(fmt::format("{} {} {}", lb.substr(lb.find(':') + 1),
                             wire::string_at(one, "/spec/protocol"),
                             range(wire::int_at(one, "/spec/port").value_or(0),
                                   wire::int_at(one, "/spec/endPort").value_or(0))));
    }
    return out;
  }
  std::set<std::string> in_cloud() {
    std::set<std::string> out;
    const Value all = cloud();
    for (const Value& lb : *wire::array_at(all, "/loadBalancers"))
      for (const Value& one : *wire::array_at(lb, "/listeners"))
        if (wire::string_at(one, "/name") != "somebody-else")
          out.insert(fmt::format("{} {} {}", wire::string_at(lb, "/id"),
                                 wire::string_at(one, "/protocol"),
                                 range(wire::int_at(one, "/port").value_or(0),
                                       wire::int_at(one, "/endPort").value_or(0))));
    return out;
  }
  void expect_pool(const std::string& ns, const std::string& name,
                   const std::set<std::string>& wanted) {
    EXPECT_TRUE(pool_is_ready(ns, name))
        << wire::to_json(get(api::port_pool_kind().type, ns, name));
    EXPECT_EQ(listeners(ns), wanted);
    if (!on_cloud()) return;
    EXPECT_EQ(in_cloud(), wanted);
  }

  // Its containers open 8000 to 8004 and 8080 over both transports.
  void make_room(const std::string& ns, const std::string& name, const std::string& ports,
                 int host_port = 0) {
    merge(kube::types::kNamespace, {"", ns},
          R"({"metadata":{"labels":{"bcs-ingress-controller-inject":"true"}}})");
    std::string open;
    for (const int port : {8000, 8001, 8002, 8003, 8004, 8080})
      for (const char* protocol : {"TCP", "UDP"}) {
        const bool is_first = open.empty();
        open += fmt::format(
            "{}{{containerPort: {}, protocol: {}{}{}}}", is_first ? "" : ", ", port, protocol,
            is_first ? ", name: httpport" : "",
            is_first && host_port ? fmt::format(", hostPort: {}", host_port) : std::string());
      }
    create(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: {}
  namespace: {}
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: {}
spec: {{containers: [{{name: main, image: main, ports: [{}]}}]}}
)",
                       name, ns, wire::to_json(wire::Value(ports)), open));
  }
  static std::vector<api::PortBindingItem> bindings(const Value& pod) {
    const auto entries = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation));
    EXPECT_TRUE(entries) << wire::to_json(pod);
    return entries.value_or(std::vector<api::PortBindingItem>{});
  }
  // At every load balancer of it, and for each port of a segment.
  void expect_reached(const Value& pod, const api::PortBindingItem& binding) {
    const std::int64_t last = std::max(binding.start_port, binding.end_port);
    for (const auto& lb : binding.pool_item_load_balancers) {
      ASSERT_FALSE(lb.ips.empty());
      for (std::int64_t port = binding.start_port; port <= last; ++port) {
        const model::Target door{lb.ips.front(), static_cast<model::Port>(port)};
        if (binding.protocol == "TCP") {
          expect_answer(door, name_of(pod));
        } else {
          expect_echo_over_udp(
              door, std::string(wire::string_at(pod, "/metadata/namespace")),
              std::string(wire::string_at(pod, "/metadata/name")),
              static_cast<model::Port>(binding.rs_start_port + port - binding.start_port));
        }
      }
    }
  }
};

// Block 38: loadBalancerIDs, and loadBalancerID.
TEST_P(PoolStories, BothSpellingsOfLoadBalancersAreUnderstood) {
  std::string yaml = block(38);
  replace_all(yaml, "endPort: 31000", "endPort: 30020");
  create(yaml);
  std::set<std::string> wanted = ways({"lb-test1", "lb-test2"}, {"TCP"}, 30000, 30020);
  wanted.merge(ways({"lb-test3", "lb-test4"}, {"TCP", "UDP"}, 30000, 30020));
  expect_pool("default", "portpool-example1", wanted);
  const Value pool = get(api::port_pool_kind().type, "default", "portpool-example1");
  EXPECT_EQ(wire::string_at(pool, "/status/poolItems/1/loadBalancerIDs/0"), "lb-test3");

  make_room("default", "room", "portpool-example1/item1 TCP 8000\nportpool-example1 UDP 8001");
  const Value pod = ready_pod("default", "room");
  const auto told = bindings(pod);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0].load_balancer_ids, ElementsAre("lb-test1", "lb-test2"));
  EXPECT_THAT(told[1].load_balancer_ids, ElementsAre("lb-test3", "lb-test4"));
  for (const auto& one : told) {
    EXPECT_EQ(one.pool_item_load_balancers.size(), 2u);
    expect_reached(pod, one);
  }
}

// Block 39.
TEST_P(PoolStories, SegmentsAsDeclared) {
  std::string yaml = block(39);
  replace_all(yaml, "endPort: 31000", "endPort: 30020");
  create(yaml);
  expect_pool("default", "portpool-example1",
              ways({"lb-test1", "lb-test2"}, {"TCP", "UDP"}, 30000, 30020, 5));
  make_room("default", "room", "portpool-example1 TCP_UDP 8000");
  const Value pod = ready_pod("default", "room");
  const auto told = bindings(pod);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT((std::vector{told[0].protocol, told[1].protocol}),
              UnorderedElementsAre("TCP", "UDP"));
  for (const auto& one : told) {
    EXPECT_EQ(one.start_port, told[0].start_port) << "both on one port";
    EXPECT_EQ(one.end_port, one.start_port + 4);
    EXPECT_EQ(one.rs_start_port, 8000);
    EXPECT_EQ(one.pool_item_load_balancers.size(), 2u);
    expect_reached(pod, one);
  }
}

// Block 46.
TEST_P(PoolStories, APoolOfTwoRegions) {
  make_namespace("ingress");
  std::string yaml = block(46);
  replace_all(yaml, "ap-chongqing:lb-xxxxxxxx", "ap-chongqing:lb-west");
  replace_all(yaml, "ap-shanghai:lb-xxxxxxxx", "ap-shanghai:lb-east");
  replace_all(yaml, "endPort: 31100", "endPort: 31010");  // a cloud takes its time for a hundred
  create(yaml);
  expect_pool("ingress", "test-pool1", ways({"lb-west", "lb-east"}, {"TCP", "UDP"}, 31000, 31010));
  make_room("ingress", "room", "test-pool1 TCP 8000");
  const Value pod = ready_pod("ingress", "room");
  const auto told = bindings(pod);
  ASSERT_EQ(told.size(), 1u);
  ASSERT_EQ(told[0].pool_item_load_balancers.size(), 2u);
  expect_reached(pod, told[0]);
}

// The forms that block 40 shows, in its order.
std::vector<std::string> forms_of(const std::string& text) {
  const std::string key = std::string(api::kPortsAnnotation) + ":";
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += key.size()) {
    const std::size_t next = text.find(key, at + 1);
    const auto form = wire::parse_yaml(text.substr(at, next - at));
    EXPECT_TRUE(form) << form.error().to_string();
    if (form)
      out.emplace_back(
          wire::string_at(*form, "/" + wire::escape_pointer_step(api::kPortsAnnotation)));
  }
  return out;
}

// Block 40: a Pod for each form, and what it must get: "pool.namespace PROTOCOL port".
TEST_P(PoolStories, EveryFormOfTheAnnotationIsUnderstood) {
  const std::vector<std::vector<std::string>> wanted{
      {"portpool-sample.default TCP 8000"},
      {"portpool-sample.default TCP 8000", "portpool-sample.default UDP 8000"},
      {"portpool1.ns1 TCP 8000"},
      {"portpool1.ns1 TCP 8000/hostport"},
      {"portpool1.ns1 TCP 8000"},
      {"portpool1.ns1 TCP 8000"},
      {"portpool1.ns1 TCP 8000", "portpool1.ns1 UDP 8000", "portpool2.ns1 TCP 8080"},
      {"portpool1.ns1 TCP 8000", "portpool1.ns1 UDP 8000", "portpool2.ns1 TCP 8080"}};
  const std::vector<std::string> forms = forms_of(block(40));
  ASSERT_EQ(forms.size(), wanted.size());
  make_namespace("ns1");
  int lb = 1;
  for (const auto& [ns, name] : {std::pair{"default", "portpool-sample"},
                                 std::pair{"ns1", "portpool1"}, std::pair{"ns1", "portpool2"}}) {
    create(pool_yaml(ns, name,
                     fmt::format("{{poolItems: [{{itemName: item1, loadBalancerIDs: [lb-test{}], "
                                 "startPort: 32000, endPort: 32008}}]}}",
                                 lb++)));
    ASSERT_TRUE(pool_is_ready(ns, name));
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const std::string name = fmt::format("form-{}", i + 1);
    SCOPED_TRACE(name + ": " + forms[i]);
    const int host_port = wanted[i].front().ends_with("/hostport") ? 18080 : 0;
    make_room("default", name, forms[i], host_port);
    const Value pod = ready_pod("default", name);
    std::vector<std::string> got;
    for (const auto& one : bindings(pod)) {
      got.push_back(fmt::format("{}.{} {} {}{}", one.pool_name, one.pool_namespace, one.protocol,
                                one.rs_start_port, one.host_port ? "/hostport" : ""));
      expect_reached(pod, one);
    }
    EXPECT_EQ(got, wanted[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(On, PoolStories,
                         ::testing::Values(model::Provider::edge, model::Provider::tencent),
                         name_of_provider);

}  // namespace
}  // namespace berth
