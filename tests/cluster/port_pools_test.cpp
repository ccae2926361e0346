// Port pools on a real control plane: the controllers of workloads are Kubernetes' own, the server
// calls the webhooks of two replicas, and the leader may die.

#include <fmt/ranges.h>

#include <boost/json.hpp>

#include "on_berth_cluster.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using wire::Object;
using wire::Value;

// That Pods come at once is shown in virtual time (tests/scenarios); here, that their owners are
// touched, and that the controller manager heeds it.
constexpr auto kPatience = 60s;

class PortPools : public OnBerthCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({});
    if (!cluster_) return;
    for (const char* ns : {"full", "remembered"}) fill_a_pool(cluster_->make_namespace(ns));
  }

  // Workloads that are refused from the beginning: by the time of their test, their controllers
  // wait long between two attempts.
  static void fill_a_pool(const std::string& ns) {
    (void)make_pool(*cluster_, pool(ns, "rooms", {full_item(ns, 2)}));
    (void)cluster_->create(workload(full_holder(ns)));
    (void)settle(*cluster_, ns, 2);
    (void)cluster_->create(workload({.ns = ns, .name = "set", .replicas = 1}));
    (void)cluster_->create(
        workload({.kind = "Deployment", .ns = ns, .name = "deployment", .replicas = 1}));
  }
  static RoomsSpec full_holder(const std::string& ns) {
    return {.ns = ns, .name = "holder", .replicas = 2};
  }
  static PoolItem full_item(const std::string& ns, int ports) {
    return {.load_balancers = {load_balancer_id(ns)}, .end = 30000 + ports};
  }
  // When each refused workload was touched; empty for one that was not.
  static std::vector<std::string> touches(const std::string& ns) {
    const std::string annotation = "/metadata/annotations/berth.dev~1retry";
    std::vector<std::string> out;
    for (const kube::ResourceType* type : {&kube::types::kReplicaSet, &kube::types::kStatefulSet})
      for (const Value& one : cluster_->list(*type, ns))
        if (wire::string_at(one, "/metadata/name") != "holder")
          out.emplace_back(wire::string_at(one, annotation));
    return out;
  }
  static bool are_touched(const std::string& ns, const std::vector<std::string>& before) {
    const std::vector<std::string> now = touches(ns);
    return now.size() == 2 && std::ranges::none_of(now, [&](const std::string& time) {
             return time.empty() || std::ranges::count(before, time) != 0;
           });
  }
  static bool has_rooms(const std::string& ns, std::size_t count) {
    return rooms(*cluster_, ns).size() == count;
  }

  static const kube::ResourceType& pools() { return api::port_pool_kind().type; }
};

TEST_F(PortPools, ItemsAreProtectedWhileTheyAreInUse) {
  const std::string ns = cluster_->make_namespace("items");
  const PoolItem used{.name = "used", .load_balancers = {load_balancer_id("items")}, .end = 30002};
  const PoolItem spare{
      .name = "spare", .load_balancers = {load_balancer_id("items")}, .start = 31000, .end = 31003};
  ASSERT_TRUE(make_pool(*cluster_, pool(ns, "rooms", {used, spare})));
  make(bare_room(ns, "room-0", "rooms/used TCP 8000"));
  EXPECT_EQ(settle(*cluster_, ns, 1), "");

  EXPECT_THAT(error_of(cluster_->remove(pools(), ns, "rooms")),
              AllOf(HasSubstr("the pool is in use"), HasSubstr("items/room-0")));
  EXPECT_THAT(error_of(set_items(*cluster_, ns, "rooms", {spare})),
              AllOf(HasSubstr("used"), HasSubstr("items/room-0")));

  const auto change = [&](PoolItem item) {
    return error_of(set_items(*cluster_, ns, "rooms", {item, spare}));
  };
  PoolItem item = used;
  item.start = 29999;
  EXPECT_THAT(change(item), HasSubstr("startPort"));
  item = used;
  item.segment = 2;
  EXPECT_THAT(change(item), HasSubstr("segmentLength"));
  item = used;
  item.load_balancers = {load_balancer_id("another")};
  EXPECT_THAT(change(item), HasSubstr("loadBalancerIDs"));
  item = used;
  item.end = 30001;
  EXPECT_THAT(change(item), HasSubstr("endPort"));

  // An item that nobody uses goes, with its Listeners.
  EXPECT_EQ(error_of(set_items(*cluster_, ns, "rooms", {used})), "no error");
  EXPECT_TRUE(
      eventually(120s, [&] { return cluster_->list(api::listener_kind().type, ns).size() == 2; }));
  EXPECT_TRUE(eventually(120s, [&] {
    const Value left = cluster_->get(pools(), ns, "rooms").value_or(Value());
    const wire::Array* items = wire::array_at(left, "/status/poolItems");
    return items && items->size() == 1;
  }));

  // The range grows, and the new port can be had.
  item = used;
  item.end = 30003;
  EXPECT_EQ(error_of(set_items(*cluster_, ns, "rooms", {item})), "no error");
  EXPECT_TRUE(eventually(120s, [&] {
    const auto listeners = cluster_->list(api::listener_kind().type, ns);
    return listeners.size() == 3 && std::ranges::none_of(listeners, [](const Value& one) {
             return wire::string_at(one, "/status/listenerID").empty();
           });
  })) << "until then nobody can have it";
  for (const char* name : {"room-1", "room-2"}) make(bare_room(ns, name, "rooms/used TCP 8000"));
  EXPECT_EQ(settle(*cluster_, ns, 3), "");

  // What players are told beside the address follows the pool.
  item.external = "eu-west";
  EXPECT_EQ(error_of(set_items(*cluster_, ns, "rooms", {item})), "no error");
  EXPECT_TRUE(eventually(120s, [&] {
    const Value binding =
        cluster_->get(api::port_binding_kind().type, ns, "room-2").value_or(Value());
    const std::vector<Room> all = rooms(*cluster_, ns);
    return wire::string_at(binding, "/spec/portBindingList/0/external") == "eu-west" &&
           std::ranges::all_of(all, [](const Room& room) {
             return !room.ports.empty() && room.ports.front().external == "eu-west";
           });
  }));

  // Without users it goes, with everything that was its.
  for (const char* name : {"room-0", "room-1", "room-2"})
    ASSERT_TRUE(cluster_->remove(kube::types::kPod, ns, name));
  ASSERT_TRUE(eventually(120s, [&] { return claims_in(*cluster_, ns).empty(); }));
  EXPECT_TRUE(eventually(120s, [&] { return cluster_->remove(pools(), ns, "rooms").has_value(); }));
  EXPECT_TRUE(eventually(120s, [&] {
    return !cluster_->get(pools(), ns, "rooms") &&
           cluster_->list(api::listener_kind().type, ns).empty();
  }));
}

TEST_F(PortPools, BothProtocolsOnTwoLoadBalancersSegmentsAndSpreading) {
  const std::string ns = cluster_->make_namespace("shapes");
  const std::string a = load_balancer_id("shapes-a");
  const std::string b = load_balancer_id("shapes-b");
  ASSERT_TRUE(make_pool(
      *cluster_,
      pool(ns, "pairs",
           {{.load_balancers = {a, b}, .start = 31000, .end = 31004, .protocol = "TCP,UDP"}})));
  ASSERT_TRUE(make_pool(
      *cluster_, pool(ns, "segments",
                      {{.load_balancers = {a}, .start = 32000, .end = 32020, .segment = 10}})));
  ASSERT_TRUE(make_pool(
      *cluster_, pool(ns, "spread",
                      {{.name = "first", .load_balancers = {a}, .start = 33000, .end = 33010},
                       {.name = "second", .load_balancers = {b}, .start = 33000, .end = 33010}},
                      "average")));
  make(bare_room(ns, "pair", "pairs TCP_UDP 8000"));
  make(bare_room(ns, "segment", "segments TCP 8000"));
  for (int i = 0; i < 4; ++i) make(bare_room(ns, fmt::format("spread-{}", i), "spread TCP 8000"));
  EXPECT_EQ(settle(*cluster_, ns, 6), "");

  std::map<std::string, int> by_item;
  for (const Room& room : rooms(*cluster_, ns)) {
    if (room.name == "pair") {
      ASSERT_EQ(room.ports.size(), 2u);
      EXPECT_EQ(room.ports[0].start_port, room.ports[1].start_port);
      EXPECT_EQ(room.ports[0].pool_item_load_balancers.size(), 2u);
    } else if (room.name == "segment") {
      ASSERT_EQ(room.ports.size(), 1u);
      EXPECT_EQ(room.ports[0].end_port - room.ports[0].start_port, 9);
    } else {
      ++by_item[room.ports.front().pool_item_name];
    }
  }
  EXPECT_EQ(by_item["first"], 2) << "average spreads over the items";
  EXPECT_EQ(by_item["second"], 2);
}

// What somebody forgot, while it can still be seen. A dry run is asked about, too, and leaves
// nothing behind.
TEST_F(PortPools, KubectlWarnsOfWhatWasForgotten) {
  const auto apply_says = [](const Value& object, const std::string& words) {
    std::string said;
    // Advice is given up after a moment: a busy machine may need another look.
    (void)eventually(120s, [&] {
      const auto done = cluster_->plane().kubectl({"apply", "--dry-run=server", "-f", "-"},
                                                  wire::to_json(object));
      said = done.out + done.err;
      return done.err.find("Warning: ") != std::string::npos &&
             done.err.find(words) != std::string::npos;
    });
    return said;
  };
  const std::string ns = room_for("forgotten", 2);
  for (const char* kind : {"Deployment", "StatefulSet"}) {
    Value misplaced = workload({.kind = kind, .ns = ns, .name = "lobby"});
    const Value annotations = *wire::find(misplaced, "/spec/template/metadata/annotations");
    ASSERT_TRUE(wire::remove_at(misplaced, "/spec/template/metadata/annotations"));
    ASSERT_TRUE(wire::set_at(misplaced, "/metadata/annotations", annotations));
    const std::string words = "is not in its template: its Pods get no ports";
    EXPECT_THAT(apply_says(misplaced, words), AllOf(HasSubstr("Warning: "), HasSubstr(words)));
  }
  const std::string words = "kubectl label namespace default bcs-ingress-controller-inject=true";
  for (const Value& object : {bare_room("default", "room", "rooms.forgotten TCP 8000"),
                              workload({.ns = "default", .name = "lobby"})})
    EXPECT_THAT(apply_says(object, words), AllOf(HasSubstr("Warning: "), HasSubstr(words)));
  // Nothing was forgotten: the address it would have, and no advice.
  EXPECT_THAT(apply_says(bare_room(ns, "room"), "is reached at"),
              AllOf(HasSubstr("is reached at"), Not(HasSubstr("kubectl label namespace")),
                    Not(HasSubstr("is not in its template"))));
}

TEST_F(PortPools, OfTwoPoolsWithTheSamePortsTheLoserNamesTheWinner) {
  const std::string ns = cluster_->make_namespace("contested");
  const std::string lb = load_balancer_id("contested");
  ASSERT_TRUE(make_pool(*cluster_, pool(ns, "winner", {{.load_balancers = {lb}, .end = 30005}})));
  // Asked with a dry run until the replica that answers has seen the winner's grant.
  const Value loser = pool(ns, "loser", {{.load_balancers = {lb}, .start = 30004, .end = 30008}});
  std::string said;
  EXPECT_TRUE(eventually(120s, [&] {
    said = error_of(cluster_->create(loser, true));
    return said.find("contested/winner") != std::string::npos;
  })) << said;
  EXPECT_THAT(error_of(cluster_->create(loser)), HasSubstr("contested/winner"));
  make(bare_room(ns, "room", "winner TCP 8000"));
  EXPECT_THAT(error_of(cluster_->create(bare_room(ns, "other", "loser TCP 8000"))),
              HasSubstr("contested/loser"));
  EXPECT_EQ(settle(*cluster_, ns, 1), "");
}

TEST_F(PortPools, RefusedWorkloadsGetTheirPodsWhenThePoolHasRoom) {
  ASSERT_TRUE(has_rooms("full", 2)) << "a full pool gave more than it has";
  ASSERT_EQ(error_of(set_items(*cluster_, "full", "rooms", {full_item("full", 4)})), "no error");
  EXPECT_TRUE(eventually(kPatience, [&] { return are_touched("full", {}); }));
  EXPECT_TRUE(eventually(kPatience, [&] { return has_rooms("full", 4); }))
      << "not after the range grew: " << rooms(*cluster_, "full").size();
  EXPECT_EQ(settle(*cluster_, "full", 4), "");

  // Full again: two more are refused, then two ports are given back.
  ASSERT_TRUE(scale(*cluster_, {.ns = "full", .name = "set"}, 2));
  ASSERT_TRUE(scale(*cluster_, {.kind = "Deployment", .ns = "full", .name = "deployment"}, 2));
  ASSERT_TRUE(eventually(120s, [&] {
    std::set<std::string> refused;
    for (const Value& event : cluster_->list(kube::types::kEvent, "full"))
      if (wire::string_at(event, "/reason") == "FailedCreate" &&
          wire::string_at(event, "/message").find("4 of 4") != std::string_view::npos)
        refused.emplace(wire::string_at(event, "/involvedObject/kind"));
    return refused.size() == 2;
  }));
  const std::vector<std::string> before = touches("full");
  ASSERT_TRUE(scale(*cluster_, full_holder("full"), 0));
  EXPECT_TRUE(eventually(kPatience, [&] { return are_touched("full", before); }));
  EXPECT_TRUE(eventually(kPatience,
                         [&] {
                           const std::vector<Room> all = rooms(*cluster_, "full");
                           return all.size() == 4 &&
                                  std::ranges::none_of(all, [](const Room& room) {
                                    return room.name.starts_with("holder");
                                  });
                         }))
      << "not after ports became free: " << rooms(*cluster_, "full").size();
  EXPECT_EQ(settle(*cluster_, "full", 4), "");
}

TEST_F(PortPools, RefusedWorkloadsAreNotForgottenWithTheReplicasThatRefusedThem) {
  const std::string ns = "remembered";
  ASSERT_TRUE(has_rooms(ns, 2)) << "a full pool gave more than it has";
  cluster_->replace_all();
  ASSERT_TRUE(eventually(120s, [&] { return cluster_->serves(); }));
  ASSERT_EQ(error_of(set_items(*cluster_, ns, "rooms", {full_item(ns, 4)})), "no error");
  EXPECT_TRUE(eventually(kPatience, [&] { return are_touched(ns, {}); }));
  EXPECT_TRUE(eventually(kPatience, [&] { return has_rooms(ns, 4); }))
      << "not after the range grew: " << rooms(*cluster_, ns).size();
  EXPECT_EQ(settle(*cluster_, ns, 4), "");
}

// One port, several, and both protocols on one port: names that keep them, and one that does not.
TEST_F(PortPools, ANameComesBackToItsPorts) {
  const std::string ns = cluster_->make_namespace("kept");
  ASSERT_TRUE(make_pool(
      *cluster_,
      pool(ns, "rooms",
           {{.load_balancers = {load_balancer_id("kept")}, .end = 30040, .protocol = "TCP,UDP"}})));
  const std::map<std::string, std::string> sets{{"one", "rooms TCP 8000"},
                                                {"several", "rooms TCP 8000;rooms TCP 8001"},
                                                {"both", "rooms TCP_UDP 8000"}};
  for (const auto& [name, ports] : sets)
    make(workload({.ns = ns, .name = name, .replicas = 2, .ports = ports, .keep = "300s"}));
  make(workload({.ns = ns, .name = "loose", .replicas = 2}));
  ASSERT_EQ(settle(*cluster_, ns, 8), "");

  const auto addresses = [&] {
    std::map<std::string, std::string> out;
    for (const Room& room : rooms(*cluster_, ns)) out[room.name] = address_of(room);
    return out;
  };
  const auto uids = [&] {
    std::set<std::string> out;
    for (const Room& room : rooms(*cluster_, ns)) out.insert(room.uid);
    return out;
  };
  const auto first = addresses();
  const auto come_back = [&](const std::set<std::string>& names) {
    const std::set<std::string> before = uids();
    for (const std::string& name : names)
      EXPECT_TRUE(cluster_->remove(kube::types::kPod, ns, name));
    EXPECT_TRUE(eventually(120s, [&] {
      std::size_t fresh = 0;
      for (const std::string& uid : uids()) fresh += before.contains(uid) ? 0 : 1;
      return fresh == names.size();
    }));
    EXPECT_EQ(settle(*cluster_, ns, 8), "");
    for (const auto& [name, address] : addresses())
      EXPECT_TRUE(name.starts_with("loose") || address == first.at(name)) << name << address;
  };
  come_back({"one-0", "several-0", "both-0", "loose-0"});

  // Also when it is away while nobody leads, and another replica finds it.
  cluster_->replace_leader();
  come_back({"one-0", "several-1", "both-1", "loose-1"});

  // Away for longer than a moment: the ports wait, and nobody else gets them.
  const RoomsSpec one{.ns = ns, .name = "one"};
  ASSERT_TRUE(scale(*cluster_, one, 0));
  ASSERT_TRUE(eventually(120s, [&] { return has_rooms(ns, 6); }));
  ASSERT_TRUE(eventually(120s, [&] {
    std::size_t kept = 0;
    for (const auto& [name, claim] : claims_in(*cluster_, ns))
      kept += claim.state == ledger::SlotState::kept ? 1 : 0;
    return kept == 2;
  }));
  ASSERT_TRUE(scale(*cluster_, {.ns = ns, .name = "loose"}, 4));
  ASSERT_TRUE(eventually(120s, [&] { return has_rooms(ns, 8); }));
  ASSERT_TRUE(scale(*cluster_, one, 2));
  EXPECT_EQ(settle(*cluster_, ns, 10), "");
  for (const auto& [name, address] : addresses())
    EXPECT_TRUE(!name.starts_with("one") || address == first.at(name)) << name << address;
}

// The leader dies in the middle of scaling up. Last: it takes replicas away from the others.
TEST_F(PortPools, ALeaderThatDiesWhileRoomsComeCostsNothing) {
  const std::string ns = room_for("scaling", 40);
  const RoomsSpec spec{.ns = ns, .name = "room", .replicas = 5};
  make(workload(spec));
  ASSERT_EQ(settle(*cluster_, ns, 5), "");
  std::map<std::string, std::string> before;
  for (const Room& room : rooms(*cluster_, ns)) before[room.uid] = address_of(room);

  ASSERT_TRUE(scale(*cluster_, spec, 40));
  ASSERT_TRUE(eventually(120s, [&] { return rooms(*cluster_, ns).size() > 12; }));
  cluster_->replace_leader();
  EXPECT_EQ(settle(*cluster_, ns, 40), "");
  for (const Room& room : rooms(*cluster_, ns))
    EXPECT_EQ(address_of(room), before.try_emplace(room.uid, address_of(room)).first->second);
  EXPECT_THAT(error_of(cluster_->create(bare_room(ns, "late"))), HasSubstr("40 of 40 in use"));
}

}  // namespace
}  // namespace berth
