// What a cluster has to live through, on two real nodes: a kubelet that dies, an API server that is
// away while players play, a leader that is killed, a node that loses its power.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "installed_berth.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using edge::testing::Client;
using testing::eventually;
using testing::RealNodes;

// Longer than the lease of the leader, and than the deadline within which it must be renewed.
constexpr auto kServerIsAway = 60s;
constexpr int kRooms = 4;

// A player who talks all the time, on one connection, until asked for the result.
class Talk {
 public:
  Talk(const InstalledBerth& berth, const Door& door)
      : client_(berth.connect(door)), thread_([this] { talk(); }) {}
  ~Talk() { (void)end(); }
  // How often the room was heard. Negative: the connection broke, or something else was heard.
  int end() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
    return failed_ ? -heard_ - 1 : heard_;
  }

 private:
  void talk() {
    while (!ends_ && !failed_) {
      const std::string words = fmt::format("word {};", heard_);
      failed_ = client_.ask(words) != words;
      if (!failed_) ++heard_;
      std::this_thread::sleep_for(10ms);
    }
  }

  Client client_;
  int heard_ = 0;
  bool failed_ = false;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

class OutagesOnNodes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (RealNodes::unavailable()) return;
    auto started = InstalledBerth::start(2);
    ASSERT_TRUE(started) << started.error();
    berth_ = std::move(*started);
    ASSERT_EQ(berth_->install(), "");
    ASSERT_EQ(berth_->apply(pool_yaml()), "");
    ASSERT_EQ(berth_->apply(
                  rooms_yaml({.name = "room",
                              .replicas = kRooms,
                              .annotations = "keepduration.portbinding.bkbcs.tencent.com: \"10m\"",
                              .pod = "topologySpreadConstraints:\n"
                                     "- {maxSkew: 1, topologyKey: kubernetes.io/hostname, "
                                     "whenUnsatisfiable: ScheduleAnyway, "
                                     "labelSelector: {matchLabels: {app: room}}}"})),
              "");
    for (const std::string& pod : pods()) {
      doors_.push_back(berth_->door_of(pod));
      ASSERT_NE(doors_.back().ip, "") << pod;
    }
  }
  static void TearDownTestSuite() { berth_.reset(); }
  void SetUp() override {
    if (const auto why = RealNodes::unavailable()) GTEST_SKIP() << *why;
    ASSERT_TRUE(berth_ && doors_.size() == kRooms) << "see above";
  }

  static std::vector<std::string> pods() {
    std::vector<std::string> names;
    for (int i = 0; i < kRooms; ++i) names.push_back(fmt::format("room-{}", i));
    return names;
  }
  static std::string node_of(const std::string& pod) {
    return berth_->field("pod/" + pod, "{.spec.nodeName}");
  }
  // Everybody at the door that was theirs from the beginning.
  static void expect_all_at_their_doors() {
    for (std::size_t i = 0; i < doors_.size(); ++i) {
      const std::string pod = pods()[i];
      EXPECT_EQ(berth_->door_of(pod), doors_[i]);
      EXPECT_TRUE(eventually(kPatience, [&] { return berth_->who_is_at(doors_[i]) == pod; }))
          << pod << berth_->story();
    }
  }
  static std::vector<std::unique_ptr<Talk>> talk_to_all() {
    std::vector<std::unique_ptr<Talk>> talks;
    for (const Door& door : doors_) talks.push_back(std::make_unique<Talk>(*berth_, door));
    return talks;
  }

  static std::unique_ptr<InstalledBerth> berth_;
  static std::vector<Door> doors_;
};
std::unique_ptr<InstalledBerth> OutagesOnNodes::berth_;
std::vector<Door> OutagesOnNodes::doors_;

TEST_F(OutagesOnNodes, RoomsPlayOnWithoutTheirKubelet) {
  auto talks = talk_to_all();
  const std::string uid = berth_->uid_of("room-0");
  for (int node : {1, 2}) {
    auto stopped = berth_->nodes().stop_kubelet(node);
    ASSERT_TRUE(stopped) << stopped.error();
    auto started = berth_->nodes().start_kubelet(node);
    ASSERT_TRUE(started) << started.error();
  }
  expect_all_at_their_doors();
  for (const auto& talk : talks) EXPECT_GT(talk->end(), 0) << "a connection broke";
  talks.clear();  // a room that ends would wait for them
  EXPECT_EQ(berth_->uid_of("room-0"), uid);
}

TEST_F(OutagesOnNodes, PlayersDoNotNoticeThatTheApiServerIsAway) {
  auto talks = talk_to_all();
  const std::string restarts = "{.items[*].status.containerStatuses[*].restartCount}";
  const std::string before =
      berth_->kubectl({"get", "pods", "-n", "berth-system", "-o", "jsonpath=" + restarts}).out;
  ASSERT_TRUE(berth_->nodes().plane().stop_api_server());
  const auto back = std::chrono::steady_clock::now() + kServerIsAway;
  int newcomers = 0;
  while (std::chrono::steady_clock::now() < back) {
    for (std::size_t i = 0; i < doors_.size(); ++i) {
      EXPECT_EQ(berth_->who_is_at(doors_[i]), pods()[i]) << "a new player, without an API server";
      ++newcomers;
    }
    std::this_thread::sleep_for(1s);
  }
  EXPECT_GT(newcomers, 0);
  auto restarted = berth_->nodes().plane().restart_api_server();
  ASSERT_TRUE(restarted) << restarted.error();
  for (const auto& talk : talks) EXPECT_GT(talk->end(), 0) << "a connection broke";
  talks.clear();  // a room that ends would wait for them
  expect_all_at_their_doors();
  EXPECT_EQ(
      berth_->kubectl({"get", "pods", "-n", "berth-system", "-o", "jsonpath=" + restarts}).out,
      before)
      << "nobody restarts a controller because it has no API server";
  // And it serves: a room that is new gets an address.
  const std::string uid = berth_->uid_of("room-0");
  ASSERT_TRUE(berth_->kubectl({"delete", "pod", "room-0", "-n", "games"}).ok());
  EXPECT_TRUE(eventually(kPatience, [&] { return berth_->uid_of("room-0") != uid; }));
  expect_all_at_their_doors();
}

TEST_F(OutagesOnNodes, AKilledLeaderComesBackToTheSameDoors) {
  // The container alone, with the kernel's own signal: nothing is given up in good order.
  ASSERT_TRUE(berth_->nodes().on_node(1, {"pkill", "-9", "-x", "berth"}).ok());
  EXPECT_TRUE(eventually(kPatience, [&] {
    return berth_
               ->kubectl({"get", "pods", "-n", "berth-system", "-o",
                          "jsonpath={.items[*].status.containerStatuses[*].restartCount}"})
               .out != "0";
  })) << berth_->story();
  expect_all_at_their_doors();
}

TEST_F(OutagesOnNodes, RoomsOfANodeThatDiesComeBackOnAnotherAtTheirDoors) {
  std::vector<std::string> lost;
  for (const std::string& pod : pods()) {
    if (node_of(pod) == RealNodes::name(2)) lost.push_back(pod);
  }
  ASSERT_FALSE(lost.empty()) << "the scheduler put nobody on the second node" << berth_->story();
  berth_->nodes().kill_node(2);
  ASSERT_TRUE(eventually(kPatience, [&] {
    return berth_
               ->kubectl({"get", "node", RealNodes::name(2), "-o",
                          R"(jsonpath={.status.conditions[?(@.type=="Ready")].status})"})
               .out == "Unknown";
  }));
  // A StatefulSet makes nobody anew before somebody says that the node is really gone.
  ASSERT_TRUE(berth_->kubectl({"delete", "node", RealNodes::name(2)}).ok());
  for (const std::string& pod : lost) {
    EXPECT_TRUE(eventually(kPatience, [&] { return node_of(pod) == RealNodes::name(1); }))
        << pod << berth_->story();
  }
  expect_all_at_their_doors();
}

}  // namespace
}  // namespace berth
