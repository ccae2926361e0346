// Upgrades with the binary of another version, which BERTH_FORMER_PROGRAM names: stopped and
// started, side by side in both orders, and back again. Run by hand; upgrade_test.cpp is what
// remains of it for every day.

#include <cstdlib>
#include <iostream>

#include "base/encoding.h"
#include "former_house.h"
#include "on_berth_cluster.h"
#include "support/own_network.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;

class UpgradeLive : public OnBerthCluster {
 protected:
  void SetUp() override {
    const char* const former = std::getenv("BERTH_FORMER_PROGRAM");
    if (!former) GTEST_SKIP() << "BERTH_FORMER_PROGRAM is not set";
    former_ = former;
    start_cluster({.replicas = 2, .program = former_});
    OnBerthCluster::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    const Result<> furnished = furnish(*cluster_);
    ASSERT_TRUE(furnished) << furnished.error().to_string();
    auto players = Players::start();
    ASSERT_TRUE(players);
    players_ = std::move(*players);
    before_ = census(*cluster_);
    expect_reached();
  }
  void TearDown() override {
    OnBerthCluster::TearDown();
    players_.reset();
    cluster_.reset();
  }

  std::size_t start_new() {
    cluster_->use_program({});
    return start();
  }
  std::size_t start_former() {
    cluster_->use_program(former_);
    return start();
  }
  std::size_t start() {
    const std::size_t number = cluster_->start_replica();
    EXPECT_TRUE(cluster_->wait_until_ready(number));
    return number;
  }
  void expect_leader(std::size_t number) {
    EXPECT_TRUE(eventually(kPatience, [&] { return cluster_->leader() == number; }));
  }
  void expect_reached() {
    std::string missing;
    EXPECT_TRUE(eventually(kPatience, [&] {
      missing = players_->not_reached(rooms(*cluster_, kHouse));
      return missing.empty();
    })) << missing;
  }
  void expect_sealed(const std::string& ns = kHouse) {
    std::string without;
    EXPECT_TRUE(eventually(kPatience, [&] { return (without = unsealed(*cluster_, ns)).empty(); }))
        << without;
  }
  void expect_nobody_noticed() {
    EXPECT_EQ(noticed(before_, census(*cluster_)), "");
    EXPECT_EQ(shared_ports(rooms(*cluster_, kHouse)), "");
  }
  // More rooms, of which each has its own port, through whichever replica answers.
  void add_rooms(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i)
      make_patiently(bare_room(kHouse, fmt::format("{}-{}", prefix, i)));
    std::string why;
    EXPECT_TRUE(eventually(kPatience, [&] {
      const auto all = rooms(*cluster_, kHouse);
      why = shared_ports(all);
      for (const Room& room : all)
        if (!room.ready || room.told != api::kReady) why += room.name + " is not Ready\n";
      return why.empty();
    })) << why;
    expect_nobody_noticed();
    before_ = census(*cluster_);
  }
  void make_patiently(const Value& object) {
    std::string error;
    EXPECT_TRUE(eventually(kPatience, [&] {
      const Result<Value> made = cluster_->create(object);
      if (!made && made.error().to_string() != error) {
        error = made.error().to_string();
        std::cerr << "refused: " << error << '\n';
      }
      return made.has_value();
    })) << error;
  }
  // A pool that is made by whoever leads now, with a room.
  void add_pool(const std::string& name, int start) {
    const Result<> made = make_pool(
        *cluster_, pool(kHouse, name,
                        {{.load_balancers = {"edge:house-a"}, .start = start, .end = start + 3}}));
    EXPECT_TRUE(made) << error_of(made);
    make_patiently(bare_room(kHouse, name + "-room", name + " TCP 8000"));
    add_rooms(name + "-more", 0);
  }
  // As if the keys had been there for an hour.
  void age_keys() {
    const auto secret = cluster_->get(kube::types::kSecret, "default", "berth-keys");
    ASSERT_TRUE(secret) << error_of(secret);
    const auto text = base64_decode(wire::string_at(*secret, "/data/seals"));
    Value ring = wire::parse_json(*text).value();
    for (Value& key : ring.as_object()["keys"].as_array())
      key.as_object()["made"] =
          format_rfc3339(cluster_->tasks().wall_time() - std::chrono::hours{1});
    const Object data{{"seals", base64_encode(wire::to_json(ring))}};
    ASSERT_TRUE(
        cluster_->merge(kube::types::kSecret, "default", "berth-keys", Object{{"data", data}}));
  }
  // As a new one leaves them that has led for more than ten minutes.
  void hide_webhooks() {
    for (const kube::ResourceType* type : {&kube::types::kMutatingWebhookConfiguration,
                                           &kube::types::kValidatingWebhookConfiguration}) {
      Result<Value> hooks = cluster_->get(*type, "", "berth");
      ASSERT_TRUE(hooks) << error_of(hooks);
      for (Value& hook : hooks->as_object()["webhooks"].as_array()) {
        Value& url = hook.as_object()["clientConfig"].as_object()["url"];
        url = std::string(url.as_string()) + "/0123456789abcdef0123456789abcdef";
      }
      const Result<Value> hidden = cluster_->client().update(cluster_->context(), *type, *hooks);
      ASSERT_TRUE(hidden) << error_of(hidden);
    }
  }
  void expect_quiet_restart(std::size_t leader) {
    const Inventory quiet = inventory(*cluster_);
    cluster_->stop_replica(leader);
    expect_leader(start_new());
    expect_reached();
    EXPECT_EQ(written(quiet, inventory(*cluster_)), "");
  }

  std::string former_;
  std::unique_ptr<Players> players_;
  Census before_;
};

TEST_F(UpgradeLive, StoppedAndStarted) {
  cluster_->stop_replica(0);
  cluster_->stop_replica(1);
  const std::size_t leader = start_new();
  expect_leader(leader);
  expect_sealed();
  expect_reached();
  expect_nobody_noticed();
  add_rooms("more", 4);
  expect_reached();
  expect_quiet_restart(leader);
}

TEST_F(UpgradeLive, TheFormerLeadsAndANewOneFollows) {
  const std::size_t leader = cluster_->wait_for_leader();
  const std::size_t follower = start_new();
  cluster_->stop_replica(1 - leader);
  add_rooms("mixed", 3);
  add_pool("late", 34000);
  cluster_->stop_replica(leader);
  expect_leader(follower);
  expect_sealed();
  expect_reached();
  expect_nobody_noticed();
  expect_quiet_restart(follower);
}

TEST_F(UpgradeLive, ANewOneFollowsForAnHour) {
  const std::size_t leader = cluster_->wait_for_leader();
  cluster_->stop_replica(start_new());
  age_keys();
  const std::size_t follower = start_new();
  add_rooms("mixed", 2);
  add_pool("late", 34000);
  cluster_->stop_replica(leader);
  cluster_->stop_replica(1 - leader);
  expect_leader(follower);
  expect_sealed();
  expect_reached();
  expect_nobody_noticed();
}

TEST_F(UpgradeLive, TheNewOneLeadsAndAFormerFollows) {
  const std::size_t leader = cluster_->wait_for_leader();
  cluster_->stop_replica(leader);
  cluster_->stop_replica(1 - leader);
  const std::size_t fresh = start_new();
  expect_leader(fresh);
  (void)start_former();
  expect_sealed();
  add_rooms("mixed", 4);
  add_pool("late", 34000);
  expect_sealed();
  expect_reached();
}

TEST_F(UpgradeLive, BackAndForthAgain) {
  cluster_->stop_replica(0);
  cluster_->stop_replica(1);
  std::size_t leader = start_new();
  expect_leader(leader);
  expect_sealed();
  add_rooms("new", 2);
  add_pool("newer", 34000);
  age_keys();

  cluster_->stop_replica(leader);
  hide_webhooks();
  leader = start_former();
  expect_leader(leader);
  expect_reached();
  expect_nobody_noticed();
  add_rooms("back", 2);
  add_pool("older", 35000);
  expect_reached();

  cluster_->stop_replica(leader);
  leader = start_new();
  expect_leader(leader);
  expect_sealed();
  expect_reached();
  expect_nobody_noticed();
  add_rooms("again", 1);
  expect_quiet_restart(leader);
}

// Before any thread.
const std::string kNoNetwork = testing::enter_own_network("10.64.0.0", 12);

TEST(UpgradeLiveNetwork, IsItsOwn) { EXPECT_EQ(kNoNetwork, ""); }

}  // namespace
}  // namespace berth
