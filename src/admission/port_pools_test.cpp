#include "admission/port_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/yaml.h"

namespace berth::admission {
namespace {

using ::testing::HasSubstr;

// As bcs-ingress-controller accepts it and we do not.
const std::string kOldPool = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: [lb-1], protocol: TCP_SSL, startPort: 100, endPort: 110}
)";

std::string with(std::string yaml, const std::string& from, const std::string& to) {
  return yaml.replace(yaml.find(from), from.size(), to);
}

class PortPoolGateTest : public ::testing::Test {
 protected:
  PortPoolGateTest() { claims::add_indexes(listeners_, {}); }

  // Empty when it is allowed.
  std::string update(const std::string& before, const std::string& after) const {
    kube::AdmissionRequest request;
    request.operation = "UPDATE";
    request.resource = "portpools";
    request.ns = "games";
    request.name = "rooms";
    request.object = wire::parse_yaml(after).value();
    request.old_object = wire::parse_yaml(before).value();
    const Result<kube::AdmissionAnswer> answer = gate_.admit(request);
    return answer ? "" : answer.error().to_string();
  }

  claims::ListenerStore listeners_;
  PortPoolGate gate_{listeners_, {}, [](const model::LoadBalancerRef&) { return true; }};
};

TEST_F(PortPoolGateTest, AnUpdateThatLeavesTheSpecIsNotRefusedForTheSpec) {
  EXPECT_EQ(update(kOldPool, with(kOldPool, "name: rooms", "name: rooms, labels: {a: b}")), "");
  EXPECT_EQ(
      update(kOldPool, with(kOldPool, "name: rooms",
                            "name: rooms, finalizers: [ingresscontroller.bkbcs.tencent.com]")),
      "");
}

TEST_F(PortPoolGateTest, AnUpdateOfTheSpecMustMakeItRight) {
  EXPECT_THAT(update(kOldPool, with(kOldPool, "endPort: 110", "endPort: 120")),
              HasSubstr("spec.poolItems[0].protocol: 'TCP_SSL'"));
  EXPECT_EQ(update(kOldPool, with(kOldPool, "TCP_SSL", "TCP")), "");
}

}  // namespace
}  // namespace berth::admission
