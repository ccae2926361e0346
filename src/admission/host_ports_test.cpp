#include "admission/host_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "admission/pod_patch.h"
#include "api/host_ports.h"
#include "base/threads.h"
#include "wire/patch.h"
#include "wire/yaml.h"

namespace berth::admission {
namespace {

using model::Port;
using testing::HasSubstr;
using testing::Not;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kRoom = R"(
apiVersion: v1
kind: Pod
metadata:
  generateName: room-
  namespace: games
  labels: {app: room}
  annotations:
    randhostport.webhook.bkbcs.tencent.com: "true"
    ports.randhostport.webhook.bkbcs.tencent.com: "8080,metric"
spec:
  initContainers:
    - name: prepare
      image: prepare:1
  containers:
    - name: room
      image: room:1
      ports:
        - {containerPort: 8080, protocol: TCP}
        - {name: metric, containerPort: 8081, protocol: TCP}
        - {name: admin, containerPort: 9000, protocol: TCP}
)";

Value room() { return wire::parse_yaml(kRoom).value(); }
void set(Value& pod, std::string_view pointer, Value value) {
  ASSERT_TRUE(wire::set_at(pod, pointer, std::move(value))) << pointer;
}

class HostPortsTest : public testing::Test {
 protected:
  HostPortsTest() {
    hooks_.follow(store_);
    EXPECT_TRUE(store_.replace({}, 1));
  }

  Result<kube::AdmissionAnswer> ask(const Value& pod, bool dry_run = false) {
    kube::AdmissionRequest request;
    request.operation = "CREATE";
    request.ns = "games";
    request.resource = "pods";
    request.object = pod;
    request.dry_run = dry_run;
    return hooks_.admit(context_, request);
  }
  // The Pod as it goes on from our webhook.
  Value admit(const Value& pod, bool dry_run = false) {
    const auto answer = ask(pod, dry_run);
    EXPECT_TRUE(answer) << answer.error().to_string();
    if (!answer) return pod;
    return wire::apply_json_patch(pod, answer->patch).value();
  }
  std::string refusal(const Value& pod) {
    const auto answer = ask(pod);
    return answer ? "" : kube::refuse(answer.error()).message;
  }

  // The Pod is in the cache, as the API server has stored it.
  void store(const Value& pod, const std::string& name, kube::PodPhase phase) {
    kube::Pod cached;
    cached.meta = {.ns = kube::Interned("games"), .name = name, .uid = name};
    cached.meta.resource_version = ++version_;
    cached.phase = phase;
    std::vector<kube::ContainerPort> ports;
    for_each_container(pod, [&](const Value& container) {
      const Array* declared = wire::array_at(container, "/ports");
      for (std::size_t i = 0; declared && i < declared->size(); ++i) {
        ports.push_back({.port = static_cast<Port>(*wire::int_at((*declared)[i], "/containerPort")),
                         .host_port = static_cast<Port>(
                             wire::int_at((*declared)[i], "/hostPort").value_or(0))});
      }
    });
    cached.ports = std::move(ports);
    store_.put(std::move(cached));
  }
  void remove(const std::string& name) { store_.erase({"games", name}, "", ++version_); }

  static std::vector<Port> labels_of(const Value& pod) {
    std::vector<Port> ports;
    for (const auto& label : *wire::object_at(pod, "/metadata/labels")) {
      const auto port = api::port_of_label(label.key());
      if (!port) continue;
      EXPECT_EQ(label.value().get_string(), fmt::format("{}", *port));
      ports.push_back(*port);
    }
    return ports;
  }
  static Port host_port(const Value& pod, std::string_view place) {
    return static_cast<Port>(wire::int_at(pod, fmt::format("{}/hostPort", place)).value_or(0));
  }
  static std::string variable(const Value& container, std::string_view name) {
    const Array* env = wire::array_at(container, "/env");
    std::string found;
    int times = 0;
    for (std::size_t i = 0; env && i < env->size(); ++i) {
      if (wire::string_at((*env)[i], "/name") != name) continue;
      found = wire::string_at((*env)[i], "/value");
      if (found.empty()) found = wire::string_at((*env)[i], "/valueFrom/fieldRef/fieldPath");
      ++times;
    }
    EXPECT_LE(times, 1) << name;
    return found;
  }
  static Array terms(const Value& pod) {
    const Array* found = wire::array_at(
        pod, "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    return found ? *found : Array{};
  }
  // Everything that tells of host ports says the same.
  static void expect_whole(const Value& pod, const std::map<Port, Port>& by_container_port) {
    std::vector<Port> ports;
    for (const auto& [inside, outside] : by_container_port) ports.push_back(outside);
    EXPECT_THAT(labels_of(pod), testing::UnorderedElementsAreArray(ports));
    EXPECT_EQ(label_of(pod, api::kHostPortLabel), "true");
    for_each_container(pod, [&](const Value& container) {
      for (const auto& [inside, outside] : by_container_port) {
        EXPECT_EQ(variable(container, api::host_port_variable(inside)), fmt::format("{}", outside));
      }
      EXPECT_EQ(variable(container, "BCS_RANDHOSTPORT_HOSTIP"), "status.hostIP");
      EXPECT_EQ(variable(container, "BCS_RANDHOSTPORT_POD_NAME"), "metadata.name");
      EXPECT_EQ(variable(container, "BCS_RANDHOSTPORT_POD_NAMESPACE"), "metadata.namespace");
    });
    for (const Port port : ports) {
      const Value term = Object{
          {"labelSelector",
           Object{{"matchLabels", Object{{api::host_port_label(port), fmt::format("{}", port)}}}}},
          {"topologyKey", "kubernetes.io/hostname"}};
      const Array all = terms(pod);
      EXPECT_EQ(std::ranges::count(all, term), 1) << wire::to_json(all);
    }
  }

  ThreadTasks tasks_;
  const Context context_{.tasks = tasks_};
  kube::Store<kube::Pod> store_;
  kube::ResourceVersion version_ = 1;
  HostPorts hooks_{{20000, 20009}, Random(7)};
};

TEST_F(HostPortsTest, APodGetsWhatTheSeedShows) {
  const Value pod = admit(room());
  const Port first = host_port(pod, "/spec/containers/0/ports/0");
  const Port second = host_port(pod, "/spec/containers/0/ports/1");
  EXPECT_GE(first, 20000);
  EXPECT_LE(first, 20009);
  EXPECT_NE(first, second);
  EXPECT_EQ(host_port(pod, "/spec/containers/0/ports/2"), 0) << "nobody asked for it";
  expect_whole(pod, {{8080, first}, {8081, second}});
  EXPECT_EQ(terms(pod).size(), 2u);
  EXPECT_EQ(annotation_of(pod, "randhostport.webhook.bkbcs.tencent.com.8080"),
            fmt::format("{}", first));
  EXPECT_EQ(annotation_of(pod, "randhostport.webhook.bkbcs.tencent.com.8081"),
            fmt::format("{}", second));
  EXPECT_EQ(label_of(pod, "app"), "room");
}

TEST_F(HostPortsTest, APodThatDoesNotAskIsLeftAlone) {
  Value pod = room();
  set(pod, "/metadata/annotations/randhostport.webhook.bkbcs.tencent.com", Value("false"));
  EXPECT_EQ(admit(pod), pod);
}

TEST_F(HostPortsTest, AntiAffinityIsAddedToWhatIsThere) {
  const Value own = Object{{"topologyKey", "zone"}};
  const std::vector<Value> affinities{
      Value(),
      Object{},
      Object{{"podAntiAffinity", Value()}},
      Object{{"podAntiAffinity", Object{}}},
      Object{
          {"podAntiAffinity", Object{{"requiredDuringSchedulingIgnoredDuringExecution", Value()}}}},
      Object{{"nodeAffinity", Object{{"x", 1}}},
             {"podAntiAffinity",
              Object{{"requiredDuringSchedulingIgnoredDuringExecution", Array{own}},
                     {"preferredDuringSchedulingIgnoredDuringExecution", Array{own}}}}}};
  for (const Value& affinity : affinities) {
    Value pod = room();
    set(pod, "/spec/affinity", affinity);
    const Value after = admit(pod);
    const bool had = wire::to_json(affinity).find("zone") != std::string::npos;
    ASSERT_EQ(terms(after).size(), had ? 3u : 2u) << wire::to_json(after);
    if (!had) continue;
    EXPECT_EQ(terms(after).front(), own);
    EXPECT_TRUE(wire::find(after, "/spec/affinity/nodeAffinity/x"));
    EXPECT_TRUE(wire::find(
        after, "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0"));
  }
}

TEST_F(HostPortsTest, NamesComeBeforeNumbers) {
  Value pod = room();
  set(pod, "/spec/containers/0/ports/2/name", Value("p8080"));
  set(pod, "/metadata/annotations/ports.randhostport.webhook.bkbcs.tencent.com",
      Value(" p8080 , 8081"));
  const Value after = admit(pod);
  EXPECT_EQ(host_port(after, "/spec/containers/0/ports/0"), 0);
  expect_whole(after, {{9000, host_port(after, "/spec/containers/0/ports/2")},
                       {8081, host_port(after, "/spec/containers/0/ports/1")}});
}

TEST_F(HostPortsTest, TcpAndUdpOfANumberGetTheSamePortOnce) {
  Value pod = room();
  set(pod, "/spec/containers/0/ports/2", Object{{"containerPort", 8080}, {"protocol", "UDP"}});
  set(pod, "/spec/initContainers/0/ports",
      Array{Object{{"containerPort", 8080}, {"protocol", "TCP"}},
            Object{{"name", "metric"}, {"containerPort", 7000}, {"protocol", "TCP"}}});
  const Value after = admit(pod);
  const Port port = host_port(after, "/spec/containers/0/ports/0");
  EXPECT_NE(port, 0);
  EXPECT_EQ(host_port(after, "/spec/containers/0/ports/2"), port);
  EXPECT_EQ(host_port(after, "/spec/initContainers/0/ports/0"), 0) << "a duplicate is refused";
  expect_whole(after, {{8080, port},
                       {8081, host_port(after, "/spec/containers/0/ports/1")},
                       {7000, host_port(after, "/spec/initContainers/0/ports/1")}});
}

TEST_F(HostPortsTest, ContainersCanListenOnTheHostPortsNumber) {
  Value pod = room();
  set(pod, "/metadata/annotations/randcontainerport.randhostport.webhook.bkbcs.tencent.com",
      Value(""));
  set(pod, "/spec/hostNetwork", Value(true));
  const Value after = admit(pod);
  const Port port = host_port(after, "/spec/containers/0/ports/0");
  EXPECT_EQ(wire::int_at(after, "/spec/containers/0/ports/0/containerPort"), port);
  EXPECT_EQ(annotation_of(after, fmt::format("randhostport.webhook.bkbcs.tencent.com.{}", port)),
            fmt::format("{}", port));
  expect_whole(after, {{8080, port}, {8081, host_port(after, "/spec/containers/0/ports/1")}});

  // Copied from the Pod: 8080 is found again, and gets another port.
  store(after, "room-0", kube::PodPhase::running);
  const Value copy = admit(after);
  const Port fresh = host_port(copy, "/spec/containers/0/ports/0");
  EXPECT_NE(fresh, port);
  EXPECT_EQ(wire::int_at(copy, "/spec/containers/0/ports/0/containerPort"), fresh);
  expect_whole(copy, {{8080, fresh}, {8081, host_port(copy, "/spec/containers/0/ports/1")}});
}

TEST_F(HostPortsTest, RefusalsSayWhatIsWrongAndWhatIsAllowed) {
  const std::string ports = "/metadata/annotations/ports.randhostport.webhook.bkbcs.tencent.com";
  Value pod = room();
  set(pod, ports, Value("8080,http"));
  EXPECT_THAT(refusal(pod),
              HasSubstr("Pod games/room-*: metadata.annotations[ports.randhostport.webhook.bkbcs."
                        "tencent.com]: 'http' is neither name nor number of a container's port; "
                        "declared: 8080, metric (8081), admin (9000)"));
  ASSERT_TRUE(wire::remove_at(pod, ports));
  EXPECT_THAT(refusal(pod), HasSubstr("names no port"));
  pod = room();
  set(pod, "/spec/hostNetwork", Value(true));
  EXPECT_THAT(refusal(pod), HasSubstr("spec.hostNetwork"));
}

TEST_F(HostPortsTest, MoreDifferentPortsThanTheRangeHasAreRefused) {
  Value pod = room();
  Array declared;
  std::string wanted;
  for (int i = 0; i < 11; ++i) {
    declared.push_back(Object{{"containerPort", 7000 + i}});
    wanted += fmt::format("{},", 7000 + i);
  }
  set(pod, "/spec/containers/0/ports", std::move(declared));
  set(pod, "/metadata/annotations/ports.randhostport.webhook.bkbcs.tencent.com", Value(wanted));
  EXPECT_THAT(refusal(pod), HasSubstr("asks for 11 host ports, the range 20000-20009 has 10"));
  EXPECT_THAT(refusal(pod), HasSubstr("--host-ports"));
}

TEST_F(HostPortsTest, PortsAreUsedEvenlyAndGivenAgain) {
  std::map<Port, int> use;
  for (int i = 0; i < 10; ++i) {
    const Value pod = admit(room());
    for (const Port port : labels_of(pod)) ++use[port];
    store(pod, fmt::format("room-{}", i), kube::PodPhase::running);
  }
  EXPECT_EQ(use.size(), 10u);
  for (const auto& [port, times] : use) EXPECT_EQ(times, 2) << port;

  // Of Pods that are gone or have ended.
  const Value one = admit(room());
  store(one, "room-x", kube::PodPhase::running);
  store(one, "room-x", kube::PodPhase::succeeded);
  EXPECT_EQ(labels_of(one).size(), 2u);
  const Value again = admit(room());
  store(again, "room-y", kube::PodPhase::running);
  remove("room-y");
  for (int i = 0; i < 5; ++i) {
    const Value pod = admit(room());
    for (const Port port : labels_of(pod)) ++use[port];
    store(pod, fmt::format("more-{}", i), kube::PodPhase::running);
  }
  for (const auto& [port, times] : use) EXPECT_EQ(times, 3) << port;
}

TEST_F(HostPortsTest, HostPortsOfOtherPodsAreAvoided) {
  Value theirs = room();
  set(theirs, "/spec/containers/0/ports",
      Array{Object{{"containerPort", 80}, {"hostPort", 20003}},
            Object{{"containerPort", 81}, {"hostPort", 80}}});
  store(theirs, "daemon", kube::PodPhase::running);
  for (int i = 0; i < 4; ++i) EXPECT_THAT(labels_of(admit(room())), Not(testing::Contains(20003)));
}

TEST_F(HostPortsTest, AHostPortOfItsOwnIsNotGivenToAnotherPort) {
  Value pod = room();
  for (int i = 0; i < 30; ++i) {
    const int fixed = 20000 + i % 10;
    set(pod, "/spec/containers/0/ports/2/hostPort", Value(fixed));
    const Value after = admit(pod, true);
    EXPECT_THAT(labels_of(after), Not(testing::Contains(fixed)));
    EXPECT_EQ(host_port(after, "/spec/containers/0/ports/2"), fixed);
  }
}

TEST_F(HostPortsTest, ADryRunReservesNothing) {
  const auto answer = ask(room(), true);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->patch.empty());
  EXPECT_THAT(answer->warnings, testing::Each(HasSubstr("not reserved")));
  for (int i = 0; i < 20; ++i) (void)admit(room(), true);
  std::set<Port> given;
  for (int i = 0; i < 5; ++i) {
    for (const Port port : labels_of(admit(room()))) given.insert(port);
  }
  EXPECT_EQ(given.size(), 10u);
}

TEST_F(HostPortsTest, CalledAgainThePodKeepsItsPorts) {
  const Value pod = admit(room());
  EXPECT_EQ(admit(pod), pod);
  // Another webhook has added a container: it is told as well.
  Value more = pod;
  wire::find(more, "/spec/containers")
      ->get_array()
      .push_back(Object{{"name", "proxy"}, {"image", "p:1"}});
  const Value after = admit(more);
  expect_whole(after, {{8080, host_port(pod, "/spec/containers/0/ports/0")},
                       {8081, host_port(pod, "/spec/containers/0/ports/1")}});
  EXPECT_EQ(terms(after).size(), 2u);
}

TEST_F(HostPortsTest, ACopiedManifestGetsPortsOfItsOwn) {
  const Value pod = admit(room());
  store(pod, "room-0", kube::PodPhase::running);
  Value copy = pod;
  set(copy, "/metadata/annotations/ports.randhostport.webhook.bkbcs.tencent.com", Value("8080"));
  const Value after = admit(copy);
  const Port fresh = host_port(after, "/spec/containers/0/ports/0");
  EXPECT_THAT(labels_of(pod), Not(testing::Contains(fresh)));
  EXPECT_EQ(host_port(after, "/spec/containers/0/ports/1"), 0) << "nobody asks for it any more";
  expect_whole(after, {{8080, fresh}});
  EXPECT_EQ(terms(after).size(), 1u);
  EXPECT_EQ(variable(*wire::find(after, "/spec/containers/0"),
                     "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8081"),
            "");
  EXPECT_EQ(annotation_of(after, "randhostport.webhook.bkbcs.tencent.com.8081"), "");
}

TEST(HostPortsAtStart, NothingIsGivenBeforeTheCacheKnowsWhatIsInUse) {
  ThreadTasks tasks;
  kube::Store<kube::Pod> store;
  HostPorts hooks({20000, 20009}, Random(1));
  hooks.follow(store);
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.object = room();
  const Context context{.tasks = tasks};
  const auto refused = hooks.admit(context.within(std::chrono::milliseconds{1}), request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
  ASSERT_TRUE(store.replace({}, 1));
  EXPECT_TRUE(hooks.admit(context, request));
}

}  // namespace
}  // namespace berth::admission
