// What a PortPool means and which ones are refused: the part of port_pool.h beside its tables.
#include <algorithm>
#include <map>

#include "api/keys.h"
#include "api/listener_rules.h"
#include "api/port_pool.h"
#include "base/text.h"

namespace berth::api {
namespace {

using model::LoadBalancerDefaults;
using model::LoadBalancerRef;

std::int64_t step_of(const PortPoolItem& item) {
  return std::max<std::int64_t>(item.segment_length, 1);
}

Failure refuse(const PortPool& pool, const Breach& breach) {
  return fail(error_of(Code::invalid, "{}", breach.message)
                  .about("PortPool " + pool.meta.key().to_string())
                  .at(breach.path));
}

// An item with what its texts mean.
struct ReadItem {
  const PortPoolItem* item = nullptr;
  std::vector<LoadBalancerRef> load_balancers{};
  std::vector<model::Protocol> protocols{};
};

// Listeners say in a label whose they are, and a label has so much room.
std::optional<Breach> check_name(const std::string& name) {
  if (name.size() <= kMaxLabelText) return std::nullopt;
  return Breach{"metadata.name", fmt::format("'{}' has {} characters, at most {} are allowed", name,
                                             name.size(), kMaxLabelText)};
}

std::optional<Breach> check_ids(const PortPoolItem& item, const std::string& path) {
  if (item.load_balancer_ids.empty()) {
    return Breach{path + ".loadBalancerIDs",
                  "is required: name at least one load balancer, for example [\"lb-1\"]"};
  }
  if (!item.load_balancer_id_alias.empty()) {
    return Breach{
        path + ".loadBalancerID",
        "differs from loadBalancerIDs, of which it is another spelling: give one of them"};
  }
  return std::nullopt;
}

std::optional<Breach> check_range(const PortPoolItem& item, const std::string& path) {
  if (item.end_port <= item.start_port) {
    return Breach{path + ".endPort",
                  fmt::format("{} is not above startPort {} (the range is [startPort, endPort))",
                              item.end_port, item.start_port)};
  }
  if (slot_count(item) == 0) {
    return Breach{path + ".segmentLength",
                  fmt::format("{} is more than the {} ports of [{}, {})", item.segment_length,
                              item.end_port - item.start_port, item.start_port, item.end_port)};
  }
  if (slot_count(item) > kMaxSlotsPerItem) {
    return Breach{path + ".endPort",
                  fmt::format("[{}, {}) makes {} ports or segments, at most {} are allowed in one "
                              "item: add another item",
                              item.start_port, item.end_port, slot_count(item), kMaxSlotsPerItem)};
  }
  return std::nullopt;
}

bool is_tls(const ReadItem& read) {
  return std::ranges::find(read.protocols, model::Protocol::tls) != read.protocols.end();
}

// What TLS needs. A certificate that nobody shows is warned about, and may be anything.
std::optional<Breach> check_tls(const ReadItem& read, const std::string& path) {
  const PortPoolItem& item = *read.item;
  const std::string certificate = path + ".certificate";
  if (!is_tls(read)) return std::nullopt;
  if (auto breach = check_certificate(item.certificate, certificate)) return breach;
  if (item.segment_length > 1) {
    return Breach{path + ".segmentLength",
                  fmt::format("{} with protocol {}: segments are for TCP and UDP",
                              item.segment_length, kTlsProtocol)};
  }
  return check_has_certificate(item.certificate, model::Protocol::tls, kTlsProtocol, certificate);
}

// What the load balancer's provider cannot do.
std::optional<Breach> check_provider(const ReadItem& read, const std::string& text,
                                     const LoadBalancerRef& ref, const std::string& path) {
  const PortPoolItem& item = *read.item;
  const model::ProviderTraits& provider = model::traits_of(ref.provider);
  if (!provider.abilities.has_both_protocols && read.protocols.size() != 1) {
    return Breach{
        path + ".protocol",
        fmt::format("'{}' with an {} load balancer ('{}'), which has one protocol per "
                    "port: write TCP or UDP",
                    item.protocol.empty() ? "TCP,UDP" : item.protocol, provider.title, text)};
  }
  for (const model::Protocol protocol : read.protocols) {
    if (provider.abilities.protocols.has(protocol)) continue;
    return Breach{path + ".protocol",
                  fmt::format("'{}' with {} load balancers ('{}'), which do not speak {}",
                              item.protocol, provider.title, text, pool_protocol_text(protocol))};
  }
  if (!provider.abilities.has_ranges && item.segment_length > 1) {
    return Breach{path + ".segmentLength",
                  fmt::format("{} with an {} load balancer ('{}'), whose listeners have one port "
                              "each: leave it out",
                              item.segment_length, provider.title, text)};
  }
  return std::nullopt;
}

std::optional<Breach> check_item(ReadItem& read, const std::string& path,
                                 const model::Reading& reading) {
  const PortPoolItem& item = *read.item;
  if (auto breach = check_ids(item, path)) return breach;
  if (auto breach = check_range(item, path)) return breach;
  Result<std::vector<model::Protocol>> protocols = protocols_of(item);
  if (!protocols) return Breach{path + ".protocol", protocols.error().message};
  read.protocols = std::move(*protocols);
  if (auto breach = check_tls(read, path)) return breach;
  for (std::size_t i = 0; i < item.load_balancer_ids.size(); ++i) {
    const std::string here = fmt::format("{}.loadBalancerIDs[{}]", path, i);
    Result<LoadBalancerRef> ref = reading.read(item.load_balancer_ids[i]);
    if (!ref) {
      const Error& error = ref.error();
      return Breach{here, error.hint.empty() ? error.message : error.message + ": " + error.hint};
    }
    if (std::ranges::find(read.load_balancers, *ref) != read.load_balancers.end())
      return Breach{here, fmt::format("'{}' is named twice", item.load_balancer_ids[i])};
    const auto namesake = std::ranges::find_if(
        read.load_balancers,
        [&](const LoadBalancerRef& other) { return share_names(other, *ref); });
    if (namesake != read.load_balancers.end()) {
      return Breach{here, shared_names(*namesake, *ref) +
                              ": name the second one in a pool of another namespace"};
    }
    if (auto breach = check_provider(read, item.load_balancer_ids[i], *ref, path)) return breach;
    read.load_balancers.push_back(std::move(*ref));
  }
  return std::nullopt;
}

std::optional<Breach> check_names_of_pair(const ReadItem& a, const ReadItem& b,
                                          const std::string& path) {
  for (const LoadBalancerRef& one : a.load_balancers) {
    for (std::size_t k = 0; k < b.load_balancers.size(); ++k) {
      if (!share_names(one, b.load_balancers[k])) continue;
      return Breach{fmt::format("{}.loadBalancerIDs[{}]", path, k),
                    fmt::format("{}, and ports {}-{} overlap those of item '{}' ({}-{}): give the "
                                "items different ports, or write a pool in another namespace",
                                shared_names(one, b.load_balancers[k]), b.item->start_port,
                                b.item->end_port - 1, a.item->item_name, a.item->start_port,
                                a.item->end_port - 1)};
    }
  }
  return std::nullopt;
}

std::optional<Breach> check_pair(const ReadItem& a, std::size_t i, const ReadItem& b,
                                 std::size_t j) {
  const std::string path = fmt::format("spec.poolItems[{}]", j);
  if (a.item->item_name == b.item->item_name) {
    return Breach{path + ".itemName",
                  fmt::format("'{}' is the name of poolItems[{}] too", b.item->item_name, i)};
  }
  if (!ports_of(*a.item).overlaps(ports_of(*b.item))) return std::nullopt;
  const auto protocol =
      std::ranges::find_first_of(a.protocols, b.protocols, {}, pool_transport, pool_transport);
  const auto shared = std::ranges::find_first_of(a.load_balancers, b.load_balancers);
  if (protocol == a.protocols.end()) return std::nullopt;
  if (shared == a.load_balancers.end()) return check_names_of_pair(a, b, path);
  return Breach{path + ".startPort",
                fmt::format("{} ports {}-{} overlap those of item '{}' ({}-{}) on load balancer {}",
                            model::to_string(pool_transport(*protocol)), b.item->start_port,
                            b.item->end_port - 1, a.item->item_name, a.item->start_port,
                            a.item->end_port - 1, model::to_string(*shared))};
}

// What the pool asks of all listeners, at each provider of this item's.
std::optional<Breach> check_attribute_for(const PortPool& pool, const ReadItem& read) {
  if (!pool.spec.listener_attribute) return std::nullopt;
  if (auto breach =
          check_policy(*pool.spec.listener_attribute, /*layer7=*/false, "spec.listenerAttribute"))
    return breach;
  for (const LoadBalancerRef& ref : read.load_balancers) {
    if (auto breach = check_attribute(*pool.spec.listener_attribute, /*layer7=*/false,
                                      model::traits_of(ref.provider), "spec.listenerAttribute"))
      return breach;
  }
  return std::nullopt;
}

// An item may get more ports and another protocol, and loses neither: Pods may have them.
std::optional<Breach> check_growth(const PortPoolItem& before, const PortPoolItem& after,
                                   const std::string& path) {
  if (after.end_port < before.end_port) {
    return Breach{path + ".endPort",
                  fmt::format("{} is below the present {}: a range may only grow", after.end_port,
                              before.end_port)};
  }
  const auto had = protocols_of(before);
  const auto has = protocols_of(after);
  for (const model::Protocol protocol : had ? *had : std::vector<model::Protocol>{}) {
    if (!has || std::ranges::find(*has, protocol) != has->end()) continue;
    return Breach{
        path + ".protocol",
        fmt::format("'{}' leaves out {}, which the item has: protocols may only be added; "
                    "add another item",
                    after.protocol, pool_protocol_text(protocol))};
  }
  return std::nullopt;
}

}  // namespace

model::PortRange ports_of(const PortPoolItem& item) {
  return {static_cast<model::Port>(item.start_port), static_cast<model::Port>(item.end_port - 1)};
}

Result<std::vector<model::Protocol>> protocols_of(const PortPoolItem& item) {
  if (trimmed(item.protocol).empty())
    return std::vector{model::Protocol::tcp, model::Protocol::udp};
  std::map<model::Transport, model::Protocol> found;
  std::string_view rest = item.protocol;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = trimmed(rest.substr(0, comma));
    if (word == "TCP_UDP")
      return fail(Code::invalid, "'{}': for both protocols write TCP,UDP, or leave it out", word);
    const Result<model::Protocol> protocol = parse_pool_protocol(word);
    if (!protocol) return fail(protocol.error());
    const auto [first, is_new] = found.emplace(pool_transport(*protocol), *protocol);
    if (!is_new && first->second != *protocol) {
      return fail(Code::invalid,
                  "'{}': a port speaks TCP or {}, which is TCP too: write another item for the "
                  "other, with other ports",
                  item.protocol, kTlsProtocol);
    }
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  std::vector<model::Protocol> out;
  for (const auto& [transport, protocol] : found) out.push_back(protocol);
  return out;
}

std::int64_t slot_count(const PortPoolItem& item) {
  return std::max<std::int64_t>(item.end_port - item.start_port, 0) / step_of(item);
}

model::PortRange slot_ports(const PortPoolItem& item, std::int64_t slot) {
  const std::int64_t first = item.start_port + slot * step_of(item);
  return {static_cast<model::Port>(first), static_cast<model::Port>(first + step_of(item) - 1)};
}

Result<std::vector<LoadBalancerRef>> load_balancers_of(const PortPoolItem& item,
                                                       const LoadBalancerDefaults& defaults) {
  std::vector<LoadBalancerRef> out;
  for (const std::string& id : item.load_balancer_ids) {
    Result<LoadBalancerRef> ref = model::parse_load_balancer(id, defaults);
    if (!ref) return pass(ref);
    out.push_back(std::move(*ref));
  }
  return out;
}

ReadingOf by_defaults(LoadBalancerDefaults defaults) {
  return [reading = model::Reading{std::move(defaults)}](const PortPoolItem&) { return reading; };
}

Result<> validate(const PortPool& pool, const ReadingOf& reading_of) {
  if (const auto breach = check_name(pool.meta.name)) return refuse(pool, *breach);
  if (const auto breaches = check(pool.spec, "spec"); !breaches.empty())
    return refuse(pool, breaches.front());
  std::vector<ReadItem> items;
  for (const PortPoolItem& item : pool.spec.pool_items) {
    const std::size_t j = items.size();
    ReadItem read{.item = &item};
    if (const auto breach =
            check_item(read, fmt::format("spec.poolItems[{}]", j), reading_of(item)))
      return refuse(pool, *breach);
    if (const auto breach = check_attribute_for(pool, read)) return refuse(pool, *breach);
    for (std::size_t i = 0; i < j; ++i) {
      if (const auto breach = check_pair(items[i], i, read, j)) return refuse(pool, *breach);
    }
    items.push_back(std::move(read));
  }
  return {};
}

Result<> validate_segments(const PortPool& pool, std::size_t item, const LoadBalancerRef& lb,
                           std::string_view type) {
  if (pool.spec.pool_items[item].segment_length <= 1) return {};
  const auto breach =
      check_segments(lb, type, fmt::format("spec.poolItems[{}].segmentLength", item));
  if (breach) return refuse(pool, *breach);
  return {};
}

Result<> validate_update(const PortPool& before, const PortPool& after,
                         const ReadingOf& reading_of) {
  if (Result<> valid = validate(after, reading_of); !valid) return valid;
  if (const auto breaches = check_update(before.spec, after.spec, "spec"); !breaches.empty()) {
    return refuse(after, breaches.front());
  }
  for (std::size_t i = 0; i < after.spec.pool_items.size(); ++i) {
    const PortPoolItem& item = after.spec.pool_items[i];
    const auto former =
        std::ranges::find(before.spec.pool_items, item.item_name, &PortPoolItem::item_name);
    if (former == before.spec.pool_items.end()) continue;
    if (const auto breach = check_growth(*former, item, fmt::format("spec.poolItems[{}]", i)))
      return refuse(after, *breach);
  }
  return {};
}

}  // namespace berth::api
