#include "admission/pod_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/pod_patch.h"
#include "api/pool_access.h"
#include "claims/pod_seal.h"
#include "claims/test_replica.h"
#include "wire/yaml.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using claims::testing::encoded;
using claims::testing::lock_at;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using wire::Object;
using wire::Value;

const kube::ResourceType& kListener = api::listener_kind().type;

constexpr std::string_view kRoom = R"(
metadata:
  name: room-0
  ownerReferences: [{kind: StatefulSet, name: room, uid: uid-of-set, controller: true}]
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: rooms TCP 8000
    keepduration.portbinding.bkbcs.tencent.com: 10m
spec:
  containers:
  - {name: room, ports: [{containerPort: 8000}, {containerPort: 8001}]}
)";

// A replica admits Pods of namespace "games", where pool "rooms" has ports from 30000 on.
class PodPortsTest : public ::testing::Test {
 protected:
  PodPortsTest() { label_namespace("games"); }

  void label_namespace(const std::string& name, Object labels = {}) {
    labels[api::kInjectLabel] = "true";
    api_.put(kube::types::kNamespace,
             Object{{"metadata", Object{{"name", name}, {"labels", std::move(labels)}}}});
  }
  // `end` is the port behind the last.
  static api::PortPool pool(std::int64_t end) {
    api::PortPool out =
        claims::testing::pool_with({claims::testing::tcp_item("item1", 30000, end)});
    out.status.pool_items = {{.item_name = "item1",
                              .load_balancer_ids = {"edge:demo"},
                              .pool_item_load_balancers = {{.id = "edge:demo", .ips = {"1.1.1.1"}}},
                              .status = std::string(api::kReady)}};
    return out;
  }
  void open(const api::PortPool& pool) {
    claims::testing::open_pool(api_, pool);
    replica_.know(pool);
    replica_.catch_up();
  }
  void open(std::int64_t end) { open(pool(end)); }

  static Value room(std::string_view ports = "rooms TCP 8000") {
    Value pod = wire::parse_yaml(kRoom).value();
    set_annotation(pod, api::kPortsAnnotation, ports);
    return pod;
  }
  static kube::AdmissionRequest creation(Value pod, std::string ns = "games") {
    kube::AdmissionRequest out;
    out.operation = "CREATE";
    out.resource = "pods";
    out.ns = std::move(ns);
    out.object = std::move(pod);
    return out;
  }
  Result<kube::AdmissionAnswer> admit(const Value& pod) {
    return handler_.admit(context_, creation(pod));
  }
  // The Pod as it goes on from here; the test fails when it is refused.
  Value admitted(const Value& pod) {
    const Result<kube::AdmissionAnswer> answer = admit(pod);
    if (!answer) {
      ADD_FAILURE() << answer.error().to_string();
      return pod;
    }
    return wire::apply_json_patch(pod, answer->patch).value();
  }
  // The text of a refusal; empty when it is admitted.
  std::string refusal(const Value& pod, const std::string& ns = "games") {
    const Result<kube::AdmissionAnswer> answer = handler_.admit(context_, creation(pod, ns));
    return answer ? "" : answer.error().to_string();
  }

  // "1.1.1.1:30000" for each port that the Pod was told of.
  static std::vector<std::string> told(const Value& pod) {
    std::vector<std::string> out;
    const auto entries =
        api::decode_pool_bindings(annotation_of(pod, api::kPoolBindingsAnnotation));
    for (const api::PortBindingItem& entry : entries.value_or(std::vector<api::PortBindingItem>{}))
      out.push_back(api::public_address(entry));
    return out;
  }
  // Of the first container; empty when it has none of that name.
  static std::string variable(const Value& pod, std::string_view name, std::size_t container = 0) {
    const wire::Array* const env =
        wire::array_at(pod, fmt::format("/spec/containers/{}/env", container));
    for (const Value& one : env ? *env : wire::Array{})
      if (wire::string_at(one, "/name") == name) return std::string(wire::string_at(one, "/value"));
    return {};
  }
  // What the server has.
  std::optional<ledger::Claim> claim_on(int port) const {
    const Value* const listener = api_.find(kListener, {"games", fmt::format("demo-tcp-{}", port)});
    const std::string path =
        "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);
    return ledger::decode_claim(wire::string_at(*listener, path)).value();
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::ScriptedApi api_;
  claims::testing::TestReplica replica_{tasks_, api_};
  claims::Courtesy courtesy_;
  kube::Store<kube::Namespace> known_namespaces_;
  Namespaces namespaces_{replica_.client, known_namespaces_};
  claims::Tenants tenants_{replica_.listeners};
  std::set<std::string> seen_tokens_;  // of Pods that this replica's cache has
  PoolRules rules_{replica_.pools, namespaces_, tenants_,
                   [this](const std::string& token) { return seen_tokens_.contains(token); }};
  int tokens_ = 0;
  std::vector<std::string> refused_for_;  // pools, as they were noted
  std::function<void()> on_refused_ = [] {};
  PodPorts handler_{replica_.claimer,
                    courtesy_,
                    replica_.pools,
                    namespaces_,
                    rules_,
                    ledger::kMaxKeep,
                    [this] { return fmt::format("token-{}", ++tokens_); },
                    [](const ledger::Claim& claim, const auto& entries) {
                      return fmt::format("seal of {} for {}", entries.size(), claim.token);
                    },
                    [this](const Value&, const std::string&, const auto& pools) {
                      for (const kube::ObjectKey& pool : pools)
                        refused_for_.push_back(pool.to_string());
                      on_refused_();
                    }};
  const Context context_{.tasks = tasks_, .deadline = tasks_.now() + 8s};
};

TEST_F(PodPortsTest, ThePodIsToldWhatWasClaimedForIt) {
  open(30002);
  const Value pod = admitted(room());
  EXPECT_THAT(told(pod), ElementsAre("1.1.1.1:30000"));
  EXPECT_EQ(variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_8000"), "1.1.1.1:30000");
  EXPECT_EQ(label_of(pod, ledger::kTokenLabel), "token-1");
  EXPECT_EQ(annotation_of(pod, claims::kPortsSealAnnotation), "seal of 1 for token-1");
  EXPECT_EQ(annotation_of(pod, api::kBindStatusAnnotation), api::kNotReady);
  const auto claim = claim_on(30000);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->state, ledger::SlotState::claimed);
  EXPECT_EQ(claim->token, "token-1");
  EXPECT_EQ(claim->ns, "games");
  EXPECT_EQ(claim->pod_name, "room-0");
  EXPECT_EQ(claim->owner_uid, "uid-of-set");
  EXPECT_EQ(claim->keep, 10min);
  EXPECT_EQ(claim->pod_port.port, 8000);
  EXPECT_FALSE(claim_on(30001));
}

TEST_F(PodPortsTest, WhoCreatesItReadsWhereItIsReached) {
  open(30002);
  const auto answer = admit(room());
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->warnings, ElementsAre("TCP port 8000 is reached at 1.1.1.1:30000"));
}

TEST_F(PodPortsTest, SeveralPortsAreToldInTheOrderInWhichTheyWereAskedFor) {
  open(30002);
  const Value pod = admitted(room("rooms TCP 8001\nrooms TCP 8000"));
  EXPECT_THAT(told(pod), ElementsAre("1.1.1.1:30000", "1.1.1.1:30001"));
  EXPECT_EQ(variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_8001"), "1.1.1.1:30000");
  EXPECT_EQ(claim_on(30001)->pod_port.port, 8000);
}

TEST_F(PodPortsTest, AGateIsPutInOnceWhereItIsAskedFor) {
  open(30002);
  Value pod = room();
  set_annotation(pod, api::kReadinessGateAnnotation, "true");
  const Value once = admitted(pod);
  const Value twice = admitted(once);
  const wire::Array* const gates = wire::array_at(twice, "/spec/readinessGates");
  ASSERT_TRUE(gates);
  EXPECT_THAT(*gates, SizeIs(1));
  EXPECT_EQ(wire::string_at(gates->at(0), "/conditionType"), api::kPortsReadyCondition);
  EXPECT_FALSE(wire::find(admitted(room()), "/spec/readinessGates"));
}

TEST_F(PodPortsTest, WhatAsksForNoPortsIsLeftAlone) {
  open(30002);
  Value plain = room();
  set_annotation(plain, api::kPortPoolsAnnotation, "false");
  EXPECT_THAT(admit(plain)->patch, IsEmpty());
  kube::AdmissionRequest update = creation(room());
  update.operation = "UPDATE";
  EXPECT_THAT(handler_.admit(context_, update)->patch, IsEmpty());
  kube::AdmissionRequest status = creation(room());
  status.subresource = "status";
  EXPECT_THAT(handler_.admit(context_, status)->patch, IsEmpty());
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(PodPortsTest, ADryRunTakesNothing) {
  open(30002);
  kube::AdmissionRequest request = creation(room());
  request.dry_run = true;
  const auto answer = handler_.admit(context_, request);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->warnings, ElementsAre(HasSubstr("(dry run: not reserved)")));
  EXPECT_THAT(told(wire::apply_json_patch(room(), answer->patch).value()),
              ElementsAre("1.1.1.1:30000"));
  EXPECT_THAT(api_.writes(), IsEmpty());
  EXPECT_THAT(told(admitted(room())), ElementsAre("1.1.1.1:30000"));
}

TEST_F(PodPortsTest, AskedAgainAboutOnePodItTakesNothingMore) {
  open(30002);
  Value pod = admitted(room());
  // Another webhook has put a sidecar in.
  pod.at("spec").at("containers").as_array().push_back(Object{{"name", "sidecar"}});
  api_.forget_calls();
  const Value again = admitted(pod);
  EXPECT_THAT(api_.writes(), IsEmpty());
  EXPECT_EQ(label_of(again, ledger::kTokenLabel), "token-1");
  EXPECT_THAT(told(again), ElementsAre("1.1.1.1:30000"));
  EXPECT_EQ(variable(again, "BCS_PORTPOOL_PORT_VIPLIST_TCP_8000", 1), "1.1.1.1:30000")
      << "the sidecar is told, too";
}

// `kubectl get pod -o yaml`, edited and applied under another name.
TEST_F(PodPortsTest, ACopyOfAPodGetsPortsOfItsOwn) {
  open(30002);
  Value copy = admitted(room());
  ASSERT_TRUE(wire::set_at(copy, "/metadata/name", "copy-of-it"));
  const Value pod = admitted(copy);
  EXPECT_EQ(label_of(pod, ledger::kTokenLabel), "token-2");
  EXPECT_THAT(told(pod), ElementsAre("1.1.1.1:30001"));
  EXPECT_EQ(claim_on(30000)->token, "token-1");
}

// The API server gave the request up after our answer, and its client asks again.
TEST_F(PodPortsTest, ANameThatIsCreatedAgainGetsTheSamePort) {
  open(30002);
  (void)admitted(room());
  EXPECT_THAT(told(admitted(room())), ElementsAre("1.1.1.1:30000"));
  EXPECT_EQ(claim_on(30000)->token, "token-2");
  EXPECT_FALSE(claim_on(30001));
}

TEST_F(PodPortsTest, AnAnswerThatWasLostLeavesNothingBehind) {
  open(30002);
  api_.on({"PATCH", "listeners"}, {.lost_after = true});
  EXPECT_THAT(refusal(room()), StartsWith("timeout"));
  EXPECT_FALSE(claim_on(30000));
}

TEST_F(PodPortsTest, ANamespaceWithoutTheLabelGetsNothing) {
  open(30002);
  api_.put(kube::types::kNamespace, Object{{"metadata", Object{{"name", "plain"}}}});
  EXPECT_THAT(refusal(room("rooms.games TCP 8000"), "plain"), HasSubstr("label it"));
  EXPECT_THAT(refusal(room("rooms.games TCP 8000"), "nowhere"), HasSubstr("does not exist"));
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(PodPortsTest, WhatIsNoPodOfANamespaceIsRefusedBeforeAnythingIsAsked) {
  open(30002);
  EXPECT_THAT(refusal(room(), "not/one"), HasSubstr("is no name of a namespace"));
  Value pod = room();
  ASSERT_TRUE(wire::set_at(pod, "/metadata/name", "Room_0"));
  EXPECT_THAT(refusal(pod), HasSubstr("is no name of a Pod"));
  ASSERT_TRUE(wire::set_at(pod, "/metadata/namespace", "elsewhere"));
  EXPECT_THAT(refusal(pod), HasSubstr("differs from request.namespace, games"));
  EXPECT_THAT(refusal(room("rooms TCP 9999")), HasSubstr("no container declares port 9999"));
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(PodPortsTest, AFullPoolIsSaidAtOnceAndRemembered) {
  open(30001);
  Value first = room();
  ASSERT_TRUE(wire::set_at(first, "/metadata/name", "room-1"));
  (void)admitted(first);
  EXPECT_THAT(refusal(room()), HasSubstr("games/room-1")) << "who has its ports";
  EXPECT_THAT(refused_for_, ElementsAre("games/rooms"));
  EXPECT_THAT(tasks_.pauses, IsEmpty()) << "a pool that is merely full is not waited for";
}

TEST_F(PodPortsTest, AllPortsOrNone) {
  open(30001);
  EXPECT_THAT(refusal(room("rooms TCP 8000\nrooms TCP 8001")), StartsWith("exhausted"));
  EXPECT_FALSE(claim_on(30000));
}

// Before it is remembered, nobody would hear of it.
TEST_F(PodPortsTest, RoomThatComesWhileThePodIsRefusedIsNotMissed) {
  open(30001);
  api_.put(kListener, encoded(claims::testing::with_claim(
                          lock_at({}), ledger::Claim{.token = "t", .ns = "games"})));
  replica_.catch_up();
  on_refused_ = [&] {
    api_.put(kListener, encoded(lock_at({})));
    replica_.catch_up();
  };
  EXPECT_THAT(told(admitted(room())), ElementsAre("1.1.1.1:30000"));
}

TEST_F(PodPortsTest, APoolThatCannotGiveItSaysSo) {
  open(30002);
  EXPECT_THAT(refusal(room("rooms/item9 TCP 8000")),
              HasSubstr("has no item 'item9'; its items are"));
  EXPECT_THAT(refusal(room("rooms UDP 8000")), HasSubstr("has no item for UDP; its items are"));
  EXPECT_THAT(refusal(room("halls TCP 8000")), HasSubstr("there is no PortPool games/halls"));
  EXPECT_THAT(api_.writes(), IsEmpty());
}

// By one `kubectl apply` with the Pod.
TEST_F(PodPortsTest, APoolThatIsBeingFilledIsWaitedFor) {
  api::PortPool young = pool(30002);
  young.meta.created = tasks_.wall_time();
  young.status = {};
  replica_.know(young);
  tasks_.on_pause = [&] {
    if (tasks_.pauses.size() != 5) return;
    api::PortPool filled = pool(30002);
    filled.meta.created = young.meta.created;
    open(filled);
  };
  EXPECT_THAT(told(admitted(room())), ElementsAre("1.1.1.1:30000"));
  EXPECT_THAT(refused_for_, IsEmpty());
}

TEST_F(PodPortsTest, WaitingEndsBeforeTheDeadlineSoThatTheReasonIsHeard) {
  EXPECT_THAT(refusal(room()), HasSubstr("there is no PortPool games/rooms"));
  EXPECT_FALSE(context_.expired());
  EXPECT_THAT(refused_for_, ElementsAre("games/rooms"));
}

TEST_F(PodPortsTest, APortWhoseAddressIsNotKnownIsGivenBack) {
  api::PortPool dark = pool(30002);
  dark.status.pool_items[0].pool_item_load_balancers[0].ips.clear();
  open(dark);
  EXPECT_THAT(refusal(room()), HasSubstr("the addresses of item item1 are not known yet"));
  EXPECT_FALSE(claim_on(30000));
}

// A pool in another namespace, which selects whom it serves.
class SharedPoolTest : public PodPortsTest {
 protected:
  SharedPoolTest() {
    label_namespace("studio", {{"tier", "gold"}});
    open(select("tier=gold"));
  }
  static api::PortPool select(std::string selector) {
    api::PortPool out = pool(30002);
    claims::testing::put(out.meta.annotations, api::kAllowedSelectorAnnotation,
                         std::move(selector));
    return out;
  }
  std::string refusal_of_studio() { return refusal(room("rooms.games TCP 8000"), "studio"); }
};

TEST_F(SharedPoolTest, ServesWhomItSelects) {
  EXPECT_EQ(refusal_of_studio(), "");
  EXPECT_EQ(claim_on(30000)->ns, "studio");
  label_namespace("hobby");
  EXPECT_THAT(refusal(room("rooms.games TCP 8000"), "hobby"), HasSubstr("may not use it"));
  EXPECT_FALSE(claim_on(30001));
}

TEST_F(SharedPoolTest, RulesThatComeMeanwhileCount) {
  api_.on({"PATCH", "listeners"}, {.before = [&] { replica_.know(select("tier=platinum")); }});
  EXPECT_THAT(refusal_of_studio(), HasSubstr("may not use it"));
  EXPECT_FALSE(claim_on(30000));
}

TEST_F(SharedPoolTest, WhatWasTakenForAnAnswerThatComesTooLateIsGivenBack) {
  // Asked for the label, for access, and for access once more when the port is taken.
  api_.on({"GET", "namespaces/studio", 3}, {.late = 1min});
  EXPECT_THAT(refusal_of_studio(), StartsWith("timeout"));
  EXPECT_THAT(api_.writes(), SizeIs(2));
  EXPECT_FALSE(claim_on(30000));
}

class PoolBoundTest : public PodPortsTest {
 protected:
  Value numbered(int number) {
    Value pod = room();
    (void)wire::set_at(pod, "/metadata/name", Value(fmt::format("room-{}", number)));
    return pod;
  }
};

TEST_F(PoolBoundTest, ANamespaceGetsNoMoreThanThePoolsOwnerSays) {
  api::PortPool bounded = pool(30010);
  claims::testing::put(bounded.meta.annotations, api::kMaxPortsAnnotation, "2");
  open(bounded);
  (void)admitted(numbered(0));
  (void)admitted(numbered(1));
  EXPECT_THAT(refusal(numbered(2)), HasSubstr("has 2 of the 2 ports"));
  EXPECT_FALSE(claim_on(30002));
  EXPECT_THAT(told(admitted(numbered(1))), ElementsAre("1.1.1.1:30001"))
      << "a name that has its port already asks for no more";
}

TEST_F(PoolBoundTest, PostsWithoutPodsEmptyNoPool) {
  open(30010);
  for (int i = 0; i < static_cast<int>(kMinUnseenPorts); ++i) (void)admitted(numbered(i));
  EXPECT_THAT(refusal(numbered(8)), HasSubstr("for Pods that have not come"));
  EXPECT_FALSE(claim_on(30008));
  seen_tokens_.insert("token-1");
  EXPECT_EQ(refusal(numbered(8)), "");
}

TEST_F(PoolBoundTest, APodThatIsSeenMeanwhileIsWaitedFor) {
  open(30010);
  for (int i = 0; i < static_cast<int>(kMinUnseenPorts); ++i) (void)admitted(numbered(i));
  tasks_.on_pause = [&] { seen_tokens_.insert("token-1"); };
  EXPECT_EQ(refusal(numbered(8)), "");
}

}  // namespace
}  // namespace berth::admission
