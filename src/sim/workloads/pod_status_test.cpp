#include "sim/workloads/pod_status.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"

namespace berth::workloads {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

wire::Value pod_value(const std::string& spec, const std::string& status = "{phase: Pending}") {
  return with_metadata(
      wire::parse_yaml(
          fmt::format("metadata: {{name: room-0}}\nspec: {}\nstatus: {}\n", spec, status))
          .value());
}
const RunningPod kRunning{
    .address = "127.16.0.9", .host_address = "127.0.0.1", .started = kNow, .trouble = {}};

std::string condition(const wire::Object& status, std::string_view type, const char* field) {
  const wire::Value whole(status);
  const wire::Value* found = find_condition(array_or_empty(whole, "/conditions"), type);
  return found ? std::string(wire::string_at(*found, std::string("/") + field)) : "(none)";
}

TEST(PodStatus, APlainPodIsReadyAtOnce) {
  const wire::Object status =
      running_status(pod_value("{containers: [{name: a, image: 'x:1'}]}"), kRunning, kNow);
  EXPECT_EQ(status.at("phase"), "Running");
  EXPECT_EQ(status.at("podIP"), "127.16.0.9");
  EXPECT_EQ(status.at("hostIP"), "127.0.0.1");
  EXPECT_EQ(condition(status, "Ready", "status"), "True");
  EXPECT_EQ(condition(status, "ContainersReady", "status"), "True");
  EXPECT_EQ(condition(status, "PodScheduled", "status"), "True");
  EXPECT_EQ(wire::bool_at(wire::Value(status), "/containerStatuses/0/ready"), true);
}

TEST(PodStatus, ReadyWaitsForEveryGateAndContainersDoNot) {
  const std::string spec =
      "{containers: [{name: a, image: 'x:1'}], readinessGates: [{conditionType: lb}, "
      "{conditionType: other}]}";
  const wire::Object none = running_status(pod_value(spec), kRunning, kNow);
  EXPECT_EQ(condition(none, "ContainersReady", "status"), "True");
  EXPECT_EQ(condition(none, "Ready", "status"), "False");
  EXPECT_EQ(condition(none, "Ready", "reason"), "ReadinessGatesNotReady");
  EXPECT_THAT(condition(none, "Ready", "message"),
              HasSubstr("corresponding condition of pod readiness gate \"lb\" does not exist."));
  const wire::Object one = running_status(
      pod_value(spec, "{conditions: [{type: lb, status: 'True'}, {type: other, status: 'False'}]}"),
      kRunning, kNow);
  EXPECT_EQ(condition(one, "Ready", "status"), "False");
  EXPECT_EQ(condition(one, "lb", "status"), "True") << "others' conditions are kept";
  const wire::Object both = running_status(
      pod_value(spec, "{conditions: [{type: lb, status: 'True'}, {type: other, status: 'True'}]}"),
      kRunning, kNow);
  EXPECT_EQ(condition(both, "Ready", "status"), "True");
}

TEST(PodStatus, ProbesDelayReadiness) {
  const wire::Value pod = pod_value(
      "{containers: [{name: a, image: 'x:1', readinessProbe: {tcpSocket: {port: 1}, "
      "initialDelaySeconds: 5}}, {name: b, image: 'x:1'}]}");
  EXPECT_EQ(ready_at(pod, kNow), kNow + 5s);
  EXPECT_EQ(condition(running_status(pod, kRunning, kNow + 4s), "Ready", "reason"),
            "ContainersNotReady");
  EXPECT_EQ(condition(running_status(pod, kRunning, kNow + 5s), "Ready", "status"), "True");
}

TEST(PodStatus, ANewImageIsARestart) {
  const wire::Value pod = pod_value(
      "{containers: [{name: a, image: 'x:2'}]}",
      "{containerStatuses: [{name: a, image: 'x:1', restartCount: 1, state: {running: {startedAt: "
      "'2026-01-02T03:00:00Z'}}}]}");
  const wire::Value status(running_status(pod, kRunning, kNow));
  EXPECT_EQ(wire::int_at(status, "/containerStatuses/0/restartCount"), 2);
  EXPECT_EQ(wire::string_at(status, "/containerStatuses/0/image"), "x:2");
  const wire::Value again =
      pod_value("{containers: [{name: a, image: 'x:2'}]}", wire::to_json(status));
  EXPECT_EQ(wire::Value(running_status(again, kRunning, kNow + 1h)), status)
      << "the same again is no change";
}

TEST(PodStatus, TroubleIsShown) {
  RunningPod trouble = kRunning;
  trouble.trouble = "cannot bind 127.0.0.1:80: Permission denied";
  const wire::Object status =
      running_status(pod_value("{containers: [{name: a, image: 'x:1'}]}"), trouble, kNow);
  EXPECT_EQ(status.at("phase"), "Pending");
  EXPECT_THAT(wire::to_json(status), HasSubstr("Permission denied"));
  EXPECT_EQ(condition(status, "Ready", "status"), "False");
}

TEST(HostPorts, ConflictAsTheSchedulerSeesThem) {
  const auto ports = [](const std::string& list) {
    return host_ports(pod_value("{containers: [{name: a, image: 'x:1', ports: [" + list + "]}]}"));
  };
  const auto tcp = ports("{containerPort: 80, hostPort: 8080, protocol: TCP}");
  EXPECT_TRUE(conflict(tcp, tcp));
  EXPECT_FALSE(conflict(tcp, ports("{containerPort: 80, hostPort: 8080, protocol: UDP}")));
  EXPECT_FALSE(conflict(tcp, ports("{containerPort: 80, hostPort: 8081, protocol: TCP}")));
  EXPECT_FALSE(conflict(tcp, ports("{containerPort: 8080, protocol: TCP}")));
  const auto one = ports("{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1, protocol: TCP}");
  const auto other = ports("{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.2, protocol: TCP}");
  EXPECT_FALSE(conflict(one, other));
  EXPECT_TRUE(conflict(one, tcp)) << "without an address it is every address";
  EXPECT_EQ(host_ports(pod_value("{hostNetwork: true, containers: [{name: a, image: 'x:1', ports: "
                                 "[{containerPort: 80, protocol: TCP}]}]}"))
                .front()
                .port,
            80);
}

TEST(StopTime, IsWithinTheGrace) {
  EXPECT_LT(stop_time(pod_value("{containers: [{name: a}]}")), 1s);
  EXPECT_GT(stop_time(pod_value(
                "{containers: [{name: a, lifecycle: {preStop: {sleep: {seconds: 3}}}}]}")),
            3s);
  EXPECT_EQ(stop_time(pod_value("{terminationGracePeriodSeconds: 2, containers: [{name: a, "
                                "lifecycle: {preStop: {sleep: {seconds: 30}}}}]}")),
            2s);
}

}  // namespace
}  // namespace berth::workloads
