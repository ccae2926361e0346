// The first room on a real kube-apiserver: its webhooks are called over HTTPS, its CRDs are
// validated by the real server, and an echo goes through the public port.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/file.h"
#include "edge/echo_server.h"
#include "model/port.h"
#include "playground_on_cluster.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxExample = 64u << 10;
constexpr int kEchoTimeoutMs = 10'000;

class FirstRoomOnCluster : public PlaygroundOnCluster {
 protected:
  FirstRoomOnCluster() : PlaygroundOnCluster(false) {}

  static std::string first_room() {
    return read_file(example("first-room.yaml"), kMaxExample).value();
  }
  std::string get(std::vector<std::string> args) {
    args.insert(args.begin(), "get");
    return run(args);
  }
};

TEST_F(FirstRoomOnCluster, AnEchoGoesThroughThePublicPort) {
  const auto applied = cluster_->kubectl({"apply", "-f", "-"}, first_room());
  ASSERT_TRUE(applied.ok()) << applied.out << applied.err;
  EXPECT_NE(applied.err.find("is reached at 127."), std::string::npos)
      << "no admission warning: " << applied.err;

  const auto room = play_->wait_for_room(context_.within(120s), "games/room-0");
  ASSERT_TRUE(room) << room.error().to_string();
  const std::size_t colon = room->address.rfind(':');
  const model::Target at{room->address.substr(0, colon),
                         model::parse_port(room->address.substr(colon + 1)).value()};
  EXPECT_EQ(edge::ask_over_tcp(at, "ahoy\n", kEchoTimeoutMs).value(),
            "this is games/room-0\nahoy\n");
  EXPECT_NE(get({"pod", "room-0", "-n", "games", "-o", "jsonpath={.spec.containers[0].env}"})
                .find("BCS_PORTPOOL_PORT_VIPLIST_TCP_8000"),
            std::string::npos);
  EXPECT_EQ(get({"portpool", "rooms", "-n", "games", "-o", "jsonpath={.status.status}"}), "Ready");

  // Ten ports, ten rooms: the eleventh is refused with a reason, and gets in when one has left.
  const std::string pod = first_room().substr(first_room().rfind("---"));
  const auto create_room = [&](int n) {
    std::string yaml = pod;
    yaml.replace(yaml.find("room-0"), 6, fmt::format("room-{}", n));
    return cluster_->kubectl({"create", "-f", "-"}, yaml);
  };
  for (int n = 1; n < 10; ++n) EXPECT_TRUE(create_room(n).ok()) << n;
  const auto refused = create_room(10);
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.err.find("PortPool games/rooms: no free TCP port: 10 of 10 in use"),
            std::string::npos)
      << refused.err;
  std::set<std::string> addresses;
  for (int n = 0; n < 10; ++n) {
    const auto found = play_->wait_for_room(context_.within(120s), fmt::format("games/room-{}", n));
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_TRUE(addresses.insert(found->address).second) << found->address << " was given twice";
  }
  ASSERT_TRUE(cluster_->kubectl({"delete", "pod", "room-3", "-n", "games", "--now"}).ok());
  bool admitted = false;
  const Context patience = context_.within(120s);
  while (!admitted && !patience.expired()) {
    admitted = create_room(10).ok();
    if (!admitted) (void)sleep_for(tasks_, 50ms, {});
  }
  EXPECT_TRUE(admitted) << "the port of a deleted Pod was not given again";
}

TEST_F(FirstRoomOnCluster, WhatSomebodyDeletesIsInstalledAgain) {
  const auto exists = [&](const std::string& kind, const std::string& name) {
    return cluster_->kubectl({"get", kind, name}).ok();
  };
  ASSERT_TRUE(exists("mutatingwebhookconfiguration", "berth"));
  ASSERT_TRUE(exists("flowschema", "berth-claims"));
  ASSERT_TRUE(cluster_->kubectl({"delete", "mutatingwebhookconfiguration", "berth"}).ok());
  ASSERT_TRUE(cluster_->kubectl({"delete", "flowschema", "berth-claims"}).ok());
  const Context patience = context_.within(120s);
  while (!patience.expired() && !(exists("mutatingwebhookconfiguration", "berth") &&
                                  exists("flowschema", "berth-claims"))) {
  }
  EXPECT_TRUE(exists("mutatingwebhookconfiguration", "berth"));
  EXPECT_TRUE(exists("flowschema", "berth-claims"));
}

TEST_F(FirstRoomOnCluster, BadInputIsRefusedWithTheFieldThatIsWrong) {
  ASSERT_TRUE(cluster_->kubectl({"apply", "-f", "-"}, first_room()).ok());
  std::string pool = first_room();
  pool.replace(pool.find("endPort: 30010"), 14, "endPort: 30000");
  const auto upside_down = cluster_->kubectl({"apply", "-f", "-"}, pool);
  EXPECT_NE(
      upside_down.err.find(
          "PortPool games/rooms: spec.poolItems[0].endPort: 30000 is not above startPort 30000"),
      std::string::npos)
      << upside_down.err;
  std::string pod = first_room();
  pod.replace(pod.rfind("room-0"), 6, "room-x");
  pod.replace(pod.find("rooms TCP 8000"), 14, "rooms TCP 9999");
  const auto undeclared = cluster_->kubectl({"apply", "-f", "-"}, pod);
  EXPECT_NE(undeclared.err.find("no container declares port 9999"), std::string::npos)
      << undeclared.err;
}

}  // namespace
}  // namespace berth
