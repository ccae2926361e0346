// A playground on a simulated Tencent Cloud: rooms are reached through "the cloud", at the
// addresses that they were told.

#include <gmock/gmock.h>

#include <sstream>

#include "edge/echo_server.h"
#include "world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr int kAnswerMs = 20'000;

class OnTencent : public World {
 protected:
  playground::Options options() const override {
    return {.low_ports = edge::LowPorts{.limit = 1024, .offset = edge::kLowPortOffset},
            .cloud = model::Provider::tencent};
  }

  playground::Room room(const std::string& pod) {
    auto found = play_->wait_for_room(context_.within(60s), pod);
    EXPECT_TRUE(found) << pod << ": " << found.error().to_string();
    return found.value_or(playground::Room{});
  }
  static void expect_echoes(const playground::Room& room) {
    EXPECT_FALSE(room.ports.empty()) << room.pod;
    for (const playground::RoomPort& port : room.ports) {
      const bool tcp = port.protocol == "TCP";
      const auto heard = tcp ? edge::ask_over_tcp(port.open_at, "ahoy", kAnswerMs)
                             : edge::ask_over_udp(port.open_at, "ahoy", kAnswerMs);
      ASSERT_TRUE(heard) << port.protocol << " " << model::to_string(port.open_at) << ": "
                         << heard.error().to_string();
      EXPECT_EQ(*heard, tcp ? fmt::format("this is {}\nahoy", room.pod) : "ahoy");
    }
  }

  // Its listener at this address, as the cloud shows it.
  wire::Value listener_at(const model::Target& at, std::string_view protocol) {
    const wire::Value all = cloud();
    for (const wire::Value& lb : *wire::array_at(all, "/loadBalancers")) {
      if (wire::string_at(lb, "/vips/0") != at.ip) continue;
      for (const wire::Value& one : *wire::array_at(lb, "/listeners")) {
        if (wire::int_at(one, "/port") == at.port && wire::string_at(one, "/protocol") == protocol)
          return one;
      }
    }
    return {};
  }
};

TEST_F(OnTencent, AnEchoComesBackThroughTheCloud) {
  create(example("rooms-on-tencent.yaml"));
  const playground::Room first = room("cloud/room-0");
  const playground::Room second = room("cloud/room-1");
  expect_echoes(first);
  expect_echoes(second);

  const wire::Value pod = get(kube::types::kPod, "cloud", "room-0");
  const wire::Value shown = listener_at(first.ports.front().open_at, "TCP");
  EXPECT_EQ(wire::string_at(shown, "/rules/0/targets/0/ip"), wire::string_at(pod, "/status/podIP"));
  EXPECT_EQ(wire::string_at(shown, "/traffic"), "open at " + first.address);

  ASSERT_TRUE(pool_is_ready("cloud", "room-ports"));
  const wire::Value all = cloud();
  std::map<std::string, std::size_t> listeners;
  for (const wire::Value& lb : *wire::array_at(all, "/loadBalancers"))
    listeners[std::string(wire::string_at(lb, "/name"))] = wire::array_at(lb, "/listeners")->size();
  EXPECT_EQ(listeners, (std::map<std::string, std::size_t>{
                           {"lobby", 0}, {"lobby-east", 0}, {"rooms", 20}, {"rooms-east", 20}}))
      << "ten ports, TCP and UDP, in each of two regions";
}

TEST_F(OnTencent, ARoomThatComesBackIsReachedWhereItWas) {
  create(example("rooms-on-tencent.yaml"));
  const playground::Room before = room("cloud/room-0");
  ASSERT_TRUE(play_->client().remove(context_.within(60s), kube::types::kPod, {"cloud", "room-0"}));
  ASSERT_TRUE(eventually([&] { return room("cloud/room-0").uid != before.uid; }));
  const playground::Room after = room("cloud/room-0");
  EXPECT_EQ(after.address, before.address);
  expect_echoes(after);
}

TEST_F(OnTencent, OurOwnLoadBalancersAreThereToo) {
  create(example("first-room.yaml"));
  expect_echoes(room("games/room-0"));
}

TEST_F(OnTencent, APortBelow1024IsShownWithThePlaceWhereItIsOpen) {
  make_namespace("low");
  create(pool_yaml("low", "web",
                   "{poolItems: [{itemName: i, loadBalancerIDs: [lobby], protocol: TCP, startPort: "
                   "80, endPort: 81}]}"));
  ASSERT_TRUE(pool_is_ready("low", "web"));
  create(R"(
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: low
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "web TCP 8000"
spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 8000}]}]}
)");
  const playground::Room web = room("low/web");
  EXPECT_EQ(web.ports.front().open_at.port, 80 + edge::kLowPortOffset);
  expect_echoes(web);
  const auto overview = play_->overview(context_.within(60s));
  ASSERT_TRUE(overview) << overview.error().to_string();
  EXPECT_THAT(overview->pods.front().room, HasSubstr(":80 (open at 61080)"));
}

// What dashboards read: requests by the names of the cloud's API, and what its checks say.
TEST_F(OnTencent, MetricsHaveTheCloudsOwnNamesAndWhatItsChecksSay) {
  create(example("rooms-on-tencent.yaml"));
  make_namespace("unchecked");
  create(pool_yaml("unchecked", "web",
                   "{listenerAttribute: {healthCheck: {enabled: false}}, poolItems: [{itemName: i, "
                   "loadBalancerIDs: [lobby], protocol: TCP, startPort: 30000, endPort: 30001}]}"));
  ASSERT_TRUE(pool_is_ready("unchecked", "web"));
  create(R"(
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: unchecked
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "web TCP 8000"
spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 8000}]}]}
)");
  (void)room("cloud/room-0");
  (void)room("unchecked/web");
  // Of the targets of a namespace: how many there are of each value.
  const auto health = [&](std::string_view ns) {
    std::map<std::string, int> out;
    std::istringstream lines(metrics());
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("cloudloadbalance_backendhealth_backend_status{") &&
          line.find(fmt::format("namespace=\"{}\"", ns)) != std::string::npos)
        ++out[line.substr(line.rfind(' ') + 1)];
    return out;
  };
  const std::map<std::string, int> alive{{"1", 4}};
  const std::map<std::string, int> not_known{{"2", 1}};
  EXPECT_TRUE(eventually(
      [&] { return health("cloud") == alive && health("unchecked") == not_known; }, 120s))
      << metrics();
  const std::string text = metrics();
  const std::string total = "bcs_network_ingress_controller_cloud_request_total";
  for (const char* action :
       {"CreateListener", "BatchRegisterTargets", "DescribeTaskStatus", "DescribeLoadBalancers",
        "DescribeListeners", "DescribeTargetHealth"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format(R"({}{{errcode="success",rpc="{}"}})", total, action)));
    EXPECT_THAT(text, HasSubstr(fmt::format(R"(cloud_response_time_count{{rpc="{}"}})", action)));
    EXPECT_THAT(text, HasSubstr(fmt::format(
                          R"(handler="sdk",method="{}",status="ok",system="tencent"}})", action)));
  }
  EXPECT_EQ(text.find(R"(rpc="create_listeners")"), std::string::npos);
  EXPECT_THAT(text, HasSubstr(R"(operation="create_listeners",status="ok",system="tencent")"));
}

TEST_F(OnTencent, ALoadBalancerThatTheCloudHasNotIsSaid) {
  make_namespace("wrong");
  create(pool_yaml("wrong", "pool",
                   "{poolItems: [{itemName: i, loadBalancerIDs: [lb-nowhere1], protocol: TCP, "
                   "startPort: 30000, endPort: 30001}]}"));
  const auto told = [&] { return wire::to_json(get(api::port_pool_kind().type, "wrong", "pool")); };
  EXPECT_TRUE(eventually([&] {
    return told().find("there is no load balancer ap-guangzhou:lb-nowhere1") != std::string::npos;
  })) << told();
}

}  // namespace
}  // namespace berth
