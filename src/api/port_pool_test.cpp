#include "api/port_pool.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/walkers.h"
#include "wire/yaml.h"

namespace berth::api {
namespace {

PortPool pool(std::string_view yaml) {
  const auto value = wire::parse_yaml(yaml);
  EXPECT_TRUE(value) << value.error().to_string();
  auto decoded = decode_incoming_port_pool(*value);
  EXPECT_TRUE(decoded) << decoded.error().to_string();
  return *decoded;
}

const char* const kTwoItems = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 100, endPort: 110}
  - {itemName: b, loadBalancerIDs: [lb-1, lb-2], startPort: 110, endPort: 120}
)";

std::string refusal(const std::string& from, const std::string& to) {
  std::string yaml = kTwoItems;
  yaml.replace(yaml.find(from), from.size(), to);
  const Result<> valid = validate(pool(yaml));
  return valid ? ""
               : valid.error().object + ": " + valid.error().field + ": " + valid.error().message;
}

TEST(PortPool, ReadsWhatUsersWrite) {
  const PortPool rooms = pool(kTwoItems);
  ASSERT_EQ(rooms.spec.pool_items.size(), 2u);
  EXPECT_EQ(rooms.spec.pool_items[1].load_balancer_ids, (std::vector<std::string>{"lb-1", "lb-2"}));
  EXPECT_EQ(ports_of(rooms.spec.pool_items[0]), (model::PortRange{100, 109}))
      << "endPort is exclusive";
  EXPECT_EQ(protocols_of(rooms.spec.pool_items[1]).value().size(), 2u) << "no protocol means both";
  EXPECT_TRUE(validate(rooms));
}

TEST(PortPool, RefusalsNameObjectFieldAndWhatIsAllowed) {
  EXPECT_EQ(refusal("startPort: 100", "startPort: 0"),
            "PortPool games/rooms: spec.poolItems[0].startPort: is required");
  EXPECT_EQ(refusal("endPort: 120", "endPort: 70000"),
            "PortPool games/rooms: spec.poolItems[1].endPort: 70000 is not in 1-65535");
  EXPECT_EQ(refusal("endPort: 110", "endPort: 100"),
            "PortPool games/rooms: spec.poolItems[0].endPort: 100 is not above startPort 100 (the "
            "range is [startPort, endPort))");
  EXPECT_EQ(
      refusal("itemName: b", "itemName: a"),
      "PortPool games/rooms: spec.poolItems[1].itemName: 'a' is the name of poolItems[0] too");
  EXPECT_EQ(refusal("startPort: 110", "startPort: 109"),
            "PortPool games/rooms: spec.poolItems[1].startPort: ports 109-119 overlap those of "
            "item 'a' on the same load balancer");
  EXPECT_EQ(
      refusal("protocol: TCP", "protocol: SCTP"),
      "PortPool games/rooms: spec.poolItems[0].protocol: protocol 'SCTP' is not one of TCP, UDP");
  EXPECT_EQ(refusal("[lb-1]", "[]"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerIDs: is required");
}

TEST(PortPool, OverlapOnDifferentLoadBalancersIsFine) {
  EXPECT_EQ(refusal("[lb-1]", "[lb-9]"), "");
}

TEST(PortPool, ARangeMayGrowAndNothingElseMayChange) {
  const PortPool before = pool(kTwoItems);
  PortPool after = before;
  after.spec.pool_items[1].end_port = 130;
  EXPECT_TRUE(validate_update(before, after));
  after.spec.pool_items[1].end_port = 115;
  EXPECT_EQ(validate_update(before, after).error().field, "spec.poolItems[1].endPort");
  after = before;
  after.spec.pool_items[0].start_port = 90;
  EXPECT_EQ(validate_update(before, after).error().message, "cannot change (was 100, is 90)");
  after = before;
  after.spec.pool_items[1].load_balancer_ids = {"lb-2"};
  EXPECT_EQ(validate_update(before, after).error().field, "spec.poolItems[1].loadBalancerIDs");
  after = before;
  std::swap(after.spec.pool_items[0], after.spec.pool_items[1]);
  EXPECT_TRUE(validate_update(before, after))
      << "items are told apart by their name, not by their place";
}

TEST(PortPool, TheSchemaSaysWhatTheTableSays) {
  const wire::Value crd = crd_of(port_pool_kind());
  const std::string_view item =
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/poolItems/items/"
      "properties/";
  EXPECT_EQ(wire::int_at(crd, std::string(item) + "startPort/maximum"), 65535);
  EXPECT_EQ(wire::string_at(crd, std::string(item) + "startPort/x-kubernetes-validations/0/rule"),
            "self == oldSelf");
  EXPECT_EQ(wire::string_at(
                crd,
                "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/poolItems/"
                "x-kubernetes-list-type"),
            "map");
  EXPECT_TRUE(wire::object_at(crd, "/spec/versions/0/subresources/status"));
}

TEST(Listener, EncodesInTheOrderOfItsTable) {
  const ListenerSpec spec{.load_balancer_id = "lb-1",
                          .port = 80,
                          .protocol = "TCP",
                          .target_group = ListenerTargetGroup{
                              .backends = {{.ip = "10.0.0.1", .port = 8080, .weight = 10}}}};
  EXPECT_EQ(
      wire::to_json(encode(spec)),
      R"({"loadbalancerID":"lb-1","port":80,"protocol":"TCP","targetGroup":{"backends":[{"IP":"10.0.0.1","port":8080,"weight":10}]}})");
}

TEST(Listener, NamesAreThoseOfUpstreamMadeValid) {
  EXPECT_EQ(pool_listener_name("lb-00001", "TCP", 31000), "lb-00001-tcp-31000");
  EXPECT_EQ(pool_listener_name("edge:demo", "UDP", 1), "edge-demo-udp-1");
}

}  // namespace
}  // namespace berth::api
