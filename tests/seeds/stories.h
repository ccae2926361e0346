// A fixture: what the page says, told on our own load balancer and on a simulated Tencent Cloud,
// which has the load balancers that it names.
#pragma once

#include <gmock/gmock.h>

#include "seeds_world.h"
#include "sim/cloud/tencent/policy.h"

namespace berth {

class Stories : public Seeds, public ::testing::WithParamInterface<model::Provider> {
 protected:
  bool on_cloud() const { return GetParam() == model::Provider::tencent; }

  // The cloud has the load balancers that the page names, each with a listener of somebody else,
  // and our key the permissions that it lists, and no more.
  playground::Options options() const override {
    playground::Options out{
        .low_ports = kLow, .cloud = GetParam(), .cloud_policy = sim::tencent::guide_policy()};
    for (const char* id : {"lb-xxx", "lb-xxxxxxx", "lb-7hxxxxx", "lb-one", "lb-test1", "lb-test2",
                           "lb-test3", "lb-test4"})
      out.cloud_load_balancers.push_back(bought(id));
    out.cloud_load_balancers.push_back(bought("lb-west", "ap-chongqing"));
    out.cloud_load_balancers.push_back(bought("lb-east", "ap-shanghai"));
    return out;
  }
  static sim::tencent::LoadBalancer bought(const std::string& id, const std::string& region = {}) {
    sim::tencent::LoadBalancer out{.id = id, .region = region, .snat_pro = !region.empty()};
    sim::tencent::Listener stranger{
        .id = "lbl-of-" + id, .name = "somebody-else", .protocol = "TCP", .port = kStrangersPort};
    stranger.rules.push_back({.targets = {{.ip = "10.0.0.9", .port = 80}}});
    out.listeners.emplace(stranger.id, std::move(stranger));
    return out;
  }
  void TearDown() override {
    if (!on_cloud() || !play_ || IsSkipped()) return;
    const Value all = cloud();
    int strangers = 0;
    for (const Value& lb : *wire::array_at(all, "/loadBalancers")) {
      for (const Value& listener : *wire::array_at(lb, "/listeners")) {
        if (wire::string_at(listener, "/name") != "somebody-else") continue;
        ++strangers;
        EXPECT_THAT(testing::cloud_targets(listener), ::testing::ElementsAre("10.0.0.9:80 10"));
      }
    }
    EXPECT_EQ(strangers, 10) << "what is not ours is not touched";
  }

  // One block shows a mapping without its object.
  std::string ingress_block(int number) const {
    const std::string yaml = block(number);
    if (!yaml.starts_with("- startPort:")) return yaml;
    std::string mapping;
    std::istringstream in(yaml);
    for (std::string line; std::getline(in, line);)
      mapping += "  " + (mapping.empty() ? line : line.substr(2)) + "\n";
    return "apiVersion: networkextension.bkbcs.tencent.com/v1\nkind: Ingress\nmetadata: {name: "
           "web, namespace: default, annotations: {networkextension.bkbcs.tencent.com/lbids: "
           "lb-xxxxxxx}}\nspec:\n  portMappings:\n" +
           mapping;
  }
  // The Listener and, where there is one, the cloud lead there.
  Value expect_way(const std::string& ns, const std::string& listener, const std::string& lb,
                   int port, const std::string& protocol, const std::vector<std::string>& targets,
                   const std::string& rule = {}) {
    leads(ns, listener, targets);
    if (!on_cloud()) return {};
    std::vector<std::string> at_rule;
    for (const std::string& one : targets) at_rule.push_back(rule.empty() ? one : rule + " " + one);
    return expect_in_cloud(lb, port, protocol, at_rule);
  }
  // A StatefulSet of six, whose containers open these ports.
  void make_game_servers(const std::string& ports) {
    create(fmt::format(R"(
apiVersion: v1
kind: Namespace
metadata: {{name: game}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: gameserver, namespace: game}}
spec:
  replicas: 6
  podManagementPolicy: Parallel
  serviceName: gameserver
  selector: {{matchLabels: {{app: gameserver}}}}
  template:
    metadata: {{labels: {{app: gameserver}}}}
    spec: {{containers: [{{name: main, image: main, ports: [{}]}}]}}
)",
                       ports));
  }

  static constexpr int kStrangersPort = 7;
};

inline std::string name_of_provider(const ::testing::TestParamInfo<model::Provider>& of) {
  return of.param == model::Provider::edge ? "Edge" : "Tencent";
}

}  // namespace berth
