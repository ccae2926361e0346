// A cluster on which bcs-ingress-controller ran: what it left is not touched, and when it is
// deleted, Berth takes its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::HasSubstr;
using wire::Object;
using wire::Value;

// Port 30000 leads to a Pod that is ready; 30001 is free; the Node has a binding too.
constexpr std::string_view kOldInstallation = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata:
  name: old-tcp-30000
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
  labels: {owner-kind: PortPool, owner-name: lobby, portpool.bkbcs.tencent.com: "true"}
spec:
  loadbalancerID: "edge:old"
  port: 30000
  protocol: TCP
  targetGroup: {targetGroupProtocol: TCP, backends: [{IP: 10.9.9.9, port: 8000, weight: 10}]}
status: {status: Synced, listenerID: lbl-1}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata:
  name: old-tcp-30001
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
  labels: {owner-kind: PortPool, owner-name: lobby, portpool.bkbcs.tencent.com: "true"}
spec: {loadbalancerID: "edge:old", port: 30001, protocol: TCP}
status: {status: Synced, listenerID: lbl-2}
---
apiVersion: v1
kind: Pod
metadata:
  name: lobby-0
  namespace: games
  annotations:
    status.portpools.networkextension.bkbcs.tencent.com: Ready
    poolbindings.portpool.networkextension.bkbcs.tencent.com: >-
      [{"poolName":"lobby","poolNamespace":"games","loadBalancerIDs":["edge:old"],
      "poolItemName":"item1","protocol":"TCP","startPort":30000,"endPort":0,"rsStartPort":8000}]
spec: {containers: [{name: lobby, image: "lobby:1"}]}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: lobby
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
spec:
  poolItems:
    - {itemName: item1, loadBalancerIDs: ["edge:old"], protocol: TCP, startPort: 30000, endPort: 30003}
)";

// What it wrote of a Pod or a Node.
std::string old_binding(std::string_view name, std::string_view kind) {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortBinding
metadata:
  name: {}
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
  labels: {{portpool.lobby.games: item1, type.portbinding.bkbcs.tencent.com: {}}}
spec: {{}}
)",
                     name, kind);
}

const std::string kOurs = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games";

class SwitchingTest : public ::testing::Test {
 protected:
  void open() {
    ASSERT_TRUE(house_.open());
    for (const std::string& yaml : {old_binding("lobby-0", "Pod"), old_binding("node-1", "Node"),
                                    std::string(kOldInstallation)}) {
      const Result<> made = house_.cluster().create_all(yaml);
      ASSERT_TRUE(made) << made.error().to_string();
    }
  }
  std::string at(const std::string& path, std::string_view pointer) {
    const Result<Value> found = house_.cluster().ask("GET", path);
    return found ? std::string(wire::string_at(*found, pointer)) : found.error().to_string();
  }
  // As the page says: delete, and take the finalizer off.
  void take_off(const std::string& path) {
    (void)house_.cluster().ask("DELETE", path);
    (void)house_.cluster().ask("PATCH", path,
                               Object{{"metadata", Object{{"finalizers", nullptr}}}});
  }
  // Somebody who waits for what they asked for.
  void act(std::function<void(User& user)> deed) {
    const auto done = house_.cluster().play("person", [this, deed](std::stop_token) {
      User user(house_.world());
      deed(user);
    });
    ASSERT_TRUE(house_.cluster().run_until([&] { return *done; }));
  }
  std::string pool_message() {
    return at(kOurs + "/portpools/lobby", "/status/poolItems/0/message");
  }
  // Also for the load balancers, which are looked through every few minutes.
  void wait() { ASSERT_TRUE(house_.cluster().run_for(std::chrono::minutes{20})); }

  PoolHouse house_{1, {}};
};

TEST_F(SwitchingTest, WhatTheOldControllerMadeStaysAsItIs) {
  open();
  const std::vector<std::string> theirs{
      kOurs + "/listeners/old-tcp-30000", kOurs + "/listeners/old-tcp-30001",
      kOurs + "/portbindings/lobby-0", kOurs + "/portbindings/node-1"};
  std::vector<std::string> versions;
  for (const std::string& path : theirs) versions.push_back(at(path, "/metadata/resourceVersion"));
  wait();
  for (std::size_t i = 0; i < theirs.size(); ++i)
    EXPECT_EQ(at(theirs[i], "/metadata/resourceVersion"), versions[i]) << theirs[i];
  EXPECT_EQ(at(kPods + "/lobby-0",
               "/metadata/annotations/" + wire::escape_pointer_step(api::kBindStatusAnnotation)),
            "Ready")
      << "players reach it";
  EXPECT_THAT(pool_message(), HasSubstr("Listener old-tcp-30000 was made by another controller"));
  EXPECT_THAT(pool_message(), HasSubstr("(and 1 more like it)"));

  User user(house_.world());
  EXPECT_TRUE(user.create("new", {.request = "lobby TCP 8000"}, 1)) << user.last_refusal();
  EXPECT_FALSE(user.create("newer", {.request = "lobby TCP 8000"}, 1))
      << "of three ports two are the old controller's";
}

TEST_F(SwitchingTest, ItsPortsAreOursWhenItsListenersAreDeleted) {
  open();
  wait();
  act([](User& user) { user.remove("lobby-0"); });
  for (const char* one : {"/listeners/old-tcp-30000", "/listeners/old-tcp-30001"})
    take_off(kOurs + one);
  for (const char* one : {"/portbindings/lobby-0", "/portbindings/node-1"})
    (void)house_.cluster().ask("DELETE", kOurs + one);
  wait();
  EXPECT_EQ(pool_message(), "Ready");
  EXPECT_EQ(house_.cluster().list(kOurs + "/portbindings")->size(), 0u);
  EXPECT_EQ(house_.world().provider().listeners({model::Provider::edge, "", "old"}).size(), 3u);
  User user(house_.world());
  for (const char* name : {"a", "b", "c"})
    EXPECT_TRUE(user.create(name, {.request = "lobby TCP 8000"}, 1)) << user.last_refusal();
}

TEST_F(SwitchingTest, APoolOfTheOldControllerCanBeDeletedAlthoughItsListenersAreThere) {
  open();
  wait();
  act([](User& user) { user.remove_pool("lobby"); });
  wait();
  EXPECT_THAT(at(kOurs + "/portpools/lobby", "/metadata/name"), HasSubstr("not found"));
  EXPECT_EQ(at(kOurs + "/listeners/old-tcp-30000", "/metadata/name"), "old-tcp-30000");
}

}  // namespace
}  // namespace berth::scenario
