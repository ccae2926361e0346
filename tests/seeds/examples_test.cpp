// Every file of examples/ works on a playground: pools become Ready, and every Pod that asks for
// ports has them. Folders in it are for kinds that have tests of their own.

#include <gmock/gmock.h>

#include "../playground/world.h"
#include "api/host_ports.h"
#include "edge/echo_server.h"

namespace berth {
namespace {

class Examples : public World {
 protected:
  static std::vector<std::string> files() {
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(
             std::filesystem::path(source ? source : ".") / "examples"))
      if (file.is_regular_file()) names.push_back(file.path().filename());
    std::ranges::sort(names);
    // Others need its namespace and its pool.
    std::ranges::partition(names, [](const auto& name) { return name == "first-room.yaml"; });
    return names;
  }
  static std::string annotation(const wire::Value& pod, std::string_view key) {
    return std::string(
        wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key)));
  }
  bool all_have_ports(std::size_t at_least) {
    std::size_t found = 0;
    for (const wire::Value& pod : list(kube::types::kPod)) {
      if (annotation(pod, api::kPortPoolsAnnotation).empty()) continue;
      if (annotation(pod, api::kBindStatusAnnotation) != "Ready") return false;
      ++found;
    }
    return found >= at_least;
  }
  // Every port of the segment leads to a port that answers.
  static void expect_echoes(const api::PortBindingItem& segment) {
    constexpr int kAnswerMs = 10'000;
    ASSERT_FALSE(segment.pool_item_load_balancers.empty());
    for (auto port = segment.start_port; port <= segment.end_port; ++port) {
      const model::Target at{segment.pool_item_load_balancers.front().ips.front(),
                             static_cast<model::Port>(port)};
      const auto heard = edge::ask_over_udp(at, "ahoy", kAnswerMs);
      EXPECT_EQ(heard.value_or(""), "ahoy") << model::to_string(at);
    }
  }
};

TEST_F(Examples, AllOfThemWorkSideBySide) {
  ASSERT_GE(files().size(), 8u);
  for (const std::string& file : files()) create(example(file));
  for (const auto& [ns, pool] :
       std::vector<std::pair<std::string, std::string>>{{"games", "rooms"},
                                                        {"play", "room-ports"},
                                                        {"cloud", "room-ports"},
                                                        {"meetings", "media"},
                                                        {"carriers", "both"}})
    EXPECT_TRUE(pool_is_ready(ns, pool)) << ns << "/" << pool;
  // One of first-room, two of arena, three of lobby, two of rooms, two of rooms-on-tencent, two of
  // segments, one of two-carriers.
  EXPECT_TRUE(eventually([&] { return all_have_ports(13); }, 120s));
  EXPECT_TRUE(eventually([&] {
    return std::ranges::count_if(list(kube::types::kPod, "default"), [](const wire::Value& pod) {
             return !wire::string_at(pod, "/spec/containers/0/ports/0/name").empty() ||
                    wire::int_at(pod, "/spec/containers/0/ports/0/hostPort").value_or(0) > 0;
           }) == 3;
  })) << "host-ports.yaml has three relays";

  const wire::Value hall = get(kube::types::kPod, "carriers", "hall");
  const auto entries = api::decode_pool_bindings(annotation(hall, api::kPoolBindingsAnnotation));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->front().load_balancer_ids.size(), 2u);
  EXPECT_EQ(entries->back().pool_item_name, "north") << "the alias loadBalancerID was understood";
  for (const wire::Value& pod : list(kube::types::kPod, "meetings")) {
    const auto media = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation));
    ASSERT_TRUE(media);
    EXPECT_EQ(media->front().end_port, media->front().start_port + 4);
    EXPECT_EQ(media->front().external, "zone-a");
    expect_echoes(media->front());
  }
}

}  // namespace
}  // namespace berth
