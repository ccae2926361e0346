// A simulated cluster with Ingresses in it: a Service "web", Pods, and what a person does to them
// and looks at. Made and used by one thread.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "sim/world/world.h"
#include "wire/yaml.h"

namespace berth::scenario {

inline const std::string kIngressPods = "/api/v1/namespaces/games/pods";
inline const std::string kGroup = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/";
inline const std::string kIngresses = kGroup + "ingresses";
inline const std::string kListeners = kGroup + "listeners";
inline const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";
inline const std::string kHooks =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
inline const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};

// Longer than a call of a dead leader may take to land.
inline constexpr Duration kQuiet = std::chrono::seconds{100};

inline world::WorldOptions with_ingresses(int replicas = 1) {
  world::WorldOptions options;
  options.replicas = replicas;
  options.config.without = {"port-pools", "host-ports"};
  return options;
}

class IngressHouse {
 public:
  IngressHouse(std::uint64_t seed, world::WorldOptions options)
      : world_(seed, std::move(options)) {}

  world::World& world() { return world_; }
  world::Cluster& cluster() { return world_.cluster(); }

  Result<> open() {
    if (Result<> up = cluster().run_until([this] {
          const auto hooks = cluster().list(kHooks);
          return world_.leaders() == 1 && cluster().list(kIngresses) && hooks && !hooks->empty();
        });
        !up)
      return up;
    return cluster().create_missing(R"(
apiVersion: v1
kind: Namespace
metadata: {name: games}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: games}
spec:
  selector: {app: web}
  ports: [{name: tcp, protocol: TCP, port: 8080, targetPort: 80}, {name: udp, protocol: UDP, port: 8080, targetPort: 80}]
)");
  }

  // Until the API server takes it, as a person tries.
  void write(const std::string& yaml) {
    for (int i = 0; i < 60 && !cluster().create_missing(yaml); ++i)
      (void)cluster().pause(std::chrono::seconds{1}, {});
  }
  static std::string pod(const std::string& name, const std::string& owner = {}) {
    const std::string owned =
        owner.empty() ? ""
                      : fmt::format(
                            ", ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, "
                            "name: {}, uid: uid-of-{}, controller: true}}]",
                            owner, owner);
    return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {}, namespace: games, labels: {{app: {}}}{}}}
spec: {{containers: [{{name: main, image: main}}]}}
)",
                       name, owner.empty() ? "web" : owner, owned);
  }
  static std::string ingress(const std::string& name, const std::string& spec,
                             const std::string& load_balancers = "edge:demo") {
    return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {{name: {}, namespace: games, annotations: {{networkextension.bkbcs.tencent.com/lbids: "{}"}}}}
spec: {}
)",
                       name, load_balancers, spec);
  }
  // What its node says of it.
  void say_ready(const std::string& name, bool ready) {
    const wire::Object condition{{"type", "ContainersReady"}, {"status", ready ? "True" : "False"}};
    for (int i = 0; i < 60; ++i) {
      if (!ip_of(name).empty() &&
          cluster().ask(
              "PATCH", kIngressPods + "/" + name + "/status",
              wire::Object{{"status", wire::Object{{"conditions", wire::Array{condition}}}}}))
        return;
      (void)cluster().pause(std::chrono::seconds{1}, {});
    }
  }
  void change(const std::string& name, const std::string& spec) {
    const auto wanted = wire::parse_yaml(spec);
    for (int i = 0; i < 60; ++i) {
      Result<wire::Value> now = cluster().ask("GET", kIngresses + "/" + name);
      if (now && wanted) {
        now->as_object()["spec"] = *wanted;
        if (cluster().ask("PUT", kIngresses + "/" + name, *now)) return;
      }
      (void)cluster().pause(std::chrono::seconds{1}, {});
    }
  }

  std::string ip_of(const std::string& pod) {
    const Result<wire::Value> found = cluster().ask("GET", kIngressPods + "/" + pod);
    return found ? std::string(wire::string_at(*found, "/status/podIP")) : std::string();
  }
  std::string text(const std::string& ingress, std::string_view pointer) {
    const Result<wire::Value> found = cluster().ask("GET", kIngresses + "/" + ingress);
    return found ? std::string(wire::string_at(*found, pointer)) : "gone";
  }
  bool is_ready(const std::string& name) { return text(name, "/status/status") == "Ready"; }
  // "10.0.0.1:80 10" of each target there, sorted; "closed" when nobody listens.
  std::vector<std::string> leads(model::Port port,
                                 model::Transport transport = model::Transport::tcp) {
    const auto there = world_.view().find(kDemo, transport, port);
    if (!there) return {"closed"};
    std::vector<std::string> out;
    for (const model::WeightedTarget& one : model::targets_of(there->spec))
      out.push_back(fmt::format("{} {}", model::to_string(one.target), one.weight));
    return out;
  }
  // With all that they are, for a failure.
  std::string listeners_text() {
    std::string out;
    const auto found = cluster().list(kListeners);
    for (const wire::Value& one : found ? *found : std::vector<wire::Value>{})
      out += wire::to_json(one) + "\n";
    return out;
  }
  std::vector<std::string> listeners() {
    std::vector<std::string> out;
    const auto found = cluster().list(kListeners);
    for (const wire::Value& one : found ? *found : std::vector<wire::Value>{})
      out.emplace_back(wire::string_at(one, "/metadata/name"));
    std::ranges::sort(out);
    return out;
  }

 private:
  world::World world_;
};

}  // namespace berth::scenario
