#include "controllers/portpool/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

// Where a Listener of this protocol leads, "ip:port"; empty when nowhere.
std::string target(const kube::Pod& pod, std::string protocol) {
  const api::PortBindingItem entry{.rs_start_port = 8000, .host_port = true};
  const api::ListenerSpec spec = spec_for({.protocol = std::move(protocol)}, pod, entry);
  if (!spec.target_group) return "";
  const api::ListenerBackend& backend = spec.target_group->backends.front();
  return fmt::format("{}:{}", backend.ip, backend.port);
}

kube::Pod pod_with(std::vector<kube::ContainerPort> ports) {
  kube::Pod pod{.ips = {"10.0.0.1"}};
  pod.host_ip = decltype(pod.host_ip)("192.0.2.1");
  pod.ports = std::move(ports);
  return pod;
}

const kube::Interned kTcp("TCP");
const kube::Interned kUdp("UDP");

TEST(HostPortTargets, EachProtocolLeadsToItsOwnHostPort) {
  const kube::Pod pod = pod_with({{.protocol = kTcp, .port = 8000, .host_port = 28000},
                                  {.protocol = kUdp, .port = 8000, .host_port = 28001}});
  EXPECT_EQ(target(pod, "TCP"), "192.0.2.1:28000");
  EXPECT_EQ(target(pod, "UDP"), "192.0.2.1:28001");
}

TEST(HostPortTargets, AProtocolWithoutAHostPortLeadsNowhere) {
  const kube::Pod pod = pod_with({{.protocol = kTcp, .port = 8000, .host_port = 28000}});
  EXPECT_EQ(target(pod, "UDP"), "");
}

TEST(HostPortTargets, OnTheNodesNetworkOneDeclarationIsEnough) {
  const kube::Pod pod = pod_with({{.protocol = kTcp, .port = 8000, .host_port = 8000}});
  EXPECT_EQ(target(pod, "UDP"), "192.0.2.1:8000");
}

// What the process can reach must not become what anybody who writes a Listener can reach.
TEST(CheckedTargets, AreAddressesOfWhoWasToldOfThePort) {
  kube::Store<kube::Pod> pods;
  add_pod_indexes(pods);
  kube::Pod pod = *testing::Room().pod;
  pod.host_ip = decltype(pod.host_ip)("192.0.2.1");
  pod.meta.resource_version = 1;
  pods.put(pod);
  const auto checked = [&](const std::string& ip, model::Port port = 30000) {
    const Result<> result = check_targets(
        claims::testing::leading_to(claims::testing::lock_at({.ports = {port, port}}), ip), pods);
    return result ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(checked("10.0.0.1"), "");
  EXPECT_EQ(checked("192.0.2.1"), "") << "its node, for host ports";
  EXPECT_THAT(checked("169.254.169.254"), ::testing::HasSubstr("169.254.169.254 is no address"));
  EXPECT_THAT(checked("10.0.0.1", 30001), ::testing::HasSubstr("told of this port"))
      << "a Pod that was told of another port";
  EXPECT_TRUE(check_targets(claims::testing::lock_at({}), pods));
}

}  // namespace
}  // namespace berth::controllers::portpool
