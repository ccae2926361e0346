#include "admission/port_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "claims/test_support.h"
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

const model::LoadBalancerDefaults kTencent{model::Provider::tencent, "ap-nanjing"};

std::string with(std::string yaml, const std::string& from, const std::string& to) {
  return yaml.replace(yaml.find(from), from.size(), to);
}

class PortPoolGateTest : public ::testing::Test {
 protected:
  PortPoolGateTest() {
    claims::add_indexes(listeners_, {});
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
  }

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

  std::string remove() const {
    kube::AdmissionRequest request;
    request.operation = "DELETE";
    request.resource = "portpools";
    request.ns = "games";
    request.name = "rooms";
    request.old_object = wire::parse_yaml(kOldPool).value();
    const Result<kube::AdmissionAnswer> answer = gate_.admit(request);
    return answer ? "" : answer.error().to_string();
  }
  // A port of pool games/rooms is held by this Pod.
  void hold(model::Port port, const std::string& ns, const std::string& pod) {
    using namespace claims::testing;
    api::Listener listener = with_claim(
        lock_at({.ports = {port, port}}),
        ledger::Claim{.state = ledger::SlotState::bound, .token = "t", .ns = ns, .pod_name = pod});
    listener.meta.resource_version = 2;
    if (listeners_.all().empty()) {
      ASSERT_TRUE(listeners_.replace({}, 1));
    }
    listeners_.put(std::move(listener));
  }

  // What is known of tencent's ap-nanjing:lb-1.
  void put_balancer(const std::string& type, std::vector<api::Grant> grants) {
    api::LoadBalancer object;
    object.meta.name = model::object_name({model::Provider::tencent, "ap-nanjing", "lb-1"});
    object.meta.resource_version = 5;
    object.spec.grants = std::move(grants);
    object.status.type = type;
    balancers_.put(std::move(object));
  }
  Result<kube::AdmissionAnswer> create(const std::string& pool) const {
    kube::AdmissionRequest request;
    request.operation = "CREATE";
    request.resource = "portpools";
    request.ns = "games";
    request.name = "rooms";
    request.object = wire::parse_yaml(pool).value();
    return gate_.admit(request);
  }

  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  const claims::GrantBook book_{balancers_, blocks_};
  const claims::Resolver resolver_{book_, listeners_, claims::testing::sealer(), kTencent, {}};
  PortPoolGate gate_{listeners_, {book_, listeners_}, resolver_, [](const model::LoadBalancerRef&) {
                       return true;
                     }};
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
              HasSubstr("spec.poolItems[0].certificate.certID: is required with protocol TCP_SSL"));
  EXPECT_EQ(update(kOldPool, with(kOldPool, "TCP_SSL", "TCP_SSL, certificate: {certID: front}")),
            "");
}

// The process was started with another default provider, on which it would be no pool.
TEST_F(PortPoolGateTest, AnItemIsCheckedByTheRulesOfWhereItStands) {
  api::LoadBalancer stands;
  stands.meta.name = model::object_name({model::Provider::tencent, "ap-nanjing", "lb-1"});
  stands.meta.resource_version = 5;
  stands.spec = {.provider = "tencent", .region = "ap-nanjing", .load_balancer_id = "lb-1"};
  stands.spec.grants = {{.protocol = "TCP", .owner_uid = "uid-of-rooms", .item = "a"}};
  balancers_.put(std::move(stands));
  const claims::Resolver on_aws{
      book_, listeners_, claims::testing::sealer(), {model::Provider::aws, "eu-west-1"}, {}};
  const PortPoolGate gate{
      listeners_, {book_, listeners_}, on_aws, [](const model::LoadBalancerRef&) { return true; }};
  const std::string before = R"(
metadata: {namespace: games, name: rooms, uid: uid-of-rooms}
spec: {poolItems: [{itemName: a, loadBalancerIDs: [lb-1], startPort: 100, endPort: 110}]}
)";
  kube::AdmissionRequest request;
  request.operation = "UPDATE";
  request.ns = "games";
  request.name = "rooms";
  request.old_object = wire::parse_yaml(before).value();
  request.object = wire::parse_yaml(with(before, "endPort: 110", "endPort: 120")).value();
  const auto grown = gate.admit(request);
  EXPECT_TRUE(grown) << grown.error().to_string();
  request.object = wire::parse_yaml(with(before, "}]}",
                                         "}, {itemName: b, loadBalancerIDs: [lb-2], startPort: "
                                         "200, endPort: 210}]}"))
                       .value();
  const auto added = gate.admit(request);
  ASSERT_FALSE(added) << "what is new is read by the defaults";
  EXPECT_THAT(added.error().to_string(), HasSubstr("spec.poolItems[1].protocol"));
}

// Who may write a pool may not read the Pods of every namespace that uses it.
TEST_F(PortPoolGateTest, NamesHoldersOfThePoolsOwnNamespaceAndCountsTheOthers) {
  hold(30000, "games", "room-0");
  EXPECT_THAT(remove(), HasSubstr("the pool is in use: 1 ports are held by games/room-0"));
  hold(30001, "secret-project", "room-0");
  hold(30002, "secret-project", "room-1");
  EXPECT_THAT(remove(), HasSubstr("the pool is in use: 3 ports are held by games/room-0 and 2 Pods "
                                  "in other namespaces"));
}

// A newer version of us wrote it: its pool may not go.
TEST_F(PortPoolGateTest, AClaimThatCannotBeReadIsHeld) {
  hold(30000, "games", "room-0");
  api::Listener listener = *listeners_.all().front();
  listener.meta.resource_version = 3;
  listeners_.put(claims::testing::with_claim(listener, std::string(R"({"v":2})")));
  EXPECT_THAT(remove(), HasSubstr("a claim that this version cannot read, on Listener games/"));
}

TEST_F(PortPoolGateTest, CountsHoldersThatAreAllElsewhere) {
  hold(30000, "secret-project", "room-0");
  EXPECT_THAT(remove(),
              HasSubstr("the pool is in use: 1 ports are held by 1 Pod in other namespaces"));
}

// A replica that has just started knows no Listener of anybody: every port looks free to it.
TEST_F(PortPoolGateTest, BeforeTheCacheIsSyncedNothingIsKnownToBeUnused) {
  const std::string good = with(kOldPool, "TCP_SSL", "TCP");
  const std::string without = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: b, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 200, endPort: 210}
)";
  EXPECT_THAT(remove(), HasSubstr("unavailable"));
  EXPECT_THAT(update(good, without), HasSubstr("unavailable"));
  EXPECT_EQ(update(good, with(good, "endPort: 110", "endPort: 120")), "") << "takes nothing away";
  ASSERT_TRUE(listeners_.replace({}, 1));
  EXPECT_EQ(remove(), "");
  EXPECT_EQ(update(good, without), "");
}

TEST_F(PortPoolGateTest, AnnotationsThatSayWhoMayUseItMustBeRight) {
  const std::string good = with(kOldPool, "TCP_SSL", "TCP");
  const auto allowing = [&](const std::string& whom) {
    return with(good, "name: rooms",
                "name: rooms, annotations: {berth.dev/allowed-namespaces: \"" + whom + "\"}");
  };
  EXPECT_EQ(update(good, allowing("games,studios")), "");
  const std::string refusal = update(good, allowing("games;studios"));
  EXPECT_THAT(refusal, HasSubstr("games/rooms"));
  EXPECT_THAT(refusal, HasSubstr("metadata.annotations[berth.dev/allowed-namespaces]"));
  EXPECT_THAT(refusal, HasSubstr("'games;studios'"));
  // It was written before anybody looked: other changes are not held back.
  EXPECT_EQ(update(allowing("Games"),
                   with(allowing("Games"), "name: rooms", "name: rooms, labels: {a: b}")),
            "");
}

TEST_F(PortPoolGateTest, SegmentsAreForPublicLoadBalancers) {
  const std::string segments = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: ["ap-nanjing:lb-1"], protocol: UDP, startPort: 100, endPort: 110, segmentLength: 5}
)";
  EXPECT_TRUE(create(segments)) << "nothing is known of it yet";
  put_balancer("INTERNAL", {});
  const auto refused = create(segments);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(),
              HasSubstr("spec.poolItems[0].segmentLength: segments of ports on ap-nanjing:lb-1, "
                        "which is an internal load balancer: only public ones have them"));
}

// Whoever has them keeps them, and whoever writes hears whose they are.
TEST_F(PortPoolGateTest, PortsOfAnotherOwnerAreRefusedWithItsName) {
  put_balancer("OPEN", {{.protocol = "TCP",
                         .start_port = 105,
                         .end_port = 120,
                         .owner_kind = "Ingress",
                         .owner_namespace = "other",
                         .owner_name = "shop",
                         .owner_uid = "u"}});
  const std::string pool = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: ["ap-nanjing:lb-1"], protocol: UDP, startPort: 100, endPort: 110}
)";
  const auto beside = create(pool);
  ASSERT_TRUE(beside) << beside.error().to_string();
  EXPECT_TRUE(beside->warnings.empty()) << "UDP is another port";
  const auto overlapping = create(with(pool, "UDP", "TCP"));
  ASSERT_FALSE(overlapping);
  EXPECT_EQ(overlapping.error().code, Code::conflict);
  EXPECT_THAT(overlapping.error().to_string(),
              HasSubstr("PortPool games/rooms: spec.poolItems[0].startPort: TCP ports 105-120 of "
                        "ap-nanjing:lb-1 are granted to Ingress other/shop"));
  // It would grow into them.
  const std::string small = with(with(pool, "UDP", "TCP"), "endPort: 110", "endPort: 104");
  EXPECT_EQ(update(small, with(small, "endPort: 104", "endPort: 105")), "");
  EXPECT_THAT(update(small, with(small, "endPort: 104", "endPort: 106")),
              HasSubstr("are granted to Ingress other/shop"));
  EXPECT_THAT(update(small, small + "  - {itemName: b, loadBalancerIDs: [\"ap-nanjing:lb-1\"], "
                                    "protocol: TCP, startPort: 120, endPort: 121}\n"),
              HasSubstr("spec.poolItems[1].startPort: TCP ports 105-120"));
}

TEST_F(PortPoolGateTest, WhereItMayWaitForPortsItIsWarned) {
  put_balancer("OPEN", {{.protocol = "TCP",
                         .start_port = 105,
                         .end_port = 120,
                         .owner_kind = "Ingress",
                         .owner_namespace = "other",
                         .owner_name = "shop",
                         .owner_uid = "u"}});
  const PortPoolGate lenient(
      listeners_, {claims::GrantBook(balancers_, blocks_), listeners_}, resolver_,
      [](const model::LoadBalancerRef&) { return true; }, PortPoolGate::Taken::waited_for);
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.resource = "portpools";
  request.ns = "games";
  request.name = "rooms";
  request.object =
      wire::parse_yaml(with(with(kOldPool, "TCP_SSL", "TCP"), "lb-1", "\"ap-nanjing:lb-1\""))
          .value();
  const auto answer = lenient.admit(request);
  ASSERT_TRUE(answer) << answer.error().to_string();
  ASSERT_EQ(answer->warnings.size(), 1u);
  EXPECT_EQ(answer->warnings.front(),
            "PortPool games/rooms: spec.poolItems[0].startPort: TCP ports 105-120 of "
            "ap-nanjing:lb-1 are granted to Ingress other/shop: the item has none of its ports "
            "until all of them are free");
}

// It was there before us, or before the other one, and waits: nothing else of it is held back.
TEST_F(PortPoolGateTest, APoolThatWaitsForPortsOfAnotherStaysEditable) {
  put_balancer("OPEN", {{.protocol = "TCP",
                         .start_port = 105,
                         .end_port = 120,
                         .owner_kind = "PortPool",
                         .owner_namespace = "games",
                         .owner_name = "halls",
                         .owner_uid = "u",
                         .item = "big"}});
  const std::string waits = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: ["ap-nanjing:lb-1"], protocol: TCP, startPort: 100, endPort: 110}
)";
  EXPECT_EQ(update(waits, with(waits, "endPort: 110", "endPort: 112")), "");
  EXPECT_EQ(update(waits, with(waits, "spec:", "spec:\n  allocatePolicy: average")), "");
  EXPECT_EQ(update(waits, waits + "  - {itemName: b, loadBalancerIDs: [\"ap-nanjing:lb-1\"], "
                                  "protocol: TCP, startPort: 200, endPort: 210}\n"),
            "");
}

}  // namespace
}  // namespace berth::admission
