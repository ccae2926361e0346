// Parts that several kinds share: attributes of a listener, its certificate, and what is said about
// a load balancer. Names and meaning are those of bcs-ingress-controller. Plain values.
#pragma once

#include <string>
#include <vector>

#include "api/kind_table.h"
#include "model/protocol.h"

namespace berth::api {

struct AwsAttribute {
  std::string key{};
  std::string value{};

  friend bool operator==(const AwsAttribute&, const AwsAttribute&) = default;
};

// Absent: the cloud's default. Present and not enabled: switched off.
struct ListenerHealthCheck {
  bool enabled = false;
  std::int64_t timeout = 0;
  std::int64_t interval_time = 0;
  std::int64_t health_num = 0;
  std::int64_t unhealth_num = 0;
  std::int64_t http_code = 0;
  std::int64_t health_check_port = 0;
  std::string health_check_protocol{};
  std::string http_code_values{};
  std::string http_check_path{};
  std::string http_check_method{};

  friend bool operator==(const ListenerHealthCheck&, const ListenerHealthCheck&) = default;
};

struct ListenerAttribute {
  std::int64_t session_time = 0;
  std::string session_type{};
  std::int64_t sni_switch = 0;
  std::int64_t keep_alive_enable = 0;
  std::string lb_policy{};
  bool backend_insecure = false;
  std::int64_t max_rate = 0;
  std::vector<AwsAttribute> aws_attributes{};
  Boxed<ListenerHealthCheck> health_check{};
  Json uptime_check{};  // a dial test of the BlueKing monitor: handed on as it is
  std::int64_t priority = 0;

  friend bool operator==(const ListenerAttribute&, const ListenerAttribute&) = default;
};

struct ListenerCertificate {
  std::string mode{};
  std::string cert_id{};
  std::string cert_ca_id{};

  friend bool operator==(const ListenerCertificate&, const ListenerCertificate&) = default;
};

// A load balancer as Pods and statuses are told of it.
struct LoadBalancerBrief {
  std::string name{};
  std::string id{};
  std::string region{};
  std::string type{};  // "OPEN" or "INTERNAL"
  std::vector<std::string> ips{};
  std::string dns_name{};
  std::string scheme{};
  std::string aws_lb_type{};

  friend bool operator==(const LoadBalancerBrief&, const LoadBalancerBrief&) = default;
};

// Sessions by the id of a QUIC connection, which stays when a client's address changes.
inline constexpr std::string_view kQuicSessions = "QUIC_CID";

// Forward types of a layer 7 route.
inline constexpr std::string_view kForwardGrpc = "GRPC";
inline constexpr std::string_view kForwardQuic = "QUIC";

// TLS that ends at the load balancer, as users write it.
inline constexpr std::string_view kTlsProtocol = "TCP_SSL";

// TLS ends at the load balancer, which needs a certificate for it.
constexpr bool ends_tls(model::Protocol protocol) {
  return protocol == model::Protocol::https || protocol == model::Protocol::tls ||
         protocol == model::Protocol::quic;
}

// What a port of a pool speaks: TCP, UDP or TCP_SSL, each of which takes one transport. In upper or
// in lower case; anything else is an error that lists what is allowed.
Result<model::Protocol> parse_pool_protocol(std::string_view text);
std::string_view pool_protocol_text(model::Protocol protocol);  // "TCP_SSL"
model::Transport pool_transport(model::Protocol protocol);

inline constexpr std::size_t kMaxLoadBalancersPerItem = 16;
// ARNs are the longest.
inline constexpr std::size_t kMaxLoadBalancerId = 256;

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<AwsAttribute>();
template <>
std::span<const Field> fields_of<ListenerHealthCheck>();
template <>
std::span<const Field> fields_of<ListenerAttribute>();
template <>
std::span<const Field> fields_of<ListenerCertificate>();
template <>
std::span<const Field> fields_of<LoadBalancerBrief>();

}  // namespace berth::api
