#include "api/port_pool.h"

#include <algorithm>

namespace berth::api {

template <>
std::span<const Field> fields_of<PortPoolItem>() {
  using I = PortPoolItem;
  static constexpr Field f[] = {
      field<&I::item_name>("itemName", "Name inside the pool.",
                           {.min_len = 1, .max_len = kMaxItemName, .required = true}),
      field<&I::load_balancer_ids>("loadBalancerIDs",
                                   "Load balancers that share the ports: id, region:id, an ARN or "
                                   "edge:name; or the name of one.",
                                   {.max_len = kMaxLoadBalancerId,
                                    .min_items = 1,
                                    .max_items = kMaxLoadBalancersPerItem,
                                    .immutable = true}),
      field<&I::load_balancer_id_alias>("loadBalancerID", "Another spelling of loadBalancerIDs.",
                                        {.max_len = kMaxLoadBalancerId,
                                         .max_items = kMaxLoadBalancersPerItem,
                                         .immutable = true}),
      field<&I::protocol>("protocol",
                          "TCP, UDP or both with a comma; empty for both. TCP_SSL in place of TCP "
                          "for TLS that ends at the load balancer.",
                          {.max_len = 32}),
      field<&I::start_port>("startPort", "First port.",
                            {.min = 1, .max = 65535, .required = true, .immutable = true}),
      field<&I::end_port>("endPort", "The port after the last one; may grow.",
                          {.min = 1, .max = 65535, .required = true}),
      field<&I::segment_length>("segmentLength",
                                "Ports that a Pod gets together; 0 or 1 for one port.",
                                {.min = 0, .max = 65535, .immutable = true}),
      field<&I::external>("external", "Text that is handed on to the Pods.", {.max_len = 4096}),
      field<&I::certificate>("certificate", "Certificate of the listeners, with TCP_SSL."),
      field<&I::uptime_check>("uptimeCheck", "Dial test of the BlueKing monitor, kept as it is."),
  };
  static_assert(covers<PortPoolItem>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolSpec>() {
  using S = PortPoolSpec;
  static constexpr Field f[] = {
      field<&S::allocate_policy>("allocatePolicy",
                                 "How items are chosen: default (in their order) or average (the "
                                 "one with the most free ports).",
                                 {.max_len = 32}),
      field<&S::pool_items>(
          "poolItems", "Ranges of ports.",
          {.max_items = kMaxItemsPerPool, .map_key = "itemName", .required = true}),
      field<&S::listener_attribute>("listenerAttribute", "Attributes of the pool's listeners."),
  };
  static_assert(covers<PortPoolSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolItemStatus>() {
  using S = PortPoolItemStatus;
  static constexpr Field f[] = {
      field<&S::item_name>("itemName", "Name inside the pool.",
                           {.max_len = kMaxItemName, .required = true}),
      field<&S::load_balancer_ids>("loadBalancerIDs",
                                   "As in the spec; of a name, the id that it means.",
                                   {.max_items = kMaxLoadBalancersPerItem}),
      field<&S::start_port>("startPort", "As in the spec.", {.always = true}),
      field<&S::end_port>("endPort", "As in the spec.", {.always = true}),
      field<&S::segment_length>("segmentLength", "As in the spec.", {.always = true}),
      field<&S::pool_item_load_balancers>("poolItemLoadBalancers",
                                          "What is known about the load balancers.",
                                          {.max_items = kMaxLoadBalancersPerItem}),
      field<&S::status>("status", "Ready when every port can be given.",
                        {.choices = "Ready|NotReady|Deleting"}),
      field<&S::message>("message", "Progress, or what is in the way.", {.max_len = 4096}),
      field<&S::protocol>("protocol", "Protocols of the item.", {.max_items = 8}),
      field<&S::external>("external", "As in the spec.", {.max_len = 4096}),
  };
  static_assert(covers<PortPoolItemStatus>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolStatus>() {
  static constexpr Field f[] = {
      field<&PortPoolStatus::status>("status", "Ready when every item is.",
                                     {.choices = "Ready|NotReady"}),
      // Items that are being taken out stay here beside those of the spec until they are gone.
      field<&PortPoolStatus::pool_items>(
          "poolItems", "State of each item.",
          {.max_items = 2 * kMaxItemsPerPool, .map_key = "itemName"}),
  };
  static_assert(covers<PortPoolStatus>(f));
  return f;
}

const KindInfo& port_pool_kind() {
  static const KindInfo kind{
      .type = {std::string(kNetworkExtensionGroup), "v1", "portpools", "PortPool", true},
      .singular = "portpool",
      .doc = "Ranges of ports on load balancers, given to Pods one by one.",
      .columns = {{"status", "string", ".status.status"}},
      .spec_fields = fields_of<PortPoolSpec>,
      .status_fields = fields_of<PortPoolStatus>,
  };
  return kind;
}

void normalise(PortPoolSpec& spec) {
  for (PortPoolItem& item : spec.pool_items) {
    if (item.load_balancer_ids.empty()) {
      item.load_balancer_ids = std::move(item.load_balancer_id_alias);
      item.load_balancer_id_alias.clear();
    } else if (item.load_balancer_ids == item.load_balancer_id_alias) {
      item.load_balancer_id_alias.clear();
    }
  }
}

bool has_addresses(const PortPoolItemStatus& item) {
  return !item.pool_item_load_balancers.empty() &&
         std::ranges::all_of(item.pool_item_load_balancers, [](const LoadBalancerBrief& lb) {
           return !lb.ips.empty() || !lb.dns_name.empty();
         });
}

}  // namespace berth::api
