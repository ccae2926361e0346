// PortPool: ranges of ports on load balancers, given to Pods one by one. As users of
// bcs-ingress-controller have it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/kind.h"
#include "api/listener_parts.h"
#include "model/load_balancer.h"
#include "model/load_balancer_name.h"
#include "model/port.h"

namespace berth::api {

struct PortPoolItem {
  std::string item_name{};
  std::vector<std::string> load_balancer_ids{};
  // Another spelling of `loadBalancerIDs` that users' YAML has. Empty once an object was decoded,
  // unless both were given and differ.
  std::vector<std::string> load_balancer_id_alias{};
  std::string protocol{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;
  std::int64_t segment_length = 0;
  std::string external{};
  Boxed<ListenerCertificate> certificate{};
  Json uptime_check{};
};

struct PortPoolSpec {
  std::string allocate_policy{};
  std::vector<PortPoolItem> pool_items{};
  Boxed<ListenerAttribute> listener_attribute{};
};

struct PortPoolItemStatus {
  std::string item_name{};
  std::vector<std::string> load_balancer_ids{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;
  std::int64_t segment_length = 0;
  std::vector<LoadBalancerBrief> pool_item_load_balancers{};
  std::string status{};
  std::string message{};
  std::vector<std::string> protocol{};
  std::string external{};
};

struct PortPoolStatus {
  std::string status{};
  std::vector<PortPoolItemStatus> pool_items{};
};

struct PortPool {
  kube::ObjectMeta meta;
  PortPoolSpec spec;
  PortPoolStatus status;
};

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<PortPoolItem>();
template <>
std::span<const Field> fields_of<PortPoolSpec>();
template <>
std::span<const Field> fields_of<PortPoolItemStatus>();
template <>
std::span<const Field> fields_of<PortPoolStatus>();

const KindInfo& port_pool_kind();

// How items are chosen; any other text means the first, as it does upstream.
inline constexpr std::string_view kDefaultPolicy = "default";
inline constexpr std::string_view kAveragePolicy = "average";

// An item that is being taken out of its pool.
inline constexpr std::string_view kDeleting = "Deleting";

// Listeners are created one by one, and one item is one page of work.
inline constexpr std::int64_t kMaxSlotsPerItem = 4000;
inline constexpr std::size_t kMaxItemsPerPool = 64;
inline constexpr std::size_t kMaxItemName = 128;

// What decoding does: the alias becomes `load_balancer_ids`.
void normalise(PortPoolSpec& spec);

// The ports of an item, a remainder that is shorter than a segment included; its protocols, TCP and
// UDP when none are named. TCP and TCP_SSL share no port, and so no item.
model::PortRange ports_of(const PortPoolItem& item);
Result<std::vector<model::Protocol>> protocols_of(const PortPoolItem& item);
// How many slots an item has, and the ports of one. A remainder is not used.
std::int64_t slot_count(const PortPoolItem& item);
model::PortRange slot_ports(const PortPoolItem& item, std::int64_t slot);
Result<std::vector<model::LoadBalancerRef>> load_balancers_of(
    const PortPoolItem& item, const model::LoadBalancerDefaults& defaults);

// What the schema cannot say: ranges that are upside down, names and ranges that repeat. Errors
// name the object, the field, what was found and what is allowed. `reading_of` says what the texts
// of an item are read by.
using ReadingOf = std::function<model::Reading(const PortPoolItem& item)>;
ReadingOf by_defaults(model::LoadBalancerDefaults defaults = {});  // of items that stand nowhere
Result<> validate(const PortPool& pool, const ReadingOf& reading_of = by_defaults());
// What only whoever knows the load balancer can say: some have no segments. `type` is "OPEN" or
// "INTERNAL", empty where it is not known.
Result<> validate_segments(const PortPool& pool, std::size_t item, const model::LoadBalancerRef& lb,
                           std::string_view type);
// What may not change, and ranges that may only grow.
Result<> validate_update(const PortPool& before, const PortPool& after,
                         const ReadingOf& reading_of = by_defaults());
// What is taken as it was written and does nothing, or something else than one might think: one
// sentence for each, with object and field.
std::vector<std::string> warnings_about(const PortPool& pool);

// Each of the item's load balancers has an address that can be told.
bool has_addresses(const PortPoolItemStatus& item);

}  // namespace berth::api
