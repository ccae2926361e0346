// What newcomers run into, as `berth status` and `berth explain` tell it: pools without room, names
// whose ports are kept, Pods that do not exist, annotations that are misspelt.

#include <boost/json.hpp>

#include "api/keys.h"
#include "report_world.h"

namespace berth {
namespace {

using report::ExplainView;
using report::Explanation;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Report, AFullPoolAndWhoIsRefusedAreAProblem) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  EXPECT_TRUE(eventually([&] { return status().well(); })) << to_text(status());
  create(workload("Deployment", "games", "", asking_for("rooms TCP 8000"), 12));
  EXPECT_TRUE(
      eventually([&] { return status().problems.size() >= 2 && !status().refusals.empty(); }));
  const report::Status now = status();
  EXPECT_FALSE(now.well());
  const std::string text = to_text(now);
  EXPECT_THAT(text, HasSubstr("PortPool games/rooms is full: 10 of 10 TCP ports are in use"));
  EXPECT_THAT(text, HasSubstr("Deployment games/lobby was refused ports"));
  EXPECT_THAT(text, HasSubstr("PortPool games/rooms: no free TCP port"));
  EXPECT_THAT(text, Not(HasSubstr("all is well")));
  const wire::Value json = to_json(now);
  EXPECT_FALSE(wire::bool_at(json, "/well").value_or(true));
  EXPECT_EQ(wire::string_at(json, "/refusals/0/object"), "Deployment games/lobby");
  EXPECT_FALSE(wire::bool_at(json, "/refusals/0/over").value_or(true));

  // Nobody waits any more: what was refused then is no trouble now.
  merge(kube::types::kDeployment, {"games", "lobby"}, R"({"spec": {"replicas": 3}})");
  EXPECT_TRUE(eventually([&] { return status().well(); })) << to_text(status());
  EXPECT_TRUE(wire::bool_at(to_json(status()), "/refusals/0/over").value_or(false));
}

TEST_F(Report, APoolThatIsNotReadyIsAProblemFromItsFirstMoment) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  // What the controller before us has left on one of its ports.
  create(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata: {name: demo-tcp-30205, namespace: games, labels: {owner-kind: PortPool, owner-name: old}}
spec: {loadbalancerID: "edge:demo", port: 30205, protocol: TCP}
)");
  create(pool_yaml("games", "rival", R"({poolItems: [{itemName: item1, protocol: TCP,
      loadBalancerIDs: ["edge:demo"], startPort: 30205, endPort: 30207}]})"));
  EXPECT_TRUE(eventually([&] {
    return to_text(status()).find("made by another controller") != std::string::npos;
  })) << to_text(status());
  EXPECT_THAT(to_text(status()), HasSubstr("problem: PortPool games/rival item item1 is NotReady"));
}

TEST_F(Report, TheLeaseIsFoundWhereverTheControllerIs) {
  ASSERT_TRUE(eventually([&] { return status().leader.alive; }));
  const auto view = read_cluster("");
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->ns.empty());
  // One that was left behind elsewhere, long ago, is not taken for it.
  create(R"(
apiVersion: v1
kind: Namespace
metadata: {name: berth-system}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: berth, namespace: berth-system}
spec: {holderIdentity: ghost, leaseDurationSeconds: 15, renewTime: "2020-01-02T03:04:05.000000Z"}
)");
  EXPECT_TRUE(status().leader.alive);
  EXPECT_NE(status().leader.holder, "ghost");
  // Who names a namespace is told about that one.
  const auto named = read_cluster("berth-system");
  ASSERT_TRUE(named);
  EXPECT_THAT(to_text(report::make_status(*named)), HasSubstr("no controller runs: ghost"));
  const auto empty = read_cluster("kube-system");
  ASSERT_TRUE(empty);
  EXPECT_THAT(to_text(report::make_status(*empty)),
              HasSubstr("no controller leads: lease kube-system/berth is not there"));
}

TEST_F(Report, PortsThatAreKeptAreNotSaidToBeHeldByPods) {
  make_namespace("keep");
  create(pool_yaml("keep", "few", R"({poolItems: [{itemName: item1, protocol: TCP,
      loadBalancerIDs: ["edge:keep"], startPort: 30000, endPort: 30002}]})"));
  ASSERT_TRUE(pool_is_ready("keep", "few"));
  create(workload(
      "StatefulSet", "keep", "",
      asking_for("few TCP 8000") + R"(, keepduration.portbinding.bkbcs.tencent.com: "5m")", 2));
  room_is_ready("keep/lobby-0");
  room_is_ready("keep/lobby-1");
  // Beyond its replicas.
  EXPECT_THAT(explained("pod/lobby-9", "keep"),
              HasSubstr("there is no Pod keep/lobby-9: StatefulSet lobby has 2 replicas, lobby-0 "
                        "to lobby-1"));
  const std::string address = play_->wait_for_room(context_.within(120s), "keep/lobby-1")->address;

  merge(kube::types::kStatefulSet, {"keep", "lobby"}, R"({"spec": {"replicas": 0}})");
  ASSERT_TRUE(eventually([&] { return wire::int_at(to_json(status()), "/claims/kept") == 2; }))
      << to_text(status());
  create(workload("Deployment", "keep", "", asking_for("few TCP 8000")));
  EXPECT_TRUE(comes_to_say("deploy/lobby", "keep",
                           "is full: 2 of 2 in use: 2 kept for keep/lobby-0, keep/lobby-1, which "
                           "are gone (the first until 2"))
      << explained("deploy/lobby", "keep");
  const std::string told = explained("deploy/lobby", "keep");
  EXPECT_THAT(told, HasSubstr("kubectl delete portbinding lobby-"));
  EXPECT_THAT(told, Not(HasSubstr("delete Pods")));
  EXPECT_TRUE(eventually([&] { return !status().refusals.empty(); }));
  EXPECT_THAT(to_text(status()), HasSubstr("2 kept for keep/lobby-0, keep/lobby-1"));

  const Explanation absent = report::explain(view_of("po/lobby-1", "keep"));
  EXPECT_FALSE(absent.ready());
  EXPECT_THAT(to_text(absent), HasSubstr("StatefulSet lobby has 0 replicas"));
  EXPECT_THAT(to_text(absent), HasSubstr("TCP " + address + " kept for a Pod of this name until "));
  EXPECT_THAT(to_text(absent), Not(HasSubstr("has been created yet")));
}

TEST_F(Report, AnAnnotationThatIsMisspeltIsNamed) {
  create(example("first-room.yaml"));
  create(workload("Deployment", "games", "",
                  R"(portpool.networkextension.bkbcs.tencent.com: "true")"));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "games",
                           "annotation portpool.networkextension.bkbcs.tencent.com is there, and "
                           "nobody reads it: portpools.networkextension.bkbcs.tencent.com was "
                           "meant"))
      << explained("deployment/lobby", "games");
  create(workload("StatefulSet", "games", "",
                  R"(ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP 8000")"));
  EXPECT_TRUE(comes_to_say("sts/lobby", "games",
                           "annotation ports.portpools.networkextension.bkbcs.tencent.com is "
                           "there, and portpools.networkextension.bkbcs.tencent.com, which asks "
                           "for them, is missing"))
      << explained("sts/lobby", "games");
  create(workload("ReplicaSet", "games", "",
                  R"(portpools.networkextension.bkbcs.tencent.com: "true")"));
  EXPECT_TRUE(comes_to_say("rs/lobby", "games",
                           "annotation ports.portpools.networkextension.bkbcs.tencent.com is "
                           "missing"))
      << explained("rs/lobby", "games");
}

TEST_F(Report, ABindingIsNotReadySinceItCameToBeSo) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  auto view = read_cluster("");
  ASSERT_TRUE(view);
  std::vector<wire::Value>& bindings = view->objects["portbindings"];
  ASSERT_EQ(bindings.size(), 1u);
  wire::Object& meta = wire::find(bindings[0], "/metadata")->get_object();
  wire::Object& status = wire::find(bindings[0], "/status")->get_object();
  status["status"] = api::kNotReady;
  meta["creationTimestamp"] = format_rfc3339(view->now - 60min);
  status["updateTime"] = format_rfc3339_micro(view->now - 3min);
  EXPECT_THAT(to_text(report::make_status(*view)),
              HasSubstr("PortBinding games/room-0 is NotReady since 3 min"));
  status["updateTime"] = format_rfc3339_micro(view->now - 5s);
  EXPECT_THAT(to_text(report::make_status(*view)), Not(HasSubstr("problem: PortBinding")));
  status.erase("updateTime");
  if (wire::Value* const notes = meta.if_contains("annotations"))
    notes->get_object().erase(api::kUnreadySinceAnnotation);
  EXPECT_THAT(to_text(report::make_status(*view)),
              HasSubstr("PortBinding games/room-0 is NotReady, created 60 min ago"));
}

}  // namespace
}  // namespace berth
