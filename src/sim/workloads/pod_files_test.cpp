#include "sim/workloads/pod_files.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"

namespace berth::workloads {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

const wire::Value kPod = wire::parse_yaml(R"yaml(
metadata:
  name: room-0
  namespace: games
  uid: u-1
  labels: {tier: "front", app: room}
  annotations: {example.com/ports: "[{\"port\": 1}]", note: "two\nlines"}
spec:
  nodeName: loopback
  containers:
    - name: room
      env:
        - {name: PLAIN, value: "a value"}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: PORTS, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['example.com/ports']"}}}
        - {name: URL, value: "tcp://$(POD_IP):80 $(UNKNOWN) $$(PLAIN)"}
        - {name: SECRET, valueFrom: {secretKeyRef: {name: a, key: b}}}
      volumeMounts: [{name: info, mountPath: /etc/podinfo/}, {name: all, mountPath: /all}]
    - name: sidecar
  volumes:
    - name: info
      downwardAPI:
        items:
          - {path: annotations, fieldRef: {fieldPath: metadata.annotations}}
          - {path: labels, fieldRef: {fieldPath: metadata.labels}}
    - name: all
      projected:
        sources: [{downwardAPI: {items: [{path: sub/name, fieldRef: {fieldPath: metadata.name}}]}}]
status: {podIP: 127.16.0.5, hostIP: 127.0.0.1}
)yaml")
                             .value();

std::string run(const std::vector<std::string>& command) {
  const CommandOutput done =
      run_in_container(command, environment_of(kPod, "room"), files_of(kPod, "room"));
  return fmt::format("{} {}{}", done.exit_code, done.out, done.err);
}

TEST(PodFiles, TheEnvironmentIsResolved) {
  const Environment environment = environment_of(kPod, "room");
  EXPECT_THAT(environment, Contains(Pair("PLAIN", "a value")));
  EXPECT_THAT(environment, Contains(Pair("HOSTNAME", "room-0")));
  EXPECT_THAT(environment, Contains(Pair("NODE", "loopback")));
  EXPECT_THAT(environment, Contains(Pair("POD_IP", "127.16.0.5")));
  EXPECT_THAT(environment, Contains(Pair("PORTS", "[{\"port\": 1}]")));
  EXPECT_THAT(environment, Contains(Pair("URL", "tcp://127.16.0.5:80 $(UNKNOWN) $(PLAIN)")));
  EXPECT_THAT(environment, Not(Contains(Pair("SECRET", testing::_))));
  EXPECT_TRUE(environment_of(kPod, "nobody").empty());
}

TEST(PodFiles, DownwardFilesAreWrittenAsTheKubeletDoes) {
  const Files files = files_of(kPod, "room");
  EXPECT_EQ(files.at("/etc/podinfo/labels"), "app=\"room\"\ntier=\"front\"");
  EXPECT_EQ(files.at("/etc/podinfo/annotations"),
            "example.com/ports=\"[{\\\"port\\\": 1}]\"\nnote=\"two\\nlines\"");
  EXPECT_EQ(files.at("/all/sub/name"), "room-0");
  EXPECT_FALSE(files_of(kPod, "sidecar").contains("/etc/podinfo/labels"));
}

TEST(PodFiles, AFewCommandsWork) {
  EXPECT_EQ(run({"cat", "/all/sub/name"}), "0 room-0");
  EXPECT_EQ(run({"cat", "/nothing"}), "1 cat: /nothing: No such file or directory\n");
  EXPECT_EQ(run({"ls", "/etc/podinfo"}), "0 annotations\nlabels\n");
  EXPECT_EQ(run({"ls", "/"}), "0 all\netc\n");
  EXPECT_EQ(run({"printenv", "NODE"}), "0 loopback\n");
  EXPECT_EQ(run({"printenv", "NOBODY"}), "1 ");
  EXPECT_THAT(run({"env"}), HasSubstr("\nPLAIN=a value\n"));
  EXPECT_EQ(run({"/bin/sh", "-c", "echo \"on $NODE\" '$NODE' ${PLAIN}!"}),
            "0 on loopback $NODE a value!\n");
  EXPECT_EQ(run({"hostname"}), "0 room-0\n");
  EXPECT_EQ(run({"true"}), "0 ");
  EXPECT_EQ(run({"vim"}), "127 vim: not found\n");
  EXPECT_EQ(run({}), "127 : not found\n");
}

}  // namespace
}  // namespace berth::workloads
