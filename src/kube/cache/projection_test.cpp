// Real objects, fetched from a real API server in both encodings: what we make of them must be what
// their YAML says (testdata/objects.yaml), and the same from either encoding.
#include "kube/cache/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kube/cache/core_types.h"
#include "kube/cache/list_reader.h"
#include "kube/cache/watch_event.h"
#include "kube/client/test_proto_writer.h"

namespace berth::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string golden(const std::string& name) {
  const char* root = std::getenv("BERTH_SOURCE_DIR");
  std::ifstream file(std::string(root != nullptr ? root : ".") + "/src/kube/cache/testdata/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name << ": run from the source folder or set BERTH_SOURCE_DIR";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const MetaRules kEverything{.labels = KeyFilter::everything(),
                            .annotations = KeyFilter::everything(),
                            .finalizers = true,
                            .owners = true};

template <class T>
std::vector<T> decode_list(const Projection<T>& projection, Encoding encoding,
                           const std::string& text) {
  std::vector<T> out;
  wire::JsonReader reader;
  ListReader list(encoding);
  auto fed = list.feed(text, [&](std::string_view item) -> Result<> {
    auto decoded = encoding == Encoding::json ? projection.from_json(reader, item)
                                              : projection.from_protobuf(item);
    if (!decoded) return pass(decoded);
    out.push_back(std::move(*decoded));
    return {};
  });
  EXPECT_TRUE(fed) << fed.error().to_string();
  EXPECT_TRUE(list.finish()) << list.finish().error().to_string();
  return out;
}

// From both encodings, which must agree.
template <class T>
std::vector<T> decode_both(const Projection<T>& projection, const std::string& name) {
  auto json = decode_list(projection, Encoding::json, golden(name + ".json"));
  const auto protobuf = decode_list(projection, Encoding::protobuf, golden(name + ".pb"));
  EXPECT_TRUE(json == protobuf) << name;
  EXPECT_EQ(json.size(), protobuf.size());
  return json;
}

template <class T>
const T& by_name(const std::vector<T>& list, std::string_view name) {
  for (const T& one : list) {
    if (one.meta.name == name) return one;
  }
  ADD_FAILURE() << "no " << name;
  return list.front();
}

std::vector<std::string> describe(const SharedList<ContainerPort>& ports) {
  std::vector<std::string> out;
  for (const ContainerPort& port : ports) {
    out.push_back(fmt::format("{}{} {} {} {} {}", port.init ? "init " : "", port.container.view(),
                              port.name.view(), port.port, port.protocol.view(), port.host_port));
  }
  return out;
}

TEST(Projection, PodsWithEverythingInThem) {
  const auto pods = decode_both(pod_projection(kEverything), "pods");
  ASSERT_THAT(pods, SizeIs(3));
  const Pod& room = by_name(pods, "room-0");
  EXPECT_EQ(room.meta.key().to_string(), "games/room-0");
  EXPECT_THAT(room.meta.uid, SizeIs(36));
  EXPECT_GT(room.meta.resource_version, 0u);
  EXPECT_GT(room.meta.created, WallTime{});
  EXPECT_TRUE(room.meta.deleting);
  EXPECT_EQ(get(room.meta.labels, "app"), "room");
  EXPECT_TRUE(has(room.meta.labels, "empty"));
  EXPECT_FALSE(has(room.meta.labels, "missing"));
  EXPECT_EQ(get(room.meta.annotations, "berth.dev/ports"), "arena 7777");
  EXPECT_THAT(std::string(get(room.meta.annotations, "example.com/long")),
              HasSubstr("\"quotes\", a tab\tand ünïcödé"));
  EXPECT_THAT(room.meta.finalizers, ElementsAre("berth.dev/port"));
  ASSERT_THAT(room.meta.owners, SizeIs(2));
  ASSERT_NE(room.meta.controller(), nullptr);
  EXPECT_EQ(room.meta.controller()->name, "room");
  EXPECT_EQ(room.meta.controller()->kind, "StatefulSet");
  EXPECT_EQ(room.meta.controller()->api_version, "apps/v1");
  EXPECT_EQ(room.meta.owners[1].uid, "66666666-2222-3333-4444-555555555555");

  EXPECT_EQ(room.node, "node-1");
  EXPECT_EQ(room.host_ip, "10.0.0.1");
  EXPECT_THAT(room.ips, ElementsAre("10.1.0.5"));
  EXPECT_EQ(room.phase, PodPhase::running);
  EXPECT_THAT(describe(room.ports), ElementsAre("init sidecar admin 9000 TCP 0",
                                                "game udp 7777 UDP 27777", "game  7777 TCP 0"));
  EXPECT_THAT(room.readiness_gates,
              ElementsAre(Interned("berth.dev/ports"), Interned("example.com/other")));
  EXPECT_TRUE(room.ready());
  EXPECT_EQ(room.condition("ContainersReady"), ConditionStatus::no);
  EXPECT_EQ(room.condition("PodScheduled"), ConditionStatus::unknown);
  EXPECT_EQ(room.condition("example.com/other"), ConditionStatus::unknown);
}

TEST(Projection, PodsWithLittleInThem) {
  const auto pods = decode_both(pod_projection(kEverything), "pods");
  const Pod& bare = by_name(pods, "bare");
  EXPECT_TRUE(bare.node.empty());
  EXPECT_THAT(bare.ips, IsEmpty());
  EXPECT_THAT(bare.ports, IsEmpty());
  EXPECT_FALSE(bare.ready());
  EXPECT_FALSE(bare.meta.deleting);
  const Pod& dual = by_name(pods, "dual");
  EXPECT_THAT(dual.ips, ElementsAre("10.1.0.6", "fd00::6"));
  EXPECT_TRUE(dual.finished());
  EXPECT_THAT(describe(dual.ports), ElementsAre("main  80 SCTP 0"));
}

TEST(Projection, KeepsOnlyWhatTheRulesAskFor) {
  const auto pods = decode_both(
      pod_projection({.labels = KeyFilter::only({"app"}),
                      .annotations = KeyFilter::only({"networkextension.", "berth.dev/"}),
                      .owners = false}),
      "pods");
  const Pod& room = by_name(pods, "room-0");
  EXPECT_THAT(room.meta.labels, SizeIs(1));
  EXPECT_THAT(room.meta.annotations, SizeIs(1));
  EXPECT_EQ(get(room.meta.annotations, "berth.dev/ports"), "arena 7777");
  EXPECT_THAT(room.meta.finalizers, IsEmpty());
  EXPECT_THAT(room.meta.owners, IsEmpty());
}

TEST(Projection, Nodes) {
  const auto nodes = decode_both(node_projection(kEverything), "nodes");
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_TRUE(nodes[0].ready);
  EXPECT_TRUE(nodes[0].unschedulable);
  EXPECT_EQ(nodes[0].address("InternalIP"), "10.0.0.1");
  EXPECT_EQ(nodes[0].address("Hostname"), "node-1");
  EXPECT_EQ(nodes[0].address("ExternalIP"), "");
  EXPECT_EQ(get(nodes[0].meta.labels, "topology.kubernetes.io/zone"), "zone-a");
}

TEST(Projection, Services) {
  const auto services = decode_both(service_projection(), "services");
  const Service& front = by_name(services, "front");
  EXPECT_EQ(front.type, "LoadBalancer");
  EXPECT_THAT(front.cluster_ip, HasSubstr("10.0."));
  EXPECT_EQ(front.load_balancer_class, "berth.dev/edge");
  EXPECT_EQ(front.external_traffic_policy, "Local");
  EXPECT_EQ(get(front.selector, "tier"), "front");
  ASSERT_THAT(front.ports, SizeIs(2));
  EXPECT_EQ(front.ports[0].port, 80);
  EXPECT_EQ(front.ports[0].target_port, 8080);
  EXPECT_EQ(front.ports[0].node_port, 30080);
  EXPECT_EQ(front.ports[0].protocol, "TCP");
  EXPECT_EQ(front.ports[1].target_port, 0);
  EXPECT_EQ(front.ports[1].target_port_name, "game-port");
  EXPECT_EQ(front.ports[1].protocol, "UDP");
  ASSERT_THAT(front.ingress, SizeIs(2));
  EXPECT_EQ(front.ingress[0].ip, "192.0.2.1");
  EXPECT_EQ(front.ingress[1].hostname, "lb.example.com");
  EXPECT_EQ(get(front.meta.annotations, "nlb.port-manager/auto-assign"), "true");
  EXPECT_THAT(front.meta.finalizers, testing::Contains("berth.dev/service"));
  EXPECT_EQ(by_name(services, "headless").cluster_ip, "None");
}

TEST(Projection, NamespacesAndConfigMaps) {
  const auto namespaces = decode_both(namespace_projection(), "namespaces");
  EXPECT_EQ(get(by_name(namespaces, "games").meta.labels, "berth.dev/inject"), "true");

  const auto maps = decode_both(config_map_projection(), "configmaps");
  const ConfigMap& settings = by_name(maps, "settings");
  EXPECT_EQ(settings.get("long"), "line one\nline two\n");
  EXPECT_EQ(settings.get("empty"), "");
  EXPECT_THAT(settings.data, SizeIs(3));
}

TEST(Projection, PodsOfOneTemplateShareTheirLists) {
  const auto pods = decode_list(pod_projection(), Encoding::protobuf, golden("pods.pb"));
  const auto again = decode_list(pod_projection(), Encoding::json, golden("pods.json"));
  const Pod& one = by_name(pods, "room-0");
  const Pod& other = by_name(again, "room-0");
  EXPECT_EQ(one.ports.begin(), other.ports.begin());
  EXPECT_EQ(one.conditions.begin(), other.conditions.begin());
  EXPECT_EQ(one.meta.owners.begin(), other.meta.owners.begin());
}

TEST(Projection, ErrorsNameTheObject) {
  wire::JsonReader reader;
  const auto wrong = pod_projection().from_json(
      reader,
      R"({"metadata":{"name":"a","namespace":"g","resourceVersion":"3"},"spec":{"nodeName":7}})");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("Pod g/a"));
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("spec.nodeName"));
  const auto version = pod_projection().from_json(
      reader, R"({"metadata":{"name":"a","namespace":"g","resourceVersion":"abc"}})");
  ASSERT_FALSE(version);
  EXPECT_THAT(version.error().to_string(), HasSubstr("'abc'"));
  const auto kind = pod_projection().from_json(
      reader, R"({"kind":"Job","metadata":{"name":"a","namespace":"g","resourceVersion":"3"}})");
  ASSERT_FALSE(kind);
  EXPECT_THAT(kind.error().to_string(), HasSubstr("its kind is Job"));
  const auto torn = pod_projection().from_protobuf("\x0a\x7f");
  EXPECT_FALSE(torn);
}

TEST(Projection, MapsAreSortedAndTheLastOfEqualKeysCounts) {
  StringMap map{{Interned("b"), "1"}, {Interned("a"), "2"}, {Interned("b"), "3"}};
  tidy(map);
  EXPECT_THAT(map,
              ElementsAre(testing::Pair(Interned("a"), "2"), testing::Pair(Interned("b"), "3")));
}

TEST(Projection, NullsAreMissingValues) {
  wire::JsonReader reader;
  const auto pod =
      pod_projection(kEverything)
          .from_json(reader, R"({"metadata":{"name":"a","namespace":"g","resourceVersion":"3",)"
                             R"("creationTimestamp":null,"deletionTimestamp":null,"labels":null,)"
                             R"("ownerReferences":null,"finalizers":null},)"
                             R"("spec":{"nodeName":null,"containers":null},"status":null})");
  ASSERT_TRUE(pod) << pod.error().to_string();
  EXPECT_FALSE(pod->meta.deleting);
}

TEST(Identify, TellsWhatItCan) {
  wire::JsonReader reader;
  const auto who = identify(
      Encoding::json, reader,
      R"({"metadata":{"name":"a","namespace":"g","uid":"u","resourceVersion":"3"},"spec":garbage})");
  EXPECT_EQ(who.key.to_string(), "g/a");
  EXPECT_EQ(who.resource_version, 3u);
  EXPECT_EQ(identify(Encoding::protobuf, reader, "nonsense").key.name, "");
}

std::vector<std::string> replay(Encoding encoding, const std::string& text) {
  std::vector<std::string> out;
  wire::JsonReader reader;
  wire::JsonReader object_reader;
  WatchSplitter splitter(encoding);
  auto fed = splitter.feed(text, [&](std::string_view message) -> Result<> {
    auto event = decode_watch_event(encoding, reader, message);
    if (!event) return pass(event);
    const auto who = identify(encoding, object_reader, event->object);
    out.push_back(fmt::format("{} {}@{}", static_cast<int>(event->type), who.key.to_string(),
                              who.resource_version));
    return {};
  });
  EXPECT_TRUE(fed) << fed.error().to_string();
  EXPECT_TRUE(splitter.finish());
  return out;
}

TEST(WatchEvent, ARealStreamReadsTheSameInBothEncodings) {
  const auto json = replay(Encoding::json, golden("watch.json"));
  const auto protobuf = replay(Encoding::protobuf, golden("watch.pb"));
  ASSERT_THAT(json, SizeIs(4));
  // The bookmark's version is the moment of sending, which differs.
  EXPECT_EQ(std::vector(json.begin(), json.end() - 1),
            std::vector(protobuf.begin(), protobuf.end() - 1));
  EXPECT_THAT(json.back(), HasSubstr(fmt::format("{} @", static_cast<int>(EventType::bookmark))));
}

TEST(WatchEvent, AnErrorEventBecomesItsError) {
  wire::JsonReader reader;
  const auto json = decode_watch_event(
      Encoding::json, reader,
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(error_of_event(Encoding::json, *json).code, Code::expired);

  const std::string document = golden("too_new_status.pb");
  const auto status = open_protobuf_envelope(document);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, "Status");
  const Error error =
      error_of_event(Encoding::protobuf, {.type = EventType::error, .object = status->object});
  EXPECT_EQ(error.code, Code::too_new);
  EXPECT_THAT(error.message, HasSubstr("Too large resource version"));
  EXPECT_EQ(error.retry_after, std::chrono::seconds(1));
}

TEST(WatchEvent, WhatIsNoEventIsAnError) {
  wire::JsonReader reader;
  EXPECT_FALSE(decode_watch_event(Encoding::json, reader, R"({"type":"ADDED","object":{)"));
  EXPECT_FALSE(decode_watch_event(Encoding::json, reader, "[]"));
  EXPECT_FALSE(decode_watch_event(Encoding::json, reader, R"({"type":"ADDED"})"));
  EXPECT_FALSE(decode_watch_event(Encoding::protobuf, reader, "\x0a\x7f"));
  EXPECT_FALSE(decode_watch_event(Encoding::protobuf, reader, proto_bytes(1, "ADDED")));
  const auto unknown = decode_watch_event(Encoding::json, reader, R"({"type":"X","object":{}})");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::unsupported);
}

}  // namespace
}  // namespace berth::kube
