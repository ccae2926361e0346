// Clusters that versions before this one furnished are taken over, with their rooms running: what
// each version left is a recording (recording.h), and nobody in it notices anything.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "claims/seal.h"
#include "former_house.h"
#include "on_berth_cluster.h"
#include "recording.h"
#include "support/own_network.h"
#include "wire/yaml.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Value;

constexpr auto kPatience = 60s;
const std::string kAway = "named-1";  // its name keeps its port

// Before any thread. Where the machine does not allow it, nobody visits the rooms.
const std::string kNoNetwork = testing::enter_own_network("10.64.0.0", 12);

class Upgrade : public OnBerthCluster, public ::testing::WithParamInterface<std::filesystem::path> {
 protected:
  void SetUp() override {
    start_cluster({.replicas = 0, .with_workloads = false});
    OnBerthCluster::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    const Result<> played = play(*cluster_, GetParam());
    ASSERT_TRUE(played) << played.error().to_string();
    const auto working = cluster_->plane().start_workloads();
    ASSERT_TRUE(working) << working.error();
    if (!kNoNetwork.empty()) fmt::print("no players: {}\n", kNoNetwork);
    auto players = Players::start();
    ASSERT_TRUE(players);
    players_ = std::move(*players);
    before_ = census(*cluster_);
    balancers_ = names_of(api::load_balancer_kind().type);
    kept_ = kept_slot();
  }
  void TearDown() override {
    OnBerthCluster::TearDown();
    players_.reset();
    cluster_.reset();
  }

  std::set<std::string> names_of(const kube::ResourceType& type) {
    std::set<std::string> out;
    for (const Value& object : cluster_->list(type, ""))
      out.emplace(wire::string_at(object, "/metadata/name"));
    return out;
  }
  std::string kept_slot() {
    for (const auto& [name, claim] : claims_in(*cluster_, kHouse))
      if (claim.state == ledger::SlotState::kept && claim.pod_name == kAway) return name;
    return "none";
  }
  // Every claim, and every PortBinding, is of a Pod that is there, or of the name that is away.
  std::string held_by_nobody() {
    std::string out;
    for (const auto& [name, claim] : claims_in(*cluster_, kHouse)) {
      const auto it = before_.find(claim.pod_name);
      if (claim.pod_name != kAway && (it == before_.end() || it->second.uid != claim.pod_uid))
        out += fmt::format("{} is held for {}\n", name, claim.pod_name);
    }
    for (const Value& binding : cluster_->list(api::port_binding_kind().type, kHouse)) {
      const std::string name(wire::string_at(binding, "/metadata/name"));
      if (name != kAway && !before_.contains(name)) out += "PortBinding " + name + "\n";
    }
    return out;
  }
  std::size_t take_over() {
    const std::size_t number = cluster_->start_replica();
    EXPECT_TRUE(eventually(kPatience, [&] { return cluster_->leader() == number; }));
    EXPECT_TRUE(cluster_->wait_until_ready(number));
    return number;
  }
  // Empty, or what is missing in the end.
  template <class F>
  static std::string wait_until_nothing(F missing) {
    std::string left;
    (void)eventually(kPatience, [&] { return (left = missing()).empty(); });
    return left;
  }
  std::string not_reached() {
    if (!kNoNetwork.empty()) return {};
    return wait_until_nothing([&] { return players_->not_reached(rooms(*cluster_, kHouse)); });
  }
  void expect_nobody_noticed() {
    EXPECT_EQ(noticed(before_, census(*cluster_)), "");
    EXPECT_EQ(shared_ports(rooms(*cluster_, kHouse)), "");
    EXPECT_EQ(not_reached(), "");
    EXPECT_EQ(names_of(api::load_balancer_kind().type), balancers_);
  }
  // A room of a pool whose ports somebody holds, and what it got.
  Room add_room(const std::string& name, const std::string& ports) {
    make(bare_room(kHouse, name, ports));
    Room out;
    EXPECT_TRUE(eventually(kPatience, [&] {
      const Result<Value> pod = cluster_->get(kube::types::kPod, kHouse, name);
      if (pod) out = room_of(*pod);
      return out.ready && out.told == api::kReady;
    })) << name;
    return out;
  }

  // Its own objects, its slot and the pool that counts it are as they were.
  Inventory without_newcomer(const Room& room, const Inventory& before) {
    Inventory now = inventory(*cluster_);
    for (const char* kind : {"Pod", "PortBinding"})
      now.erase(fmt::format("{} {}", kind, room.name));
    now["PortPool halls"] = before.at("PortPool halls");
    for (const auto& [name, claim] : claims_in(*cluster_, kHouse)) {
      const std::string listener = "Listener " + name;
      if (claim.pod_name == room.name) now[listener] = before.at(listener);
    }
    return now;
  }

  std::unique_ptr<Players> players_;
  Census before_;
  std::set<std::string> balancers_;
  std::string kept_;
};

TEST_P(Upgrade, RoomsKeepWhatTheyHave) {
  ASSERT_EQ(before_.size(), 8u);
  ASSERT_NE(kept_, "none");
  const std::size_t first = take_over();
  EXPECT_EQ(wait_until_nothing([&] { return unsealed(*cluster_); }), "");
  EXPECT_EQ(wait_until_nothing([&] { return held_by_nobody(); }), "") << "its Pod went unseen";
  expect_nobody_noticed();
  EXPECT_EQ(kept_slot(), kept_);

  // All was written in the first life. The room is what the second one does last: by then it has
  // looked at everything that was there.
  cluster_->stop_replica(first);
  const Inventory at_rest = inventory(*cluster_);
  (void)take_over();
  EXPECT_EQ(not_reached(), "");
  const Room last = add_room("last", "halls TCP 8000");
  EXPECT_EQ(written(at_rest, without_newcomer(last, at_rest)), "");

  // Newcomers get what is free, and the name that was away has its own port again.
  (void)add_room("new", "kept TCP 8000");
  ASSERT_TRUE(scale(*cluster_, {.ns = kHouse, .name = "named"}, 2));
  EXPECT_TRUE(eventually(kPatience, [&] {
    const auto claims = claims_in(*cluster_, kHouse);
    const auto it = claims.find(kept_);
    return it != claims.end() && it->second.pod_name == kAway &&
           it->second.state == ledger::SlotState::bound;
  }));
  expect_nobody_noticed();
}

std::string folder_name(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string out = "From_" + info.param.filename().string();
  std::ranges::replace_if(out, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Upgrade, ::testing::ValuesIn(recordings()), folder_name);

}  // namespace
}  // namespace berth
