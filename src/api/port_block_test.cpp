#include "api/port_block.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/walkers.h"
#include "wire/yaml.h"

namespace berth::api {
namespace {

TEST(PortBlock, IsClusterWideAndHasNoStatus) {
  const wire::Value crd = crd_of(port_block_kind());
  EXPECT_EQ(wire::string_at(crd, "/metadata/name"), "portblocks.berth.dev");
  EXPECT_EQ(wire::string_at(crd, "/spec/scope"), "Cluster");
  EXPECT_FALSE(wire::object_at(crd, "/spec/versions/0/subresources/status"));
  EXPECT_FALSE(wire::object_at(crd, "/spec/versions/0/schema/openAPIV3Schema/properties/status"));
}

TEST(PortBlock, ComesBackAsItWas) {
  const auto value = wire::parse_yaml(R"(
apiVersion: berth.dev/v1
kind: PortBlock
metadata: {name: edge.demo-tcp-30080-x7k2p, resourceVersion: "3"}
spec:
  loadBalancer: edge.demo
  protocol: TCP
  startPort: 30080
  endPort: 30207
  closed: true
  grants:
  - {protocol: TCP, startPort: 30100, endPort: 30100, ownerKind: Stage, ownerNamespace: games,
     ownerName: main, ownerUID: u-1, item: a, since: "2026-01-01T00:00:00Z"}
)");
  ASSERT_TRUE(value) << value.error().to_string();
  const auto block = decode_port_block(*value);
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_TRUE(block->spec.closed);
  EXPECT_EQ(wire::to_yaml(encode(block->spec)), wire::to_yaml(*wire::find(*value, "/spec")));
  EXPECT_TRUE(check(block->spec, "spec").empty());
}

}  // namespace
}  // namespace berth::api
