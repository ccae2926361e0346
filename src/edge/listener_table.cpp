#include "edge/listener_table.h"

namespace berth::edge {
namespace {

std::string name_of(const model::PortRange& ports) {
  return ports.size() == 1 ? fmt::format("{}", ports.first)
                           : fmt::format("{}-{}", ports.first, ports.last);
}

Result<> check_target(const model::Target& target, std::uint32_t ports) {
  constexpr std::uint32_t kLastPort = 65'535;
  const Result<SocketAddress> address = SocketAddress::of(target);
  if (!address) return fail(address.error());
  if (target.port == 0 || target.port + ports - 1 > kLastPort)
    return fail(Code::invalid, "target {} does not have {} ports from its own on",
                model::to_string(target), ports);
  return {};
}

std::set<IpBytes> addresses_led_to(const ForwardSpec& spec) {
  std::set<IpBytes> out;
  const auto add = [&](const std::vector<model::WeightedTarget>& targets) {
    for (const model::WeightedTarget& one : targets)
      if (const Result<SocketAddress> address = SocketAddress::of(one.target))
        out.insert(address->ip());
  };
  add(spec.targets);
  for (const model::Rule& rule : spec.rules) add(rule.targets);
  return out;
}

}  // namespace

Result<ForwardSpec> forward_of(const model::ListenerSpec& wanted) {
  const std::span<const model::Transport> transports = model::transports_of(wanted.protocol);
  const bool site = is_site(wanted.protocol);
  if (!site && wanted.protocol != model::protocol_of(transports.front()))
    return fail(Code::unsupported, "the edge carries TCP, UDP, TLS, HTTP and HTTPS, not {}",
                model::to_string(wanted.protocol));
  ForwardSpec out{.protocol = wanted.protocol,
                  .transport = transports.front(),
                  .ports = wanted.ports,
                  .name = wanted.name,
                  .whole = wanted.attributes};
  if (model::is_layer7(wanted.protocol)) return out;
  if (wanted.rules.size() > 1)
    return fail(Code::unsupported, "a listener of {} has no rules by domain and path",
                model::to_string(wanted.protocol));
  if (!wanted.rules.empty()) out.attributes = wanted.rules.front().attributes;
  if (site) out.rules.push_back({.attributes = std::exchange(out.attributes, {})});
  return out;
}

model::ListenerSpec listener_of(const ForwardSpec& spec) {
  if (is_site(spec.protocol))
    return {.protocol = spec.protocol,
            .ports = spec.ports,
            .name = spec.name,
            .attributes = spec.whole,
            .rules = spec.rules};
  model::ListenerSpec out = model::plain_listener(model::protocol_of(spec.transport), spec.ports,
                                                  spec.name, spec.targets, spec.attributes);
  out.attributes = spec.whole;
  return out;
}

// The ports of a place are disjoint: the first one that ends late enough decides.
auto ListenerTable::overlapping(const IpBytes& ip, model::Transport transport,
                                const model::PortRange& ports) const -> Places::const_iterator {
  const auto next = places_.lower_bound({ip, transport, ports.first});
  const bool found = next != places_.end() && next->first.ip == ip &&
                     next->first.transport == transport && next->second.first <= ports.last;
  return found ? next : places_.end();
}

const ListenerRecord* ListenerTable::at(const IpBytes& ip, model::Transport transport,
                                        const model::PortRange& ports) const {
  const auto found = overlapping(ip, transport, ports);
  return found == places_.end() ? nullptr : found->second.record;
}

Result<ListenerRecord*> ListenerTable::holder(const model::LoadBalancerRef& lb,
                                              const ForwardSpec& spec,
                                              const std::vector<SocketAddress>& vips) {
  for (const SocketAddress& vip : vips) {
    for (const model::PortRange& piece : low_ports_.opened_at(spec.ports)) {
      const auto next = overlapping(vip.ip(), spec.transport, piece);
      if (next == places_.end()) continue;
      ListenerRecord& taken = *next->second.record;
      if (taken.lb == lb && taken.spec.ports == spec.ports && taken.spec.name == spec.name &&
          taken.spec.protocol == spec.protocol)
        return &taken;
      return fail(error_of(Code::already_exists, "{} {} of {} is taken by listener '{}' on {} {}",
                           model::to_string(spec.transport), name_of(spec.ports),
                           vip.to_target().ip, taken.spec.name, model::to_string(taken.lb),
                           name_of(taken.spec.ports))
                      .about("load balancer " + model::to_string(lb)));
    }
  }
  return nullptr;
}

Result<> ListenerTable::add(ListenerRecord record) {
  auto& mine = by_lb_[record.lb];
  if (mine.size() >= quota_) {
    return fail(error_of(Code::exhausted, "it has all the {} listeners that it may have", quota_)
                    .about("load balancer " + model::to_string(record.lb)));
  }
  auto owned = std::make_unique<ListenerRecord>(std::move(record));
  for (const SocketAddress& vip : owned->vips)
    for (const model::PortRange& piece : low_ports_.opened_at(owned->spec.ports))
      places_[{vip.ip(), owned->spec.transport, piece.last}] = {piece.first, owned.get()};
  mine.emplace(owned->id, std::move(owned));
  return {};
}

void ListenerTable::index_targets(ListenerRecord& record) {
  for (const IpBytes& ip : addresses_led_to(record.spec)) by_target_.insert({ip, &record});
}

void ListenerTable::unindex_targets(ListenerRecord& record) {
  for (const IpBytes& ip : addresses_led_to(record.spec)) by_target_.erase({ip, &record});
}

void ListenerTable::set_targets(ListenerRecord& record,
                                std::vector<model::WeightedTarget> targets) {
  unindex_targets(record);
  record.spec.targets = std::move(targets);
  index_targets(record);
}

void ListenerTable::set_rules(ListenerRecord& record, std::vector<model::Rule> rules) {
  unindex_targets(record);
  record.spec.rules = std::move(rules);
  index_targets(record);
}

std::vector<ListenerRecord*> ListenerTable::leading_to(
    const std::vector<SocketAddress>& addresses) const {
  std::vector<ListenerRecord*> out;
  for (const SocketAddress& address : addresses) {
    const IpBytes ip = address.ip();
    for (auto it = by_target_.lower_bound({ip, nullptr}); it != by_target_.end() && it->first == ip;
         ++it)
      out.push_back(it->second);
  }
  return out;
}

void ListenerTable::remove(ListenerRecord& record) {
  unindex_targets(record);
  for (const SocketAddress& vip : record.vips)
    for (const model::PortRange& piece : low_ports_.opened_at(record.spec.ports))
      places_.erase({vip.ip(), record.spec.transport, piece.last});
  const auto it = by_lb_.find(record.lb);
  it->second.erase(model::ListenerId(record.id));
  if (it->second.empty()) by_lb_.erase(it);
}

ListenerRecord* ListenerTable::find(const model::LoadBalancerRef& lb, const model::ListenerId& id) {
  const auto mine = by_lb_.find(lb);
  if (mine == by_lb_.end()) return nullptr;
  const auto it = mine->second.find(id);
  return it == mine->second.end() ? nullptr : it->second.get();
}

std::vector<const ListenerRecord*> ListenerTable::of(const model::LoadBalancerRef& lb) const {
  std::vector<const ListenerRecord*> out;
  const auto mine = by_lb_.find(lb);
  if (mine == by_lb_.end()) return out;
  for (const auto& [id, record] : mine->second) out.push_back(record.get());
  return out;
}

std::vector<const ListenerRecord*> ListenerTable::all() const {
  std::vector<const ListenerRecord*> out;
  for (const auto& [lb, records] : by_lb_)
    for (const auto& [id, record] : records) out.push_back(record.get());
  return out;
}

std::vector<ListenerRecord*> ListenerTable::every() {
  std::vector<ListenerRecord*> out;
  for (const auto& [lb, records] : by_lb_)
    for (const auto& [id, record] : records) out.push_back(record.get());
  return out;
}

Result<> check_ports(const model::PortRange& ports) {
  if (ports.first == 0 || ports.last < ports.first)
    return fail(Code::invalid, "ports {}-{} are no range of ports", ports.first, ports.last);
  return {};
}

Result<std::vector<model::WeightedTarget>> changed_targets(
    const std::vector<model::WeightedTarget>& before, std::uint32_t ports,
    const lb::TargetChange& change) {
  std::map<model::Target, std::uint32_t> weights;
  for (const auto& [target, weight] : before) weights[target] = weight;
  for (const auto& [target, weight] : change.add) {
    if (Result<> good = check_target(target, ports); !good) return pass(good);
    weights[target] = weight;
  }
  for (const model::Target& target : change.remove) weights.erase(target);
  std::vector<model::WeightedTarget> out;
  for (const auto& [target, weight] : weights) out.push_back({target, weight});
  return out;
}

}  // namespace berth::edge
