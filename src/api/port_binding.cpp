#include "api/port_binding.h"

#include "api/listener.h"

namespace berth::api {

// In the order in which programs in Pods have always seen them.
template <>
std::span<const Field> fields_of<PortBindingItem>() {
  using I = PortBindingItem;
  static constexpr Field f[] = {
      field<&I::pool_name>("poolName", "The pool.", {.max_len = 253, .required = true}),
      field<&I::pool_namespace>("poolNamespace", "Its namespace.",
                                {.max_len = 63, .required = true}),
      field<&I::load_balancer_ids>("loadBalancerIDs", "Load balancers on which the port is.",
                                   {.max_items = kMaxLoadBalancersPerItem}),
      field<&I::listener_attribute>("listenerAttribute", "Attributes of the listeners."),
      field<&I::uptime_check>("uptimeCheck", "Dial test of the BlueKing monitor, kept as it is."),
      field<&I::pool_item_load_balancers>("poolItemLoadBalancers",
                                          "What is known about the load balancers.",
                                          {.max_items = kMaxLoadBalancersPerItem}),
      field<&I::pool_item_name>("poolItemName", "Item of the pool.",
                                {.max_len = 128, .required = true}),
      field<&I::protocol>("protocol", "TCP or UDP.", {.max_len = 16, .required = true}),
      field<&I::start_port>("startPort", "Port, or the first one of a segment.",
                            {.min = 0, .max = 65535, .always = true}),
      field<&I::end_port>("endPort", "Last port of a segment; 0 for one port.",
                          {.min = 0, .max = 65535, .always = true}),
      field<&I::rs_start_port>("rsStartPort", "Port in the Pod, or the first one of a segment.",
                               {.min = 0, .max = 65535, .always = true}),
      field<&I::host_port>("hostPort", "Lead to the node's port instead of the Pod's."),
      field<&I::external>("external", "Text of the pool's item.", {.max_len = 4096}),
  };
  static_assert(covers<PortBindingItem>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortBindingSpec>() {
  static constexpr Field f[] = {
      field<&PortBindingSpec::port_binding_list>("portBindingList", "The ports that the Pod has.",
                                                 {.max_items = kMaxPortBindings}),
  };
  static_assert(covers<PortBindingSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolBindStatus>() {
  using S = PortPoolBindStatus;
  static constexpr Field f[] = {
      field<&S::port_pool_name>("portPoolName", "The pool.", {.max_len = 253}),
      field<&S::port_pool_namespace>("portPoolNamespace", "Its namespace.", {.max_len = 63}),
      field<&S::pool_item_name>("poolItemName", "Item of the pool.", {.max_len = 128}),
      field<&S::start_port>("startPort", "As in the spec.", {.always = true}),
      field<&S::end_port>("endPort", "As in the spec.", {.always = true}),
      field<&S::status>("status", "How far the port leads to the Pod.",
                        {.choices = "Initializeing|NotReady|Ready|Deleting|Cleaned"}),
      field<&S::uptime_check_status>("uptimeCheckStatus", "State of the dial test."),
  };
  static_assert(covers<PortPoolBindStatus>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortBindingStatus>() {
  using S = PortBindingStatus;
  static constexpr Field f[] = {
      field<&S::status>("status", "Ready when every port leads to the Pod.",
                        {.choices = "NotReady|Ready|Cleaning|Cleaned"}),
      field<&S::update_time>("updateTime", "When it was cleaned.", {.max_len = 64}),
      field<&S::port_pool_bind_status_list>("portPoolBindStatusList", "State of each port.",
                                            {.max_items = kMaxPortBindings}),
      field<&S::port_binding_type>("portBindingType", "Whose ports they are.",
                                   {.choices = "Pod|Node"}),
  };
  static_assert(covers<PortBindingStatus>(f));
  return f;
}

const KindInfo& port_binding_kind() {
  static const KindInfo kind{
      .type = {std::string(kNetworkExtensionGroup), "v1", "portbindings", "PortBinding", true},
      .singular = "portbinding",
      .doc = "The ports that a Pod has, and how far they lead to it.",
      .columns = {{"status", "string", ".status.status"}},
      .spec_fields = fields_of<PortBindingSpec>,
      .status_fields = fields_of<PortBindingStatus>,
  };
  return kind;
}

kube::ObjectKey pool_of(const PortBindingItem& item) {
  return {item.pool_namespace, item.pool_name};
}

model::PortRange ports_of(const PortBindingItem& item) {
  const auto first = static_cast<model::Port>(item.start_port);
  return {first, item.end_port > item.start_port ? static_cast<model::Port>(item.end_port) : first};
}

std::optional<kube::ObjectKey> lock_of(const PortBindingItem& item) {
  const Result<model::Protocol> protocol = parse_pool_protocol(item.protocol);
  if (!protocol || item.load_balancer_ids.empty()) return std::nullopt;
  const Result<model::LoadBalancerRef> first =
      model::parse_load_balancer(item.load_balancer_ids.front(), {});
  if (!first) return std::nullopt;
  return kube::ObjectKey{item.pool_namespace,
                         pool_listener_name(*first, *protocol, ports_of(item))};
}

std::string public_address(const PortBindingItem& item) {
  std::string out;
  const auto add = [&out](const std::string& host) {
    if (host.empty()) return;
    if (!out.empty()) out += ',';
    out += host.find(':') == std::string::npos ? host : "[" + host + "]";
  };
  for (const LoadBalancerBrief& lb : item.pool_item_load_balancers) {
    for (const std::string& ip : lb.ips) add(ip);
    add(lb.dns_name);
  }
  out += fmt::format(":{}", item.start_port);
  if (item.end_port > item.start_port) out += fmt::format("-{}", item.end_port);
  return out;
}

}  // namespace berth::api
