// PortBinding: the ports that one Pod (or Node) has, and how far they lead to it. As users of
// bcs-ingress-controller have it: same name and namespace as the Pod.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/kind.h"
#include "api/listener_parts.h"
#include "model/port.h"

namespace berth::api {

// One port, or segment, that a Pod got. The Pod's poolbindings annotation is a JSON list of these.
struct PortBindingItem {
  std::string pool_name{};
  std::string pool_namespace{};
  std::vector<std::string> load_balancer_ids{};
  Boxed<ListenerAttribute> listener_attribute{};
  Json uptime_check{};
  std::vector<LoadBalancerBrief> pool_item_load_balancers{};
  std::string pool_item_name{};
  std::string protocol{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;       // the last one of a segment; 0 for one port
  std::int64_t rs_start_port = 0;  // in the Pod
  bool host_port = false;
  std::string external{};

  friend bool operator==(const PortBindingItem&, const PortBindingItem&) = default;
};

struct PortBindingSpec {
  std::vector<PortBindingItem> port_binding_list{};
};

struct PortPoolBindStatus {
  std::string port_pool_name{};
  std::string port_pool_namespace{};
  std::string pool_item_name{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;
  std::string status{};
  Json uptime_check_status{};

  friend bool operator==(const PortPoolBindStatus&, const PortPoolBindStatus&) = default;
};

struct PortBindingStatus {
  std::string status{};
  std::string update_time{};
  std::vector<PortPoolBindStatus> port_pool_bind_status_list{};
  std::string port_binding_type{};
};

struct PortBinding {
  kube::ObjectMeta meta;
  PortBindingSpec spec;
  PortBindingStatus status;
};

// How a binding stands, beside kReady and kNotReady.
inline constexpr std::string_view kCleaning = "Cleaning";
inline constexpr std::string_view kCleaned = "Cleaned";

// As many as a Pod may ask for, each of them for TCP and UDP.
inline constexpr std::size_t kMaxPortBindings = 128;

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<PortBindingItem>();
template <>
std::span<const Field> fields_of<PortBindingSpec>();
template <>
std::span<const Field> fields_of<PortPoolBindStatus>();
template <>
std::span<const Field> fields_of<PortBindingStatus>();

const KindInfo& port_binding_kind();

kube::ObjectKey pool_of(const PortBindingItem& item);
// The ports on the load balancers: one, or a segment.
model::PortRange ports_of(const PortBindingItem& item);
// The Listener that is the lock of its slot: the one on the first load balancer of its item. Names
// of Listeners have no region, so that defaults do not matter. Nothing for what cannot be read.
std::optional<kube::ObjectKey> lock_of(const PortBindingItem& item);
// Where players go: "1.1.1.1:31000", "1.1.1.1,lb.example.com:31000-31004". Of each load balancer
// its addresses, then its DNS name; IPv6 in brackets.
std::string public_address(const PortBindingItem& item);

}  // namespace berth::api
