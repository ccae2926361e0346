// What the page says of Ingresses happens, on a playground: their Listeners are as it draws them,
// and where Pods are led to directly, they answer.

#include <gmock/gmock.h>

#include "api/ingress.h"
#include "edge/echo_server.h"
#include "seeds_world.h"
#include "wire/yaml.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using wire::Array;
using wire::Value;

constexpr int kAnswerMs = 10'000;

class IngressStories : public Seeds {
 protected:
  // One block shows a mapping without its object.
  std::string ingress_block(int number) const {
    const std::string yaml = block(number);
    if (!yaml.starts_with("- startPort:")) return yaml;
    std::string mapping;
    std::istringstream in(yaml);
    for (std::string line; std::getline(in, line);)
      mapping += "  " + (mapping.empty() ? line : line.substr(2)) + "\n";
    return "apiVersion: networkextension.bkbcs.tencent.com/v1\nkind: Ingress\nmetadata: {name: "
           "web, namespace: default, annotations: {networkextension.bkbcs.tencent.com/lbids: "
           "lb-xxxxxxx}}\nspec:\n  portMappings:\n" +
           mapping;
  }

  // "ip:port weight" of each backend of a Listener, over all its rules.
  std::vector<std::string> backends(const std::string& ns, const std::string& listener) {
    const Value object = get(api::listener_kind().type, ns, listener);
    std::vector<std::string> out;
    const auto add = [&](const Value& holder) {
      const Array* list = wire::array_at(holder, "/targetGroup/backends");
      for (const Value& one : list ? *list : Array{})
        out.push_back(fmt::format("{}:{} {}", wire::string_at(one, "/IP"),
                                  wire::int_at(one, "/port").value_or(0),
                                  wire::int_at(one, "/weight").value_or(0)));
    };
    if (const Value* spec = wire::find(object, "/spec")) add(*spec);
    const Array* rules = wire::array_at(object, "/spec/rules");
    for (const Value& rule : rules ? *rules : Array{}) add(rule);
    return out;
  }
  bool leads(const std::string& ns, const std::string& listener,
             const std::vector<std::string>& wanted) {
    std::vector<std::string> found;
    const bool yes = eventually([&] {
      found = backends(ns, listener);
      std::ranges::sort(found);
      return found == wanted;
    });
    EXPECT_EQ(found, wanted) << listener;
    return yes;
  }
  bool is_ready(const std::string& ns, const std::string& name) {
    const bool yes = eventually([&] {
      return wire::string_at(get(api::ingress_kind().type, ns, name), "/status/status") == "Ready";
    });
    EXPECT_TRUE(yes) << wire::to_json(get(api::ingress_kind().type, ns, name));
    return yes;
  }
  // Where the Ingress is reached.
  std::string address(const std::string& ns, const std::string& name) {
    return std::string(
        wire::string_at(get(api::ingress_kind().type, ns, name), "/status/loadbalancers/0/ips/0"));
  }
  void expect_echo(const std::string& ip, model::Port port) {
    const auto heard = edge::ask_over_tcp({ip, port}, "ahoy", kAnswerMs);
    EXPECT_TRUE(heard && heard->find("ahoy") != std::string::npos)
        << ip << ":" << port << ": " << (heard ? *heard : heard.error().to_string());
  }
  Value pod_of(const std::string& ns, const std::string& prefix) {
    Value found;
    EXPECT_TRUE(eventually([&] {
      for (const Value& pod : list(kube::types::kPod, ns)) {
        if (wire::string_at(pod, "/metadata/name").starts_with(prefix) &&
            !wire::string_at(pod, "/status/podIP").empty())
          found = pod;
      }
      return !found.is_null();
    })) << prefix;
    return found;
  }
  static std::string ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/podIP"));
  }
  static std::string node_ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/hostIP"));
  }
  std::int64_t node_port(const std::string& ns, const std::string& service) {
    return wire::int_at(get(kube::types::kService, ns, service), "/spec/ports/0/nodePort")
        .value_or(0);
  }
  // A Deployment and a Service of it, as the scenarios describe them.
  void make_service(const std::string& ns, const std::string& name, int port, int target,
                    const std::string& labels = {}, const std::string& more = {}) {
    create(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {0}, namespace: {1}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{run: {0}}}}}
  template:
    metadata: {{labels: {{run: {0}, app: {0}{4}}}}}
    spec: {{containers: [{{name: main, image: main, ports: [{{containerPort: {3}{5}}}]}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {0}, namespace: {1}}}
spec:
  type: NodePort
  selector: {{app: {0}}}
  ports: [{{protocol: TCP, port: {2}, targetPort: {3}}}]
)",
                       name, ns, port, target, labels, more));
  }
};

// Blocks 5, 6 and 7: NodePorts, directly to Pods, and a segment for each Pod of a StatefulSet.
TEST_F(IngressStories, TheQuickStart) {
  for (const int one : {2, 3, 5, 6, 7}) create(ingress_block(one));
  const Value nginx = pod_of("ingress-test", "nginx-");
  EXPECT_TRUE(is_ready("ingress-test", "test1"));
  EXPECT_TRUE(leads("ingress-test", "lb-xxx-38080",
                    {fmt::format("{}:{} 10", node_ip(nginx), node_port("ingress-test", "nginx"))}));
  EXPECT_TRUE(is_ready("ingress-test", "test2"));
  Value direct;
  EXPECT_TRUE(eventually([&] {
    for (const Value& pod : list(kube::types::kPod, "ingress-test"))
      if (wire::string_at(pod, "/metadata/labels/app") == "nginx") direct = pod;
    return !direct.is_null() &&
           backends("ingress-test", "lb-xxx-39090") == std::vector{ip(direct) + ":80 10"};
  }));
  EXPECT_TRUE(is_ready("ingress-test", "test2"));
  expect_echo(address("ingress-test", "test2"), 39090);
  EXPECT_TRUE(is_ready("ingress-test", "test3"));
  for (int i = 0; i < 3; ++i) {
    const Value pod = pod_of("ingress-test", fmt::format("nginx-sts-{}", i));
    const int first = 30000 + 2 * i;
    EXPECT_TRUE(leads("ingress-test", fmt::format("lb-xxx-{}-{}", first, first + 1),
                      {fmt::format("{}:{} 10", ip(pod), 80 + 2 * i)}));
  }
  EXPECT_TRUE(is_ready("ingress-test", "test3"));
  expect_echo(address("ingress-test", "test3"), 30000);
}

// Block 15, then 17: the same name of the Ingress is another scenario's.
TEST_F(IngressStories, ToNodePortsAndDirectly) {
  make_service("default", "test-svc", 8080, 8080);
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(15));
  EXPECT_TRUE(leads("default", "lb-xxxxxxx-38080",
                    {fmt::format("{}:{} 10", node_ip(pod), node_port("default", "test-svc"))}));
  EXPECT_TRUE(is_ready("default", "test1"));
}

TEST_F(IngressStories, DirectlyToPods) {
  make_service("default", "test-svc", 28080, 8080);
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(17));
  EXPECT_TRUE(leads("default", "lb-xxxxxxx-38080", {ip(pod) + ":8080 10"}));
  EXPECT_TRUE(is_ready("default", "test2"));
  expect_echo(address("default", "test2"), 38080);
}

TEST_F(IngressStories, ToHostPorts) {
  make_service("default", "test-svc", 28080, 8080, "", ", hostPort: 18080");
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(20));
  EXPECT_TRUE(leads("default", "lb-xxxxxxx-38080", {node_ip(pod) + ":18080 10"}));
  EXPECT_TRUE(is_ready("default", "test2"));
}

TEST_F(IngressStories, SegmentsOfAStatefulSet) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: game}\n");
  create(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: gameserver, namespace: game}
spec:
  replicas: 6
  serviceName: gameserver
  selector: {matchLabels: {app: gameserver}}
  template:
    metadata: {labels: {app: gameserver}}
    spec: {containers: [{name: main, image: main}]}
)");
  create(ingress_block(23));
  for (int i = 0; i < 6; ++i) {
    const Value pod = pod_of("game", fmt::format("gameserver-{}", i));
    const int first = 30000 + 5 * i;
    EXPECT_TRUE(leads("default", fmt::format("lb-xxxxxxx-{}-{}", first, first + 4),
                      {fmt::format("{}:{} 10", ip(pod), first)}));
  }
  EXPECT_TRUE(is_ready("default", "test4"));
}

TEST_F(IngressStories, WeightsBetweenServices) {
  make_service("default", "svc1", 8080, 80);
  make_service("default", "svc2", 8080, 80);
  create(ingress_block(28));
  const Value one = pod_of("default", "svc1-");
  const Value two = pod_of("default", "svc2-");
  std::vector<std::string> wanted{
      fmt::format("{}:{} 80", node_ip(one), node_port("default", "svc1")),
      fmt::format("{}:{} 20", node_ip(two), node_port("default", "svc2"))};
  std::ranges::sort(wanted);
  EXPECT_TRUE(leads("default", "lb-xxxxxxx-38080", wanted));
}

TEST_F(IngressStories, WeightsBetweenDeploymentsOfOneService) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: ingress-test}\n");
  make_service("ingress-test", "nginx-v2", 8080, 80, ", version: v2-1");
  create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: second, namespace: ingress-test}
spec:
  replicas: 1
  selector: {matchLabels: {run: second}}
  template:
    metadata: {labels: {run: second, app: nginx-v2, version: v2-2}}
    spec: {containers: [{name: main, image: main, ports: [{containerPort: 80}]}]}
)");
  create(ingress_block(29));
  std::vector<std::string> wanted{ip(pod_of("ingress-test", "nginx-v2-")) + ":80 10",
                                  ip(pod_of("ingress-test", "second-")) + ":80 20"};
  std::ranges::sort(wanted);
  EXPECT_TRUE(leads("ingress-test", "lb-7hxxxxx-8080", wanted));
  EXPECT_TRUE(is_ready("ingress-test", "test-tcp"));
  expect_echo(address("ingress-test", "test-tcp"), 8080);
}

TEST_F(IngressStories, TwoRegionsHaveAListenerEach) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: ingress}\n");
  make_service("ingress", "nginx-host", 8080, 80);
  create(ingress_block(45));
  const Value pod = pod_of("ingress", "nginx-host-");
  const std::string wanted =
      fmt::format("{}:{} 10", node_ip(pod), node_port("ingress", "nginx-host"));
  EXPECT_TRUE(leads("ingress", "lb-xxxxxxxx-38080", {wanted}));
  // The page has one id for both: the second one's Listener has a suffix.
  EXPECT_TRUE(eventually([&] { return list(api::listener_kind().type, "ingress").size() == 2; }));
  for (const Value& one : list(api::listener_kind().type, "ingress"))
    EXPECT_TRUE(leads("ingress", std::string(wire::string_at(one, "/metadata/name")), {wanted}));
}

// Blocks 22, 30 and 47 have rules of layer 7: their Listeners are as written.
TEST_F(IngressStories, DomainsAndPathsAreRulesOfOneListener) {
  make_service("default", "test-tcp", 8080, 8080);
  create(ingress_block(22));
  const Value pod = pod_of("default", "test-tcp-");
  EXPECT_TRUE(leads("default", "lb-xxxxxxx-443",
                    {fmt::format("{}:{} 10", node_ip(pod), node_port("default", "test-tcp"))}));
  const Value listener = get(api::listener_kind().type, "default", "lb-xxxxxxx-443");
  EXPECT_EQ(wire::string_at(listener, "/spec/protocol"), "HTTPS");
  EXPECT_EQ(wire::string_at(listener, "/spec/certificate/certID"), "xxx");
  EXPECT_EQ(wire::string_at(listener, "/spec/rules/0/domain"), "www.qq.com");
  EXPECT_EQ(wire::string_at(listener, "/spec/rules/0/path"), "/path1");
}

TEST_F(IngressStories, AListenerOfLayer7ForEachPod) {
  create(ingress_block(30));
  EXPECT_TRUE(eventually([&] {
    return wire::string_at(get(api::listener_kind().type, "default", "lb-xxxxxxx-30005-0"),
                           "/spec/rules/0/path") == "/path2";
  }));
}

TEST_F(IngressStories, EveryParameterOfTheLastChapter) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: test}\n");
  make_service("default", "test-tcp", 1111, 1111, "", ", hostPort: 11111");
  make_service("default", "test2", 2222, 2222);
  std::string yaml = ingress_block(47);
  replace_all(yaml, "lb-xxxxxx", "lb-one");
  create(yaml);
  const Value tcp = pod_of("default", "test-tcp-");
  EXPECT_TRUE(leads("test", "lb-one-1111", {node_ip(tcp) + ":11111 10"}));
  const Value listener = get(api::listener_kind().type, "test", "lb-one-1111");
  EXPECT_EQ(wire::int_at(listener, "/spec/listenerAttribute/sessionTime"), 100);
  EXPECT_EQ(wire::int_at(listener, "/spec/listenerAttribute/healthCheck/intervalTime"), 15);
  const Value http = get(api::listener_kind().type, "test", "lb-one-2222");
  EXPECT_EQ(wire::string_at(http, "/spec/rules/0/listenerAttribute/lbPolicy"), "LEAST_CONN");
  EXPECT_EQ(wire::string_at(http, "/spec/rules/0/listenerAttribute/healthCheck/httpCheckMethod"),
            "HEAD");
}

}  // namespace
}  // namespace berth
