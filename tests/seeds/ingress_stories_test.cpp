// What the page says of Ingresses happens, on our own load balancer and on a simulated Tencent
// Cloud: Listeners are as it draws them, the cloud has what it promises, and whoever comes to the
// port is answered by the Pod that the drawing leads to.

#include "stories.h"
#include "wire/yaml.h"

namespace berth {
namespace {

class IngressStories : public Stories {};

// Blocks 5, 6 and 7: NodePorts, directly to Pods, and a segment for each Pod of a StatefulSet; then
// 8 and 12: a port of a pool.
TEST_P(IngressStories, TheQuickStart) {
  for (const int one : {2, 3, 5, 6, 7, 8}) create(ingress_block(one));
  Value direct;
  EXPECT_TRUE(eventually([&] {
    for (const Value& pod : list(kube::types::kPod, "ingress-test"))
      if (wire::string_at(pod, "/metadata/labels/app") == "nginx") direct = pod;
    return !ip(direct).empty();
  }));
  expect_way("ingress-test", "lb-xxx-38080", "lb-xxx", 38080, "TCP",
             {fmt::format("{}:{} 10", node_ip(direct), node_port("ingress-test", "nginx"))});
  expect_answer(door("ingress-test", "test1", 38080), name_of(direct));
  expect_way("ingress-test", "lb-xxx-39090", "lb-xxx", 39090, "TCP", {ip(direct) + ":80 10"});
  expect_answer(door("ingress-test", "test2", 39090), name_of(direct));
  for (int i = 0; i < 3; ++i) {
    const Value pod = pod_of("ingress-test", fmt::format("nginx-sts-{}", i));
    const int first = 30000 + 2 * i;
    expect_way("ingress-test", fmt::format("lb-xxx-{}-{}", first, first + 1), "lb-xxx", first,
               "TCP", {fmt::format("{}:{} 10", ip(pod), 80 + 2 * i)});
  }
  // The page says which of them answers: the Pods have port 80 alone.
  expect_answer(door("ingress-test", "test3", 30000), "ingress-test/nginx-sts-0");
  for (const int deaf : {30001, 30002, 30005})
    EXPECT_THAT(who(door("ingress-test", "test3", static_cast<model::Port>(deaf))),
                ::testing::Not(::testing::HasSubstr("ingress-test/")));
  for (const char* name : {"test1", "test2", "test3"}) is_ready("ingress-test", name);

  ASSERT_TRUE(pool_is_ready("ingress-test", "pool1"));
  merge(kube::types::kNamespace, {"", "ingress-test"},
        R"({"metadata":{"labels":{"bcs-ingress-controller-inject":"true"}}})");
  create(block(12));
  const Value pod = ready_pod("ingress-test", "nginx-portpool-");
  const std::string address = variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_80");
  ASSERT_TRUE(address.ends_with(":31000")) << address;
  expect_answer({address.substr(0, address.find(':')), 31000}, name_of(pod));
  if (on_cloud()) expect_in_cloud("lb-xxx", 31000, "TCP", {ip(pod) + ":80 10"});
}

// Scenario 1.
TEST_P(IngressStories, ToNodePorts) {
  make_service({.name = "test-svc", .node_port = 31003});
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(15));
  expect_way("default", "lb-xxxxxxx-38080", "lb-xxxxxxx", 38080, "TCP",
             {node_ip(pod) + ":31003 10"});
  is_ready("default", "test1");
  expect_answer(door("default", "test1", 38080), name_of(pod));
}

// Scenario 2.
TEST_P(IngressStories, DirectlyToPods) {
  make_service({.name = "test-svc", .port = 28080});
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(17));
  expect_way("default", "lb-xxxxxxx-38080", "lb-xxxxxxx", 38080, "TCP", {ip(pod) + ":8080 10"});
  is_ready("default", "test2");
  expect_answer(door("default", "test2", 38080), name_of(pod));
}

// Scenario 3.
TEST_P(IngressStories, ToHostPorts) {
  make_service({.name = "test-svc", .port = 28080, .container = ", hostPort: 18080"});
  const Value pod = pod_of("default", "test-svc-");
  create(ingress_block(20));
  expect_way("default", "lb-xxxxxxx-38080", "lb-xxxxxxx", 38080, "TCP",
             {node_ip(pod) + ":18080 10"});
  is_ready("default", "test2");
  expect_answer(door("default", "test2", 38080), name_of(pod));
}

// Scenario 4. Its description has a Service test-svc and its YAML test-tcp: the YAML counts.
TEST_P(IngressStories, HttpsToNodePorts) {
  make_service({.name = "test-tcp", .node_port = 31003, .container = ", name: http"});
  const Value pod = pod_of("default", "test-tcp-");
  const std::string authority = make_certificate("default", "xxx", "www.qq.com");
  create(ingress_block(22));
  const Value in_cloud = expect_way("default", "lb-xxxxxxx-443", "lb-xxxxxxx", 443, "HTTPS",
                                    {node_ip(pod) + ":31003 10"}, "www.qq.com/path1");
  const Value listener = get(api::listener_kind().type, "default", "lb-xxxxxxx-443");
  EXPECT_EQ(wire::string_at(listener, "/spec/protocol"), "HTTPS");
  EXPECT_EQ(wire::string_at(listener, "/spec/certificate/certID"), "xxx");
  EXPECT_EQ(wire::string_at(listener, "/spec/rules/0/domain"), "www.qq.com");
  EXPECT_EQ(wire::string_at(listener, "/spec/rules/0/path"), "/path1");
  if (on_cloud()) {
    EXPECT_EQ(wire::string_at(in_cloud, "/certificate/CertId"), "xxx");
    EXPECT_EQ(wire::string_at(in_cloud, "/certificate/SSLMode"), "UNIDIRECTIONAL");
  }
  if (!has_haproxy()) GTEST_SKIP() << "haproxy is not installed";
  is_ready("default", "test3");
  const model::Target at = door("default", "test3", 443);
  const std::string ca = (dir_->path() / "ca.pem").string();
  ASSERT_TRUE(write_file(ca, authority, 0600));
  // A simulated cloud knows ids of certificates, and no contents.
  const std::vector<std::string> trust =
      on_cloud() ? std::vector<std::string>{"-k"} : std::vector<std::string>{"--cacert", ca};
  expect_http("https", at, "www.qq.com", "/path1/x", "200 this is " + name_of(pod), trust);
  EXPECT_EQ(ask_over_http("https", at, "www.qq.com", "/other", trust), "404");
  EXPECT_EQ(ask_over_http("https", at, "www.example.com", "/path1", {"-k"}), "404");
}

// Scenario 5.
TEST_P(IngressStories, SegmentsOfAStatefulSet) {
  std::string ports;
  for (int port = 30000; port < 30030; ++port)
    ports += fmt::format("{}{{containerPort: {}, protocol: UDP}}", ports.empty() ? "" : ", ", port);
  make_game_servers(ports);
  create(ingress_block(23));
  for (int i = 0; i < 6; ++i) {
    const Value pod = pod_of("game", fmt::format("gameserver-{}", i));
    const int first = 30000 + 5 * i;
    const Value in_cloud =
        expect_way("default", fmt::format("lb-xxxxxxx-{}-{}", first, first + 4), "lb-xxxxxxx",
                   first, "UDP", {fmt::format("{}:{} 10", ip(pod), first)});
    if (on_cloud()) {
      EXPECT_EQ(wire::int_at(in_cloud, "/endPort"), first + 4);
    }
  }
  is_ready("default", "test4");
  for (int port = 30000; port < 30030; port += 3) {
    const auto number = static_cast<model::Port>(port);
    expect_echo_over_udp(door("default", "test4", number), "game",
                         fmt::format("gameserver-{}", (port - 30000) / 5), number);
  }
}

// Scenario 6 is in seeds_test.cpp, without an Ingress; host ports that were chosen for the Pods of
// a mapping are in ingress_examples_test.cpp.

// Scenario 7.
TEST_P(IngressStories, WeightsBetweenServices) {
  make_service({.name = "svc1", .node_port = 31003});
  make_service({.name = "svc2", .node_port = 31004});
  create(ingress_block(28));
  const Value one = pod_of("default", "svc1-");
  const Value two = pod_of("default", "svc2-");
  expect_way("default", "lb-xxxxxxx-38080", "lb-xxxxxxx", 38080, "TCP",
             {node_ip(one) + ":31003 80", node_ip(two) + ":31004 20"});
  is_ready("default", "test1");
  const model::Target at = door("default", "test1", 38080);
  EXPECT_TRUE(eventually([&] {
    const auto all = spread(at, 5);
    return all.size() == 2 && all.contains(name_of(one)) && all.contains(name_of(two));
  }));
  EXPECT_EQ(spread(at, 50), (std::map<std::string, int>{{name_of(one), 40}, {name_of(two), 10}}))
      << "four fifths, in turns";
}

// Scenario 8.
TEST_P(IngressStories, WeightsBetweenDeploymentsOfOneService) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: ingress-test}\n");
  make_service(
      {.ns = "ingress-test", .name = "nginx-v2", .target = 80, .labels = ", version: v2-1"});
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
  const Value one = pod_of("ingress-test", "nginx-v2-");
  const Value two = pod_of("ingress-test", "second-");
  expect_way("ingress-test", "lb-7hxxxxx-8080", "lb-7hxxxxx", 8080, "TCP",
             {ip(one) + ":80 10", ip(two) + ":80 20"});
  is_ready("ingress-test", "test-tcp");
  const model::Target at = door("ingress-test", "test-tcp", 8080);
  EXPECT_TRUE(eventually([&] { return spread(at, 3).size() == 2; }));
  EXPECT_EQ(spread(at, 30), (std::map<std::string, int>{{name_of(one), 10}, {name_of(two), 20}}));
}

// Scenario 9, re-indented and completed.
TEST_P(IngressStories, HttpsForEachPodOfAStatefulSet) {
  std::string ports;
  for (int i = 0; i < 6; ++i)
    ports += fmt::format("{}{{containerPort: {}, name: http-{}}}", ports.empty() ? "" : ", ",
                         30000 + i, i);
  make_game_servers(ports);
  make_certificate("default", "xxxxxxx", "www.qq.com");
  create(ingress_block(30));
  for (int i = 0; i < 6; ++i) {
    const Value pod = pod_of("game", fmt::format("gameserver-{}", i));
    expect_way("default", fmt::format("lb-xxxxxxx-{}-0", 30000 + i), "lb-xxxxxxx", 30000 + i,
               "HTTPS", {fmt::format("{}:{} 10", ip(pod), 30000 + i)}, "www.qq.com/path2");
  }
  if (!has_haproxy()) GTEST_SKIP() << "haproxy is not installed";
  is_ready("default", "web");
  for (int i = 0; i < 6; ++i) {
    const model::Target at = door("default", "web", static_cast<model::Port>(30000 + i));
    expect_http("https", at, "www.qq.com", "/path2",
                fmt::format("200 this is game/gameserver-{}", i), {"-k"});
    EXPECT_EQ(ask_over_http("https", at, "www.qq.com", "/path1", {"-k"}), "404");
  }
}

// Scenario 10: blocks 31 and 34. More of it is in seeds_test.cpp.
TEST_P(IngressStories, APortOfAPool) {
  make_namespace("test");
  std::string pool = block(31);
  replace_all(pool, "lb-00001", "lb-one");
  replace_all(pool, "endPort: 31100", "endPort: 31010");  // a cloud takes its time for a hundred
  create(pool);
  ASSERT_TRUE(pool_is_ready("test", "test-pool1"));
  create(block(34));
  const Value pod = ready_pod("test", "nginx-");
  const std::string address = variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_80");
  ASSERT_TRUE(address.ends_with(":31000")) << address;
  expect_answer({address.substr(0, address.find(':')), 31000}, name_of(pod));
  if (on_cloud()) expect_in_cloud("lb-one", 31000, "TCP", {ip(pod) + ":80 10"});
}

// Scenario 11. The page has one id for both regions, which no cloud has.
TEST_P(IngressStories, TwoRegionsLeadToOneCluster) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: ingress}\n");
  make_service({.ns = "ingress", .name = "nginx-host", .target = 80});
  std::string yaml = ingress_block(45);
  if (on_cloud()) {
    replace_all(yaml, "ap-chongqing:lb-xxxxxxxx", "ap-chongqing:lb-west");
    replace_all(yaml, "ap-shanghai:lb-xxxxxxxx", "ap-shanghai:lb-east");
  }
  create(yaml);
  const Value pod = pod_of("ingress", "nginx-host-");
  const std::string wanted =
      fmt::format("{}:{} 10", node_ip(pod), node_port("ingress", "nginx-host"));
  // On one of ours, the second one's Listener has a suffix.
  EXPECT_TRUE(eventually([&] { return list(api::listener_kind().type, "ingress").size() == 2; }));
  for (const Value& one : list(api::listener_kind().type, "ingress"))
    leads("ingress", std::string(wire::string_at(one, "/metadata/name")), {wanted});
  for (const char* lb : {"lb-west", "lb-east"})
    if (on_cloud()) expect_in_cloud(lb, 38080, "TCP", {wanted});
  is_ready("ingress", "test-cross");
  const model::Target west = door("ingress", "test-cross", 38080, 0);
  const model::Target east = door("ingress", "test-cross", 38080, 1);
  EXPECT_NE(west.ip, east.ip);
  expect_answer(west, name_of(pod));
  expect_answer(east, name_of(pod));
}

// The block of the last chapter.
TEST_P(IngressStories, EveryParameterOfTheLastChapter) {
  create("apiVersion: v1\nkind: Namespace\nmetadata: {name: test}\n");
  make_service(
      {.name = "test-tcp", .port = 1111, .target = 1111, .container = ", hostPort: 11111"});
  make_service({.name = "test2", .port = 2222, .target = 2222, .container = ", name: http"});
  std::string yaml = ingress_block(47);
  replace_all(yaml, "lb-xxxxxx", "lb-one");
  create(yaml);
  const Value tcp = pod_of("default", "test-tcp-");
  const Value web = pod_of("default", "test2-");
  const Value tcp_there =
      expect_way("test", "lb-one-1111", "lb-one", 1111, "TCP", {node_ip(tcp) + ":11111 10"});
  const Value http_there = expect_way(
      "test", "lb-one-2222", "lb-one", 2222, "HTTP",
      {fmt::format("{}:{} 10", node_ip(web), node_port("default", "test2"))}, "www.qq.com/test1");
  const Value listener = get(api::listener_kind().type, "test", "lb-one-1111");
  EXPECT_EQ(wire::int_at(listener, "/spec/listenerAttribute/sessionTime"), 100);
  EXPECT_EQ(wire::int_at(listener, "/spec/listenerAttribute/healthCheck/intervalTime"), 15);
  const Value http = get(api::listener_kind().type, "test", "lb-one-2222");
  EXPECT_EQ(wire::string_at(http, "/spec/rules/0/listenerAttribute/lbPolicy"), "LEAST_CONN");
  EXPECT_EQ(wire::string_at(http, "/spec/rules/0/listenerAttribute/healthCheck/httpCheckMethod"),
            "HEAD");
  if (on_cloud()) {
    EXPECT_EQ(wire::int_at(tcp_there, "/rules/0/sessionSeconds"), 100);
    EXPECT_EQ(wire::string_at(tcp_there, "/rules/0/scheduler"), "WRR");
    EXPECT_EQ(wire::string_at(http_there, "/rules/0/scheduler"), "LEAST_CONN");
    EXPECT_EQ(wire::int_at(http_there, "/rules/0/sessionSeconds"), 0)
        << "the cloud keeps no sessions with LEAST_CONN";
    for (const Value& one : {tcp_there, http_there}) {
      const Value check = *wire::find(one, "/rules/0/healthCheck");
      EXPECT_EQ(wire::int_at(check, "/HealthSwitch"), 1) << wire::to_json(check);
      EXPECT_EQ(wire::int_at(check, "/IntervalTime"), 15);
      EXPECT_EQ(wire::int_at(check, "/HealthNum"), 3);
      EXPECT_EQ(wire::int_at(check, "/UnHealthNum"), 3);
    }
    EXPECT_EQ(wire::int_at(tcp_there, "/rules/0/healthCheck/TimeOut"), 2);
    EXPECT_EQ(wire::int_at(http_there, "/rules/0/healthCheck/HttpCode"), 31);
    EXPECT_EQ(wire::string_at(http_there, "/rules/0/healthCheck/HttpCheckPath"), "/");
    EXPECT_EQ(wire::string_at(http_there, "/rules/0/healthCheck/HttpCheckMethod"), "HEAD");
  }
  expect_answer(door("test", "bcs-ingress1", 1111), name_of(tcp));
  if (!has_haproxy()) GTEST_SKIP() << "haproxy is not installed";
  is_ready("test", "bcs-ingress1");
  const model::Target at = door("test", "bcs-ingress1", 2222);
  expect_http("http", at, "www.qq.com", "/test1", "200 this is " + name_of(web));
  EXPECT_EQ(ask_over_http("http", at, "www.qq.com", "/test2"), "404");
}

INSTANTIATE_TEST_SUITE_P(On, IngressStories,
                         ::testing::Values(model::Provider::edge, model::Provider::tencent),
                         name_of_provider);

}  // namespace
}  // namespace berth
