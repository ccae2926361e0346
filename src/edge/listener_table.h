// What the driver knows of its listeners: which there are, and who has which port of which address.
// Pure bookkeeping; the driver holds its lock around every call.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "edge/address_plan.h"
#include "edge/listener.h"
#include "edge/site_part.h"
#include "lb/driver.h"

namespace berth::edge {

// A listener as it is carried. One of TCP or UDP has one rule; any other is a site, which HAProxy
// carries (sites.h).
struct ForwardSpec {
  model::Protocol protocol = model::Protocol::tcp;
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
  std::string name{};
  model::ListenerAttributes whole{};  // kept, and of no use but to sites
  model::RuleAttributes attributes{};
  std::vector<model::WeightedTarget> targets{};  // sorted
  std::vector<model::Rule> rules{};  // of a site, in place of the two before; sorted by key
};
inline bool is_site(model::Protocol protocol) {
  return protocol == model::Protocol::tls || model::is_layer7(protocol);
}
// Without targets, and of layer 7 without rules. `unsupported`: it speaks something else.
Result<ForwardSpec> forward_of(const model::ListenerSpec& wanted);
model::ListenerSpec listener_of(const ForwardSpec& spec);
// Its targets are asked for their health.
inline bool is_checked(const ForwardSpec& spec) {
  return spec.attributes.health_check && spec.attributes.health_check->enabled;
}

struct ListenerRecord {
  model::LoadBalancerRef lb{};
  model::ListenerId id{};
  ForwardSpec spec{};
  std::vector<SocketAddress> vips{};
  ListenerPtr listener{};  // none of a site
  bool open = false;       // its sockets are
  SitePart site{};
};

class ListenerTable {
 public:
  ListenerTable(LowPorts low_ports, std::uint32_t quota) : low_ports_(low_ports), quota_(quota) {}

  // The listener that has this name and these ports already; `already_exists` when another one has
  // one of the ports, on this load balancer or on another that shares an address with it.
  // Nothing: the place is free.
  Result<ListenerRecord*> holder(const model::LoadBalancerRef& lb, const ForwardSpec& spec,
                                 const std::vector<SocketAddress>& vips);
  // For a place that is free. `exhausted`: the load balancer is full.
  Result<> add(ListenerRecord record);
  void remove(ListenerRecord& record);
  void set_targets(ListenerRecord& record, std::vector<model::WeightedTarget> targets);
  void set_rules(ListenerRecord& record, std::vector<model::Rule> rules);

  // Nothing when the load balancer has no such listener.
  ListenerRecord* find(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  std::vector<const ListenerRecord*> of(const model::LoadBalancerRef& lb) const;
  std::vector<const ListenerRecord*> all() const;
  std::vector<ListenerRecord*> every();
  // One that has one of these ports, as they are opened; nothing when nobody does.
  const ListenerRecord* at(const IpBytes& ip, model::Transport transport,
                           const model::PortRange& ports) const;
  // Those with a target on one of these addresses.
  std::vector<ListenerRecord*> leading_to(const std::vector<SocketAddress>& addresses) const;

 private:
  // Where sockets are opened; ordered so that neighbours are neighbours.
  struct Place {
    IpBytes ip{};
    model::Transport transport = model::Transport::tcp;
    model::Port last = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Holding {
    model::Port first = 0;
    ListenerRecord* record = nullptr;
  };

  using Places = std::map<Place, Holding>;
  void index_targets(ListenerRecord& record);
  void unindex_targets(ListenerRecord& record);
  Places::const_iterator overlapping(const IpBytes& ip, model::Transport transport,
                                     const model::PortRange& ports) const;

  const LowPorts low_ports_;
  const std::uint32_t quota_;
  std::map<model::LoadBalancerRef, std::map<model::ListenerId, std::unique_ptr<ListenerRecord>>>
      by_lb_;
  Places places_;
  std::set<std::pair<IpBytes, ListenerRecord*>> by_target_;  // by the addresses of its targets
};

// `invalid`: no such ports.
Result<> check_ports(const model::PortRange& ports);
// What the targets are after the change, sorted. `invalid`: a target is not an address, or has not
// enough ports above its own for the listener's range.
Result<std::vector<model::WeightedTarget>> changed_targets(
    const std::vector<model::WeightedTarget>& before, std::uint32_t ports,
    const lb::TargetChange& change);

}  // namespace berth::edge
