// Listener: one port, or range of ports, of one load balancer and where its traffic goes. As users
// of bcs-ingress-controller have it.
//
// It has no status subresource, so spec, labels, annotations and status can change in one write.
// A hundred thousand are cached: what most lack is boxed.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"
#include "api/listener_parts.h"
#include "model/load_balancer.h"
#include "model/port.h"

namespace berth::api {

inline constexpr std::string_view kSynced = "Synced";
inline constexpr std::string_view kNotSynced = "NotSynced";

struct ListenerBackend {
  std::string ip{};
  std::int64_t port = 0;
  std::int64_t weight = 0;

  friend bool operator==(const ListenerBackend&, const ListenerBackend&) = default;
};

struct ListenerTargetGroup {
  std::string target_group_id{};
  std::string target_group_name{};
  std::string protocol{};
  std::vector<ListenerBackend> backends{};

  friend bool operator==(const ListenerTargetGroup&, const ListenerTargetGroup&) = default;
};

// A domain and path of a layer 7 listener.
struct ListenerRule {
  std::string rule_id{};
  std::string domain{};
  std::string path{};
  Boxed<ListenerCertificate> certificate{};
  Boxed<ListenerAttribute> listener_attribute{};
  Boxed<ListenerTargetGroup> target_group{};

  friend bool operator==(const ListenerRule&, const ListenerRule&) = default;
};

struct ListenerSpec {
  std::string load_balancer_id{};
  std::int64_t port = 0;
  std::int64_t end_port = 0;
  std::string protocol{};
  Boxed<ListenerAttribute> listener_attribute{};
  Boxed<ListenerCertificate> certificate{};
  Boxed<ListenerTargetGroup> target_group{};
  std::vector<ListenerRule> rules{};

  friend bool operator==(const ListenerSpec&, const ListenerSpec&) = default;
};

struct ListenerStatus {
  std::string listener_id{};
  std::string status{};
  Json health_status{};
  Json uptime_check_status{};
  std::string message{};
  std::string port_pool{};
  std::string ingress{};

  friend bool operator==(const ListenerStatus&, const ListenerStatus&) = default;
};

struct Listener {
  kube::ObjectMeta meta;
  ListenerSpec spec;
  ListenerStatus status;
};

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<ListenerBackend>();
template <>
std::span<const Field> fields_of<ListenerTargetGroup>();
template <>
std::span<const Field> fields_of<ListenerRule>();
template <>
std::span<const Field> fields_of<ListenerSpec>();
template <>
std::span<const Field> fields_of<ListenerStatus>();

const KindInfo& listener_kind();

// All its targets, of its rules too. They live as long as the spec.
std::vector<const ListenerBackend*> backends_of(const ListenerSpec& spec);

// The ports of a listener: one, or a segment.
model::PortRange ports_of(const ListenerSpec& spec);

// The name of a pool's Listener: load balancer, protocol ("tcp", "udp", "tcpssl") and port; a
// segment's last port too.
std::string pool_listener_name(const model::LoadBalancerRef& load_balancer,
                               model::Protocol protocol, const model::PortRange& ports);

}  // namespace berth::api
