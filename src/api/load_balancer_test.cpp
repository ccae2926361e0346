#include "api/load_balancer.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/walkers.h"
#include "wire/yaml.h"

namespace berth::api {
namespace {

TEST(LoadBalancer, IsClusterWideAndShowsWhatPeopleAskFor) {
  const wire::Value crd = crd_of(load_balancer_kind());
  EXPECT_EQ(wire::string_at(crd, "/metadata/name"), "loadbalancers.berth.dev");
  EXPECT_EQ(wire::string_at(crd, "/spec/scope"), "Cluster");
  EXPECT_EQ(wire::string_at(crd, "/spec/names/shortNames/0"), "blb");
  EXPECT_EQ(wire::string_at(crd, "/spec/versions/0/additionalPrinterColumns/4/name"), "Last-Error");
  EXPECT_TRUE(wire::object_at(crd, "/spec/versions/0/subresources/status"));
}

TEST(LoadBalancer, GrantsComeBackAsTheyWere) {
  const auto value = wire::parse_yaml(R"(
apiVersion: berth.dev/v1
kind: LoadBalancer
metadata: {name: tencent.ap-nanjing.lb-1, resourceVersion: "3"}
spec:
  provider: tencent
  region: ap-nanjing
  loadBalancerID: lb-1
  grants:
  - {protocol: TCP, startPort: 100, endPort: 109, ownerKind: PortPool, ownerNamespace: games,
     ownerName: rooms, ownerUID: u-1, item: a, since: "2026-01-01T00:00:00Z"}
status:
  name: public1
  vips: [1.1.1.1]
  listenerQuota: 50
  listenersUsed: 0
  lastError: no permission
  conditions:
  - {type: Ready, status: "False", reason: NoPermission, message: m, lastTransitionTime: t}
)");
  ASSERT_TRUE(value) << value.error().to_string();
  const auto lb = decode_load_balancer(*value);
  ASSERT_TRUE(lb) << lb.error().to_string();
  EXPECT_EQ(wire::to_yaml(encode(lb->spec)), wire::to_yaml(*wire::find(*value, "/spec")));
  EXPECT_EQ(wire::to_yaml(encode(lb->status)), wire::to_yaml(*wire::find(*value, "/status")));
  EXPECT_TRUE(check(lb->spec, "spec").empty());
}

}  // namespace
}  // namespace berth::api
