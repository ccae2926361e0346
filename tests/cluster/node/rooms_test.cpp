// Rooms in real containers behind the edge of an installed Berth: what a room sees of its address,
// what players see of the room, and what becomes of both when rooms end, each in its own way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <thread>

#include "installed_berth.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using edge::testing::Client;
using edge::testing::random_bytes;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RealNodes;
using ::testing::StartsWith;

const std::string kKeeps = "keepduration.portbinding.bkbcs.tencent.com: 10m";
constexpr std::size_t kPlayers = 1000;
constexpr std::size_t kWords = 20'000;

class RoomsOnNodes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (RealNodes::unavailable()) return;
    auto started = InstalledBerth::start(1);
    ASSERT_TRUE(started) << started.error();
    berth_ = std::move(*started);
    ASSERT_EQ(berth_->install(), "");
    ASSERT_EQ(berth_->apply(pool_yaml()), "");
  }
  static void TearDownTestSuite() { berth_.reset(); }
  void SetUp() override {
    if (const auto why = RealNodes::unavailable()) GTEST_SKIP() << *why;
    ASSERT_TRUE(berth_) << "see above";
  }

  static testing::CommandResult in_room(const std::string& pod, std::vector<std::string> args) {
    args.insert(args.begin(), {"exec", "-n", "games", pod, "--", "/room"});
    return berth_->kubectl(std::move(args));
  }
  // The kubelet puts changed annotations into the file within about a minute.
  static bool file_says(const std::string& pod, const std::string& what) {
    return eventually(kPatience, [&] {
      return in_room(pod, {"cat", "/etc/podinfo/annotations"}).out.find(what) != std::string::npos;
    });
  }
  static void remove_rooms(const std::string& name) {
    EXPECT_TRUE(berth_->kubectl({"delete", "statefulset", name, "-n", "games"}).ok());
    EXPECT_TRUE(berth_
                    ->kubectl({"wait", "--for=delete", "pod", "-l", "app=" + name, "-n", "games",
                               "--timeout=120s"})
                    .ok())
        << berth_->story();
  }
  // It is there again under its name, at the same door, and is another one.
  static void expect_back_at(const Door& door, const std::string& pod, const std::string& old_uid) {
    EXPECT_TRUE(eventually(kPatience, [&] {
      const std::string uid = berth_->uid_of(pod);
      return !uid.empty() && uid != old_uid && !berth_->doors_of(pod).empty();
    })) << berth_->story();
    EXPECT_EQ(berth_->door_of(pod), door);
    EXPECT_EQ(berth_->who_is_at(door), pod);
    EXPECT_EQ(berth_->who_is_at_over_udp(door), pod);
  }

  static std::unique_ptr<InstalledBerth> berth_;
};
std::unique_ptr<InstalledBerth> RoomsOnNodes::berth_;

TEST_F(RoomsOnNodes, ARoomKnowsItsAddressAndPlayersMeetItThere) {
  ASSERT_EQ(berth_->apply(rooms_yaml({.name = "meet", .replicas = 5})), "");
  for (int i = 0; i < 5; ++i) {
    const std::string pod = fmt::format("meet-{}", i);
    const Door door = berth_->door_of(pod);
    EXPECT_EQ(door.ip, kEdge);
    EXPECT_EQ(berth_->who_is_at(door), pod);
    EXPECT_EQ(berth_->who_is_at_over_udp(door), pod);
    EXPECT_EQ(in_room(pod, {"env", "BCS_PORTPOOL_PORT_VIPLIST_TCP_8000"}).out,
              door.to_string() + "\n");
    EXPECT_EQ(in_room(pod, {"env", "BCS_PORTPOOL_PORT_VIPLIST_UDP_8000"}).out,
              door.to_string() + "\n");
  }
  EXPECT_TRUE(
      file_says("meet-0", R"(status.portpools.networkextension.bkbcs.tencent.com="Ready")"));
  EXPECT_TRUE(
      file_says("meet-0", fmt::format(R"(\"startPort\":{})", berth_->door_of("meet-0").port)));
  remove_rooms("meet");
}

TEST_F(RoomsOnNodes, AThousandPlayersHearWhatTheySaid) {
  ASSERT_EQ(berth_->apply(rooms_yaml({.name = "crowd"})), "");
  const Door door = berth_->door_of("crowd-0");
  std::vector<Client> players;
  for (std::size_t who : {0u, 1u}) {
    berth_->player(who).inside([&] {
      for (std::size_t i = 0; i < kPlayers / 2; ++i)
        players.push_back(Client::tcp({door.ip, door.port}));
    });
  }
  // All are connected before the first one speaks.
  std::size_t heard = 0;
  for (std::size_t i = 0; i < kPlayers; ++i) {
    const std::string words = random_bytes(kWords, i);
    heard += players[i].send(words) && players[i].read(words.size()) == words ? 1 : 0;
  }
  EXPECT_EQ(heard, kPlayers);
  players.clear();

  std::size_t datagrams = 0;
  for (std::size_t i = 0; i < kPlayers; ++i) {
    Client client = berth_->player().inside([&] { return Client::udp({door.ip, door.port}); });
    const std::string words = random_bytes(500, kPlayers + i);
    datagrams += client.ask(words) == words ? 1 : 0;
  }
  EXPECT_EQ(datagrams, kPlayers) << "one at a time, nothing is lost on one machine";
  remove_rooms("crowd");
}

TEST_F(RoomsOnNodes, ARoomThatEndsLetsItsPlayersFinishAndTakesNoOthers) {
  ASSERT_EQ(berth_->apply(rooms_yaml({.name = "late", .annotations = kKeeps})), "");
  const Door door = berth_->door_of("late-0");
  const std::string uid = berth_->uid_of("late-0");
  Client player = berth_->connect(door);
  ASSERT_EQ(player.ask("ahoy"), "ahoy");
  ASSERT_TRUE(berth_->kubectl({"delete", "pod", "late-0", "-n", "games", "--wait=false"}).ok());
  EXPECT_TRUE(eventually(kPatience, [&] { return berth_->who_is_at(door).empty(); }))
      << "it ends, and new players still come in";
  EXPECT_EQ(berth_->uid_of("late-0"), uid) << "it is still there, for the sake of its player";
  EXPECT_EQ(player.ask("still here"), "still here");
  player.end();
  EXPECT_EQ(player.read_some(), "") << "closed from the other side, too";
  expect_back_at(door, "late-0", uid);
  remove_rooms("late");
}

TEST_F(RoomsOnNodes, ARoomThatIsDeletedComesBackAtItsDoor) {
  ASSERT_EQ(
      berth_->apply(rooms_yaml(
          {.name = "keep", .annotations = "keepduration.portbinding.bkbcs.tencent.com: \"10m\""})),
      "");
  const Door door = berth_->door_of("keep-0");
  const std::string uid = berth_->uid_of("keep-0");
  ASSERT_TRUE(berth_->kubectl({"delete", "pod", "keep-0", "-n", "games"}).ok());
  expect_back_at(door, "keep-0", uid);

  // Evicted, as by a drain of its node: the same.
  const std::string second = berth_->uid_of("keep-0");
  const auto evicted = berth_->kubectl(
      {"create", "--raw", "/api/v1/namespaces/games/pods/keep-0/eviction", "-f", "-"},
      R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"keep-0","namespace":"games"}})");
  ASSERT_TRUE(evicted.ok()) << evicted.err;
  expect_back_at(door, "keep-0", second);
  remove_rooms("keep");
}

TEST_F(RoomsOnNodes, ARoomThatCrashesOrRunsOutOfMemoryIsTheSameRoomAgain) {
  ASSERT_EQ(berth_->apply(
                rooms_yaml({.name = "weak", .container = "resources: {limits: {memory: 48Mi}}"})),
            "");
  const Door door = berth_->door_of("weak-0");
  const std::string uid = berth_->uid_of("weak-0");
  const auto ended = [&](int times, const std::string& reason) {
    return eventually(kPatience, [&] {
      return berth_->field("pod/weak-0",
                           "{.status.containerStatuses[0].restartCount} "
                           "{.status.containerStatuses[0].lastState.terminated.reason}") ==
             fmt::format("{} {}", times, reason);
    });
  };
  // Whoever sends the signal ends with the room, so that its own end says nothing.
  (void)in_room("weak-0", {"signal", std::to_string(SIGUSR2)});
  EXPECT_TRUE(ended(1, "Error")) << berth_->story();
  EXPECT_TRUE(eventually(kPatience, [&] { return berth_->who_is_at(door) == "weak-0"; }));
  // The signal takes the memory of the room itself, so the kernel ends that and not who asked.
  ASSERT_TRUE(eventually(
      kPatience, [&] { return in_room("weak-0", {"signal", std::to_string(SIGUSR1)}).ok(); }));
  EXPECT_TRUE(ended(2, "OOMKilled")) << berth_->story();
  EXPECT_TRUE(eventually(kPatience, [&] { return berth_->who_is_at(door) == "weak-0"; }));
  EXPECT_EQ(berth_->door_of("weak-0"), door);
  EXPECT_EQ(berth_->uid_of("weak-0"), uid);
  remove_rooms("weak");
}

TEST_F(RoomsOnNodes, RandomPortsOfTheNodeLeadToTheirPods) {
  ASSERT_EQ(berth_->apply(fmt::format(R"(apiVersion: apps/v1
kind: Deployment
metadata: {{name: relay, namespace: games}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: relay}}}}
  template:
    metadata:
      labels: {{app: relay}}
      annotations:
        randhostport.webhook.bkbcs.tencent.com: "true"
        ports.randhostport.webhook.bkbcs.tencent.com: "8000"
    spec:
      automountServiceAccountToken: false
      containers:
      - name: relay
        image: {}
        imagePullPolicy: Never
        readinessProbe: {{tcpSocket: {{port: 8000}}, periodSeconds: 1}}
        ports: [{{containerPort: 8000}}]
)",
                                      kRoomImage)),
            "");
  ASSERT_TRUE(
      berth_->kubectl({"rollout", "status", "deployment/relay", "-n", "games", "--timeout=120s"})
          .ok())
      << berth_->story();
  std::istringstream pods(
      berth_
          ->kubectl({"get", "pods", "-n", "games", "-l", "app=relay", "-o",
                     R"(jsonpath={range .items[*]}{.metadata.name}{"\n"}{end})"})
          .out);
  std::set<int> ports;
  for (std::string pod; std::getline(pods, pod);) {
    EXPECT_EQ(in_room(pod, {"env", "BCS_RANDHOSTPORT_HOSTIP"}).out, RealNodes::address(1) + "\n");
    const int port =
        std::atoi(in_room(pod, {"env", "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8000"}).out.c_str());
    ports.insert(port);
    EXPECT_EQ(berth_->who_is_at({RealNodes::address(1), static_cast<model::Port>(port)}), pod);
  }
  EXPECT_EQ(ports.size(), 3u) << "each has a port of its own";
  EXPECT_TRUE(berth_->kubectl({"delete", "deployment", "relay", "-n", "games"}).ok());
}

TEST_F(RoomsOnNodes, APortThatSomebodyElseOnTheNodeHoldsIsNamedAndComesWhenItIsFree) {
  // Somebody on the node holds the pool's last port at the edge's address.
  const std::string yaml = R"(apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: one, namespace: games}
spec: {poolItems: [{itemName: i, loadBalancerIDs: [lb-rooms], protocol: TCP, startPort: 32000, endPort: 32001}]}
)";
  const std::string port = fmt::format("{}:32000", kEdge);
  ASSERT_TRUE(berth_->occupy(port));
  ASSERT_EQ(berth_->apply(yaml), "");
  ASSERT_EQ(berth_->apply(rooms_yaml({.name = "held", .ports = "one TCP 8000"})), "");
  EXPECT_TRUE(eventually(kPatience, [&] {
    return berth_->kubectl({"get", "listeners", "-n", "games", "-o", "yaml"})
               .out.find("ddress already in use") != std::string::npos;
  })) << berth_->story();
  EXPECT_THAT(berth_->doors_of("held-0"), IsEmpty());
  ASSERT_TRUE(berth_->vacate(port));
  EXPECT_EQ(berth_->who_is_at(berth_->door_of("held-0")), "held-0");
  remove_rooms("held");
  EXPECT_TRUE(eventually(kPatience, [&] {
    return berth_->kubectl({"delete", "portpool", "one", "-n", "games"}).ok();
  }));
}

}  // namespace
}  // namespace berth
