// The built-in kinds that we watch, as far as somebody reads them. Pods: `kube/cache/pod.h`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "kube/cache/object_meta.h"
#include "kube/cache/pod.h"
#include "kube/cache/projection.h"

namespace berth::kube {

struct NodeAddress {
  Interned type{};  // "InternalIP", "ExternalIP", "Hostname", ...
  std::string address{};

  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

struct Node {
  ObjectMeta meta{};
  std::vector<NodeAddress> addresses{};
  bool ready = false;
  bool unschedulable = false;

  // The first of that type, or empty.
  std::string_view address(std::string_view type) const;

  friend bool operator==(const Node&, const Node&) = default;
};

struct ServicePort {
  Interned name{};
  Interned protocol{"TCP"};
  std::uint16_t port = 0;
  std::uint16_t node_port = 0;    // 0: none
  std::uint16_t target_port = 0;  // 0: a container port's name, below
  Interned target_port_name{};

  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

// An address that a load balancer has, as the Service's status shows it.
struct LoadBalancerIngress {
  std::string ip{};
  std::string hostname{};

  friend bool operator==(const LoadBalancerIngress&, const LoadBalancerIngress&) = default;
};

struct Service {
  ObjectMeta meta{};
  Interned type{};  // "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
  std::string cluster_ip{};
  Interned load_balancer_class{};
  Interned external_traffic_policy{};
  std::vector<ServicePort> ports{};
  StringMap selector{};
  std::vector<LoadBalancerIngress> ingress{};

  friend bool operator==(const Service&, const Service&) = default;
};

struct Namespace {
  ObjectMeta meta{};

  friend bool operator==(const Namespace&, const Namespace&) = default;
};

struct ConfigMap {
  ObjectMeta meta{};
  std::vector<std::pair<std::string, std::string>> data{};  // binaryData is not kept

  // Empty when missing.
  std::string_view get(std::string_view key) const;

  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};

// Nobody reads Nodes through a cache yet but tests; allocators of addresses will.
Projection<Node> node_projection(MetaRules rules = {}, Selection selection = {});
// Services are configured through annotations, and we put a finalizer on them: both are kept.
Projection<Service> service_projection(MetaRules rules = {.annotations = KeyFilter::everything(),
                                                          .finalizers = true},
                                       Selection selection = {});
Projection<Namespace> namespace_projection(MetaRules rules = {}, Selection selection = {});
// Nobody reads ConfigMaps through a cache yet but tests; front ends with configuration in one will.
Projection<ConfigMap> config_map_projection(MetaRules rules = {}, Selection selection = {});

}  // namespace berth::kube
