// Ingress: rules from ports of load balancers to Services, and from ranges of ports to the Pods of
// a workload, one by one. As users of bcs-ingress-controller have it; it has nothing in common with
// the kind of that name in networking.k8s.io.
//
// It has no status subresource, as upstream.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/kind.h"
#include "api/listener_parts.h"
#include "model/listener.h"
#include "model/load_balancer.h"
#include "model/load_balancer_name.h"
#include "model/port.h"
#include "model/protocol.h"

namespace berth::api {

inline constexpr std::size_t kMaxLoadBalancersPerIngress = kMaxLoadBalancersPerItem;
// Lists of one object, which the API server keeps in one piece.
inline constexpr std::size_t kMaxRulesPerIngress = 500;
inline constexpr std::size_t kMaxMappingsPerIngress = 200;
inline constexpr std::size_t kMaxRoutesPerRule = 1000;
inline constexpr std::size_t kMaxServicesPerRule = 100;
inline constexpr std::size_t kMaxSubsetsPerService = 100;
// At each of its load balancers: Listeners are objects, and one Ingress is one page of work.
inline constexpr std::int64_t kMaxListenersPerIngress = 4000;
inline constexpr std::int64_t kMaxPodIndex = 65535;  // one port each is all there is
inline constexpr std::int64_t kMaxWeight = 100;
// As Kubernetes and HTTP have them.
inline constexpr std::size_t kMaxObjectName = 253;
inline constexpr std::size_t kMaxNamespace = 63;
inline constexpr std::size_t kMaxDomain = 253;
inline constexpr std::size_t kMaxPath = 1024;

struct IngressWeight {
  std::int64_t value = 0;

  friend bool operator==(const IngressWeight&, const IngressWeight&) = default;
};

// Some of the Pods of a Service, with a weight of their own.
struct IngressSubset {
  std::map<std::string, std::string> label_selector{};
  Boxed<IngressWeight> weight{};

  friend bool operator==(const IngressSubset&, const IngressSubset&) = default;
};

struct ServiceRoute {
  std::string service_name{};
  std::string service_namespace{};  // empty: the Ingress's own
  std::string service_kind{};       // empty: "service"
  std::int64_t service_port = 0;
  bool host_port = false;
  bool is_direct_connect = false;
  Boxed<IngressWeight> weight{};
  std::vector<IngressSubset> subsets{};

  friend bool operator==(const ServiceRoute&, const ServiceRoute&) = default;
};

struct Layer7Route {
  std::string domain{};
  std::string path{};
  std::string forward_type{};
  Boxed<ListenerAttribute> listener_attribute{};
  Boxed<ListenerCertificate> certificate{};
  std::vector<ServiceRoute> services{};

  friend bool operator==(const Layer7Route&, const Layer7Route&) = default;
};

struct IngressRule {
  std::int64_t port = 0;
  std::string protocol{};
  Boxed<ListenerAttribute> listener_attribute{};
  Boxed<ListenerCertificate> certificate{};
  std::vector<ServiceRoute> services{};
  std::vector<Layer7Route> layer7_routes{};

  friend bool operator==(const IngressRule&, const IngressRule&) = default;
};

// A domain and path of a port mapping: each Pod has its own listener, so it needs no Service.
struct MappingRoute {
  std::string domain{};
  std::string path{};
  Boxed<ListenerAttribute> listener_attribute{};

  friend bool operator==(const MappingRoute&, const MappingRoute&) = default;
};

struct PortMapping {
  std::string workload_kind{};
  std::string workload_name{};
  std::string workload_namespace{};
  std::int64_t start_port = 0;
  std::int64_t rs_start_port = 0;  // 0: as start_port
  std::int64_t start_index = 0;
  std::int64_t end_index = 0;       // exclusive
  std::int64_t segment_length = 0;  // 0: 1
  std::string protocol{};
  bool is_rs_port_fixed = false;
  bool ignore_segment = false;
  bool host_port = false;
  Boxed<ListenerAttribute> listener_attribute{};
  Boxed<ListenerCertificate> certificate{};
  std::vector<MappingRoute> routes{};

  friend bool operator==(const PortMapping&, const PortMapping&) = default;
};

struct IngressSpec {
  std::vector<IngressRule> rules{};
  std::vector<PortMapping> port_mappings{};
};

// What is told beside its load balancers, upstream does not have.
struct IngressStatus {
  std::vector<LoadBalancerBrief> load_balancers{};
  std::string status{};   // "Ready" or "NotReady"
  std::string message{};  // what is in the way

  friend bool operator==(const IngressStatus&, const IngressStatus&) = default;
};

struct Ingress {
  kube::ObjectMeta meta;
  IngressSpec spec;
  IngressStatus status;
};

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<IngressWeight>();
template <>
std::span<const Field> fields_of<IngressSubset>();
template <>
std::span<const Field> fields_of<ServiceRoute>();
template <>
std::span<const Field> fields_of<Layer7Route>();
template <>
std::span<const Field> fields_of<IngressRule>();
template <>
std::span<const Field> fields_of<MappingRoute>();
template <>
std::span<const Field> fields_of<PortMapping>();
template <>
std::span<const Field> fields_of<IngressSpec>();
template <>
std::span<const Field> fields_of<IngressStatus>();

const KindInfo& ingress_kind();

inline constexpr std::int64_t kDefaultWeight = model::kDefaultWeight;
std::int64_t weight_or_default(const Boxed<IngressWeight>& weight);

// Layer 7: HTTP and HTTPS, however they are written.
bool is_layer7(std::string_view protocol);

// The load balancers of its annotations: ids, or names when there are no ids. Each text as the user
// wrote it, without blanks around it.
struct IngressLoadBalancers {
  std::vector<std::string> texts{};
  bool by_name = false;
};
Result<IngressLoadBalancers> load_balancers_of(const Ingress& ingress);

// Of one Pod of a mapping: the ports at the load balancer, and the first of those in the Pod.
std::int64_t segment_length_of(const PortMapping& mapping);
// Every Pod has one listener for all of its ports, instead of one for each.
bool is_segment(const PortMapping& mapping);
struct MappedPorts {
  model::PortRange listener{};
  std::uint16_t pod_port = 0;  // leads on in step with the listener's ports
};
// `index` is in [start_index, end_index). Precondition: the mapping is valid.
MappedPorts mapped_ports(const PortMapping& mapping, std::int64_t index);

// Names of its Listeners, as upstream has them: "lb-1-8000", and "lb-1-8000-0" or "lb-1-8000-8004"
// of a mapping. With the protocol in it where TCP and UDP of one port must be told apart, as
// upstream does when they may share one: "lb-1-udp-8000". Layer 7 never has it.
enum class ListenerNames : std::uint8_t { plain, with_protocol };
std::string rule_listener_name(const model::LoadBalancerRef& load_balancer, const IngressRule& rule,
                               ListenerNames names);
std::string mapping_listener_name(const model::LoadBalancerRef& load_balancer,
                                  const PortMapping& mapping, const model::PortRange& ports,
                                  ListenerNames names);

// What an Ingress takes at each of its load balancers: of a rule its port, of a mapping the ports
// of all its Pods. What is not valid takes nothing.
struct IngressPorts {
  std::string field{};  // "spec.rules[0]"
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};

  friend bool operator==(const IngressPorts&, const IngressPorts&) = default;
};
std::vector<IngressPorts> ports_of(const Ingress& ingress);

// What the schema cannot say, inside one object: ranges and enums by protocol, certificates, fields
// that do not go together, ports that overlap. Errors name the object, the field, what was found
// and what is allowed. Its texts of load balancers are read by `reading`.
Result<> validate(const Ingress& ingress, const model::Reading& reading = {});
// What only whoever knows the load balancer can say: some have no segments. `type` is "OPEN" or
// "INTERNAL", empty where it is not known.
Result<> validate_segments(const Ingress& ingress, const model::LoadBalancerRef& lb,
                           std::string_view type);
// What is taken as it was written and does nothing, or something else than one might think.
std::vector<std::string> warnings_about(const Ingress& ingress);

}  // namespace berth::api
