// Pods and Services of a small cluster, for tests of this folder. Free of GTest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "claims/test_support.h"
#include "controllers/ingress/backends.h"

namespace berth::controllers::ingress::testing {

using Labels = std::vector<std::pair<std::string, std::string>>;

// A Pod of namespace "games" that runs and is ready, on a node of its own.
inline kube::Pod pod(const std::string& name, const std::string& ip, const Labels& labels = {}) {
  kube::Pod out;
  out.meta = {.ns = kube::Interned("games"), .name = name, .uid = "uid-of-" + name};
  for (const auto& [key, value] : labels) claims::testing::put(out.meta.labels, key, value);
  out.ips = {ip};
  out.host_ip = kube::Interned("192.168.0." + ip.substr(ip.rfind('.') + 1));
  out.phase = kube::PodPhase::running;
  out.conditions = {{kube::Interned("ContainersReady"), kube::ConditionStatus::yes}};
  return out;
}

inline kube::Pod unready(kube::Pod pod) {
  pod.conditions = {{kube::Interned("ContainersReady"), kube::ConditionStatus::no}};
  return pod;
}
inline kube::Pod leaving(kube::Pod pod) {
  pod.meta.deleting = true;
  return pod;
}
inline kube::Pod with_port(kube::Pod pod, const std::string& name, std::uint16_t port,
                           std::uint16_t host_port = 0) {
  pod.ports = {{.name = kube::Interned(name), .port = port, .host_port = host_port}};
  return pod;
}
inline kube::Pod owned(kube::Pod pod, const std::string& kind, const std::string& name) {
  pod.meta.owners = {
      {.kind = kube::Interned(kind), .name = name, .uid = "uid-of-" + name, .controller = true}};
  return pod;
}
inline kube::Pod with_weight(kube::Pod pod, const std::string& weight) {
  claims::testing::put(pod.meta.annotations, kWeightAnnotation, weight);
  return pod;
}

// Of namespace "games", port 8080 to 80 of Pods with the label app.
inline kube::Service service(const std::string& name, std::uint16_t node_port = 0) {
  kube::Service out;
  out.meta = {.ns = kube::Interned("games"), .name = name, .uid = "uid-of-" + name};
  out.type = kube::Interned(node_port ? "NodePort" : "ClusterIP");
  out.ports = {{.port = 8080, .node_port = node_port, .target_port = 80}};
  out.selector = {{kube::Interned("app"), name}};
  return out;
}

struct Cluster {
  Cluster() { add_indexes(pods); }

  void put(kube::Pod pod) {
    pod.meta.resource_version = ++version;
    pods.put(std::move(pod));
  }
  void put(kube::Service service) {
    service.meta.resource_version = ++version;
    services.put(std::move(service));
  }
  Sight sight() const { return {pods, services}; }

  kube::Store<kube::Pod> pods;
  kube::Store<kube::Service> services;
  kube::ResourceVersion version = 0;
};

}  // namespace berth::controllers::ingress::testing
