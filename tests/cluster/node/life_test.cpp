// From installing to going again on real nodes, with the controller running as the Deployment that
// `berth manifests` prints: an image that takes another's place, an API server that is not there
// yet, removal while everything runs, and what is told to those who got something wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "installed_berth.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::CommandResult;
using testing::eventually;
using ::testing::HasSubstr;
using testing::RealNodes;

constexpr int kRooms = 3;
// A port that was given back rests for ten seconds, and the pool has a hundred.
constexpr auto kBetweenGuests = 400ms;
const std::string kRestarts = "{.items[*].status.containerStatuses[*].restartCount}";

// Two replicas, each an edge on its own loopback: rooms have addresses, though nobody else gets
// there.
const std::string kTwoOnLoopback =
    R"([{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--edge-loopback"}])";

class LifeOnNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealNodes::unavailable()) GTEST_SKIP() << *why;
    if (berth_) return;
    auto started = InstalledBerth::start(1);
    ASSERT_TRUE(started) << started.error();
    berth_ = std::move(*started);
  }
  static void TearDownTestSuite() { berth_.reset(); }

  static CommandResult patch(const std::string& type, const std::string& what) {
    return berth_->kubectl({"patch", "deployment/berth", "-n", "berth-system", type, "-p", what});
  }
  static std::string rolled_out() {
    const CommandResult result = berth_->kubectl(
        {"rollout", "status", "deployment/berth", "-n", "berth-system", "--timeout=180s"});
    return result.ok() ? "" : result.err + berth_->story();
  }
  static void install_two() {
    ASSERT_EQ(berth_->install({}), "");
    ASSERT_TRUE(patch("--type=json", kTwoOnLoopback).ok());
    ASSERT_EQ(rolled_out(), "");
    ASSERT_EQ(berth_->apply(pool_yaml()), "");
    ASSERT_EQ(berth_->apply(rooms_yaml({.replicas = kRooms})), "");
    for (int i = 0; i < kRooms; ++i) berth_->door_of(fmt::format("room-{}", i));
  }
  static std::string of_controllers(const std::string& path) {
    return berth_
        ->kubectl({"get", "pods", "-n", "berth-system", "-l", "app.kubernetes.io/name=berth", "-o",
                   "jsonpath=" + path})
        .out;
  }
  // What is left of Berth, as kubectl names it.
  static std::string left_behind() {
    std::string out;
    for (const char* kinds :
         {"namespaces,customresourcedefinitions,clusterroles,clusterrolebindings",
          "validatingwebhookconfigurations,mutatingwebhookconfigurations",
          "validatingadmissionpolicies,validatingadmissionpolicybindings",
          "prioritylevelconfigurations,flowschemas"}) {
      out +=
          berth_->kubectl({"get", kinds, "-o", "name", "-l", "app.kubernetes.io/managed-by=berth"})
              .out;
    }
    return out +
           berth_->kubectl({"get", "namespace", "berth-system", "-o", "name", "--ignore-not-found"})
               .out;
  }
  static void go_away() {
    const CommandResult gone =
        berth_->berth({"uninstall", "--yes", "--force", "--grace-seconds=20", "--kubeconfig",
                       berth_->nodes().plane().kubeconfig_path().string()});
    EXPECT_TRUE(gone.ok()) << gone.out << gone.err << berth_->story();
    EXPECT_EQ(left_behind(), "");
  }
  static void remove_games() {
    EXPECT_TRUE(berth_->kubectl({"delete", "namespace", "games", "--ignore-not-found"}).ok())
        << berth_->story();
  }

  static std::unique_ptr<InstalledBerth> berth_;
};
std::unique_ptr<InstalledBerth> LifeOnNodes::berth_;

TEST_F(LifeOnNodes, ItGoesWhileRoomsAndTwoReplicasRunAndIsInstalledAgainAtOnce) {
  install_two();
  const std::string uid = berth_->uid_of("room-0");
  go_away();
  EXPECT_EQ(berth_->uid_of("room-0"), uid) << "rooms are not ours";
  remove_games();
  install_two();
  remove_games();
  go_away();
}

// Pods are created all the time, one after the other, while another image takes the place of the
// one that runs.
TEST_F(LifeOnNodes, AnotherVersionTakesOverWithRoomsRunningAndRefusesNobody) {
  install_two();
  std::vector<Door> before;
  for (int i = 0; i < kRooms; ++i) before.push_back(berth_->door_of(fmt::format("room-{}", i)));
  const std::string uid = berth_->uid_of("room-0");
  ASSERT_EQ(berth_->load_as("berth:next"), "");

  std::atomic<bool> ends = false;
  int created = 0;
  std::string refused;
  std::thread people([&] {
    while (!ends && refused.empty()) {
      const std::string name = fmt::format("guest-{}", created);
      const CommandResult one = berth_->kubectl({"create", "-f", "-"}, guest_yaml(name));
      if (!one.ok()) refused = one.err;
      ++created;
      (void)berth_->kubectl({"delete", "pod", name, "-n", "games", "--wait=false"});
      std::this_thread::sleep_for(kBetweenGuests);
    }
  });
  EXPECT_TRUE(
      berth_->kubectl({"set", "image", "deployment/berth", "-n", "berth-system", "*=berth:next"})
          .ok());
  EXPECT_EQ(rolled_out(), "");
  ends = true;
  people.join();
  EXPECT_EQ(refused, "") << created << " were created before" << berth_->story();
  EXPECT_GT(created, 0);
  for (int i = 0; i < kRooms; ++i)
    EXPECT_EQ(berth_->door_of(fmt::format("room-{}", i)), before[static_cast<std::size_t>(i)]);
  EXPECT_EQ(berth_->uid_of("room-0"), uid);
  remove_games();
  go_away();
}

// Its container begins anew while there is no API server: kubelet starts it, and its probes ask it.
TEST_F(LifeOnNodes, AControllerThatStartsAMinuteBeforeItsApiServerIsLeftToWait) {
  ASSERT_EQ(berth_->install(), "");
  ASSERT_EQ(of_controllers(kRestarts), "0");
  ASSERT_TRUE(berth_->nodes().plane().stop_api_server());
  ASSERT_TRUE(berth_->nodes().on_node(1, {"pkill", "-9", "-x", "berth"}).ok());
  const auto runs = [&] { return berth_->nodes().on_node(1, {"pgrep", "-x", "berth"}).ok(); };
  ASSERT_TRUE(eventually(kPatience, runs)) << "kubelet starts it again by itself";
  std::this_thread::sleep_for(60s);  // the minute of the issue: longer than any probe has patience
  ASSERT_TRUE(berth_->nodes().plane().restart_api_server());
  ASSERT_TRUE(eventually(kPatience, [&] { return of_controllers(kRestarts) == "1"; }))
      << of_controllers(kRestarts);
  EXPECT_EQ(rolled_out(), "");
  EXPECT_EQ(of_controllers(kRestarts), "1") << "ours alone" << berth_->story();
  const std::string log =
      berth_->kubectl({"logs", "-n", "berth-system", "deployment/berth", "--tail=-1"}).out;
  std::size_t said = 0;
  for (std::size_t at = 0; (at = log.find("waiting for the API server", at)) != std::string::npos;
       ++at)
    ++said;
  EXPECT_GE(said, 1u) << log;
  EXPECT_LE(said, 3u) << "once, and then rarely" << log;
  go_away();
}

// Each mistake is one line of `berth status`, or of the log of a controller that cannot run, with
// what to do.
TEST_F(LifeOnNodes, MistakesOfAnInstallationAreTold) {
  const auto status = [&] {
    return berth_->berth(
        {"status", "--kubeconfig", berth_->nodes().plane().kubeconfig_path().string()});
  };
  const auto is_told = [&](const std::string& what) {
    CommandResult last;
    EXPECT_TRUE(eventually(kPatience,
                           [&] {
                             last = status();
                             return (last.out + last.err).find(what) != std::string::npos;
                           }))
        << what << "\n"
        << last.out << last.err << berth_->story();
  };
  // In the line with which the controller ends.
  const auto is_logged = [&](const std::string& what, const std::string& remedy) {
    std::string log;
    const auto said = [&] {
      log = berth_->log();
      const std::size_t at = log.find(what);
      if (at == std::string::npos) return false;
      return std::string_view(log).substr(at, log.find('\n', at) - at).contains(remedy);
    };
    EXPECT_TRUE(eventually(kPatience, said)) << what << "\n" << log;
  };
  const auto print_and_apply = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "manifests");
    const CommandResult printed = berth_->berth(flags);
    EXPECT_TRUE(printed.ok()) << printed.err;
    EXPECT_TRUE(berth_->kubectl({"apply", "-f", "-"}, printed.out).ok());
  };
  // An image that no node has.
  print_and_apply({"--image", "registry.example/berth:nowhere", "--replicas", "1"});
  is_told("registry.example/berth:nowhere");
  // A port of the node that somebody has.
  ASSERT_TRUE(berth_->occupy("9443"));
  print_and_apply(InstalledBerth::on_the_edge());
  is_logged("cannot listen on 0.0.0.0:9443", "--webhook-port");
  ASSERT_TRUE(berth_->vacate("9443"));
  EXPECT_EQ(rolled_out(), "");
  // Keys in a Secret that is not there.
  print_and_apply({"--tencent-credentials-secret", "keys-of-tencent", "--replicas", "1"});
  EXPECT_EQ(rolled_out(), "") << "who does not use that cloud is not held up";
  // Without its rights.
  ASSERT_TRUE(berth_->kubectl({"delete", "clusterrolebinding", "berth"}).ok());
  ASSERT_TRUE(berth_->kubectl({"delete", "pods", "-n", "berth-system", "--all"}).ok());
  is_logged("berth: forbidden: ", "berth manifests");
  print_and_apply(InstalledBerth::on_the_edge());
  EXPECT_EQ(rolled_out(), "");
  // A service account that does not exist.
  ASSERT_TRUE(
      patch("--type=merge", R"({"spec":{"template":{"spec":{"serviceAccountName":"nobody"}}}})")
          .ok());
  is_told("nobody");
  go_away();
}

}  // namespace
}  // namespace berth
