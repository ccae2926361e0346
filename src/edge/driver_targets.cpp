// Which targets the driver takes in, and which it leaves again because they became places of ours.
#include "base/log.h"
#include "edge/driver.h"

namespace berth::edge {
namespace {

constexpr const char* kAllowed =
    "targets are addresses of Pods and nodes: not loopback, link-local, multicast, unspecified or "
    "broadcast ones, nor places where this load balancer or its controller listens";

// Where a target hears of us: from players, and from questions for its health.
std::vector<model::PortRange> ports_reached(const ForwardSpec& spec, const model::Target& target) {
  const auto last = static_cast<model::Port>(target.port + spec.ports.size() - 1);
  std::vector<model::PortRange> out{{target.port, last}};
  const auto& check = spec.attributes.health_check;
  if (check && check->enabled && check->port != 0) out.push_back({check->port, check->port});
  return out;
}

}  // namespace

// What the place is; nothing when players may be carried there.
std::optional<std::string> EdgeDriver::why_refused(const ForwardSpec& spec,
                                                   const model::Target& target) const {
  const Result<SocketAddress> address = SocketAddress::of(target);
  if (!address) return "no address";
  const IpBytes ip = address->ip();
  const AddressClass address_class = class_of(ip);
  const bool let_in = address_class == AddressClass::loopback && options_.loopback_targets;
  if (address_class != AddressClass::ordinary && !let_in)
    return std::string(edge::to_string(address_class));
  for (const model::PortRange& ports : ports_reached(spec, target)) {
    if (const ListenerRecord* own = table_.at(ip, spec.transport, ports))
      return fmt::format("listener '{}' of load balancer {} itself", own->spec.name,
                         model::to_string(own->lb));
    if (spec.transport != model::Transport::tcp) continue;
    for (const Endpoint& endpoint : own_endpoints_)
      if (meets(endpoint, ip, ports, is_address_of_machine)) return endpoint.what;
  }
  return std::nullopt;
}

Result<> EdgeDriver::check_target(const ListenerRecord& record, const ForwardSpec& spec,
                                  const model::Target& target) const {
  const std::optional<std::string> what = why_refused(spec, target);
  if (!what) return {};
  return fail(error_of(Code::invalid, "listener '{}' may not lead to {}, which is {}", spec.name,
                       model::to_string(target), *what)
                  .about("load balancer " + model::to_string(record.lb))
                  .with_hint(kAllowed));
}

// A health check may have a port of its own.
Result<> EdgeDriver::check_attributes(const ListenerRecord& record,
                                      const model::RuleAttributes& attributes) const {
  ForwardSpec next = record.spec;
  next.attributes = attributes;
  for (const model::WeightedTarget& one : next.targets)
    if (Result<> good = check_target(record, next, one.target); !good) return good;
  return {};
}

std::vector<model::WeightedTarget> EdgeDriver::not_own_places(const ListenerRecord& record,
                                                              const ForwardSpec& spec) const {
  std::vector<model::WeightedTarget> kept;
  for (const model::WeightedTarget& one : spec.targets) {
    const std::optional<std::string> what = why_refused(spec, one.target);
    if (!what) {
      kept.push_back(one);
      continue;
    }
    log_warn("a target is left: it became a place of our own",
             {{"lb", model::to_string(record.lb)},
              {"listener", spec.name},
              {"target", model::to_string(one.target)},
              {"place", *what}});
  }
  return kept;
}

// What leads to it was fine when it was asked for. Whoever compares what is wished with what is
// there finds the target missing, asks again, and is told why.
void EdgeDriver::leave_own_places(std::span<ListenerRecord* const> records) {
  for (ListenerRecord* const record : records) {
    if (is_site(record->spec.protocol)) {
      leave_own_places_in_rules(*record);
      continue;
    }
    std::vector<model::WeightedTarget> kept = not_own_places(*record, record->spec);
    // Fewer targets open nothing, so nothing fails.
    if (kept.size() < record->spec.targets.size()) (void)retarget(*record, std::move(kept));
  }
}

void EdgeDriver::set_own_endpoints(std::vector<Endpoint> endpoints) {
  const MutexLock lock(mu_);
  own_endpoints_ = std::move(endpoints);
  leave_own_places(table_.every());
}

}  // namespace berth::edge
