#include "api/port_pool.h"

#include <algorithm>
#include <set>

#include "api/walkers.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<PortPoolItem>() {
  static constexpr Field f[] = {
      field<&PortPoolItem::item_name>("itemName", "Name inside the pool.",
                                      {.min_len = 1, .max_len = 63, .required = true}),
      field<&PortPoolItem::load_balancer_ids>(
          "loadBalancerIDs", "Load balancers that share the ports.",
          {.min_items = 1, .max_items = 16, .required = true, .immutable = true}),
      field<&PortPoolItem::protocol>("protocol", "TCP, UDP or both with a comma; empty for both.",
                                     {.max_len = 32}),
      field<&PortPoolItem::start_port>(
          "startPort", "First port.",
          {.min = 1, .max = 65535, .required = true, .immutable = true}),
      field<&PortPoolItem::end_port>("endPort", "The port after the last one; may grow.",
                                     {.min = 1, .max = 65535, .required = true}),
      field<&PortPoolItem::external>("external", "Text that is handed on to the Pods.",
                                     {.max_len = 4096}),
  };
  static_assert(covers<PortPoolItem>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolSpec>() {
  static constexpr Field f[] = {
      field<&PortPoolSpec::allocate_policy>(
          "allocatePolicy", "How items are chosen: default or average.", {.max_len = 32}),
      field<&PortPoolSpec::pool_items>(
          "poolItems", "Ranges of ports.",
          {.min_items = 1, .max_items = 64, .map_key = "itemName", .required = true}),
  };
  static_assert(covers<PortPoolSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolItemStatus>() {
  static constexpr Field f[] = {
      field<&PortPoolItemStatus::item_name>("itemName", "Name inside the pool.",
                                            {.max_len = 63, .required = true}),
      field<&PortPoolItemStatus::load_balancer_ids>("loadBalancerIDs", "As in the spec.",
                                                    {.max_items = 16}),
      field<&PortPoolItemStatus::start_port>("startPort", "As in the spec."),
      field<&PortPoolItemStatus::end_port>("endPort", "As in the spec."),
      field<&PortPoolItemStatus::status>("status", "Ready when every port can be given.",
                                         {.choices = "Ready|NotReady|Deleting"}),
      field<&PortPoolItemStatus::message>("message", "Progress, or what is in the way.",
                                          {.max_len = 4096}),
  };
  static_assert(covers<PortPoolItemStatus>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortPoolStatus>() {
  static constexpr Field f[] = {
      field<&PortPoolStatus::status>("status", "Ready when every item is.",
                                     {.choices = "Ready|NotReady"}),
      field<&PortPoolStatus::pool_items>("poolItems", "State of each item.",
                                         {.max_items = 64, .map_key = "itemName"}),
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

model::PortRange ports_of(const PortPoolItem& item) {
  return {static_cast<model::Port>(item.start_port), static_cast<model::Port>(item.end_port - 1)};
}

Result<std::vector<model::Protocol>> protocols_of(const PortPoolItem& item) {
  if (item.protocol.empty()) return std::vector{model::Protocol::tcp, model::Protocol::udp};
  std::set<model::Protocol> found;
  std::string_view rest = item.protocol;
  while (true) {
    const std::size_t comma = rest.find(',');
    Result<model::Protocol> protocol = model::parse_protocol(rest.substr(0, comma));
    if (!protocol) return pass(protocol);
    found.insert(*protocol);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  return std::vector(found.begin(), found.end());
}

namespace {

std::string describe(const PortPool& pool) { return "PortPool " + pool.meta.key().to_string(); }

Failure refuse(const PortPool& pool, const Breach& breach) {
  return fail(error_of(Code::invalid, "{}", breach.message).about(describe(pool)).at(breach.path));
}

std::optional<Breach> check_item(const PortPoolItem& item, const std::string& path) {
  if (item.end_port <= item.start_port) {
    return Breach{path + ".endPort",
                  fmt::format("{} is not above startPort {} (the range is [startPort, endPort))",
                              item.end_port, item.start_port)};
  }
  if (const auto protocols = protocols_of(item); !protocols) {
    return Breach{path + ".protocol", protocols.error().message};
  }
  return std::nullopt;
}

bool share_a_load_balancer(const PortPoolItem& a, const PortPoolItem& b) {
  return std::ranges::find_first_of(a.load_balancer_ids, b.load_balancer_ids) !=
         a.load_balancer_ids.end();
}

std::optional<Breach> check_pair(const std::vector<PortPoolItem>& items, std::size_t i,
                                 std::size_t j) {
  const std::string path = fmt::format("spec.poolItems[{}]", j);
  if (items[i].item_name == items[j].item_name) {
    return Breach{path + ".itemName",
                  fmt::format("'{}' is the name of poolItems[{}] too", items[j].item_name, i)};
  }
  if (share_a_load_balancer(items[i], items[j]) &&
      ports_of(items[i]).overlaps(ports_of(items[j]))) {
    return Breach{path + ".startPort",
                  fmt::format("ports {}-{} overlap those of item '{}' on the same load balancer",
                              items[j].start_port, items[j].end_port - 1, items[i].item_name)};
  }
  return std::nullopt;
}

}  // namespace

Result<> validate(const PortPool& pool) {
  if (const auto breaches = check(pool.spec, "spec"); !breaches.empty())
    return refuse(pool, breaches.front());
  const auto& items = pool.spec.pool_items;
  for (std::size_t j = 0; j < items.size(); ++j) {
    if (const auto breach = check_item(items[j], fmt::format("spec.poolItems[{}]", j)))
      return refuse(pool, *breach);
    for (std::size_t i = 0; i < j; ++i) {
      if (const auto breach = check_pair(items, i, j)) return refuse(pool, *breach);
    }
  }
  return {};
}

Result<> validate_update(const PortPool& before, const PortPool& after) {
  if (Result<> valid = validate(after); !valid) return valid;
  if (const auto breaches = check_update(before.spec, after.spec, "spec"); !breaches.empty()) {
    return refuse(after, breaches.front());
  }
  for (std::size_t i = 0; i < after.spec.pool_items.size(); ++i) {
    const PortPoolItem& item = after.spec.pool_items[i];
    const auto former =
        std::ranges::find(before.spec.pool_items, item.item_name, &PortPoolItem::item_name);
    if (former != before.spec.pool_items.end() && item.end_port < former->end_port) {
      return refuse(after, {fmt::format("spec.poolItems[{}].endPort", i),
                            fmt::format("{} is below the present {}: a range may only grow",
                                        item.end_port, former->end_port)});
    }
  }
  return {};
}

}  // namespace berth::api
