#include "ingress_book.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"

namespace berth::scenario {
namespace {

using wire::Value;

bool selects(const Value& service, const Value& pod) {
  const Value* const selector = wire::find(service, "/spec/selector");
  return selector && std::ranges::all_of(selector->as_object(), [&](const auto& label) {
           return wire::string_at(pod,
                                  "/metadata/labels/" + wire::escape_pointer_step(label.key())) ==
                  label.value().as_string();
         });
}

// Of a Service with numbers for ports, by its Pods' own addresses.
std::set<std::string> targets_of(world::World& world, const api::ServiceRoute& route) {
  std::set<std::string> out;
  const auto services = world.cluster().server().objects("", "services");
  const auto pods = world.cluster().server().objects("", "pods");
  for (const auto& service : *services) {
    if (wire::string_at(*service, "/metadata/name") != route.service_name ||
        wire::string_at(*service, "/metadata/namespace") != route.service_namespace)
      continue;
    const std::int64_t port = wire::int_at(*service, "/spec/ports/0/targetPort").value_or(0);
    for (const auto& pod : *pods) {
      const std::string_view ip = wire::string_at(*pod, "/status/podIP");
      if (wire::string_at(*pod, "/metadata/namespace") == route.service_namespace && !ip.empty() &&
          selects(*service, *pod))
        out.insert(fmt::format("{}:{}", ip, port));
    }
  }
  return out;
}

model::Transport transport_of(const std::string& protocol) {
  const auto parsed = model::parse_protocol(protocol);
  return parsed ? model::transports_of(*parsed).front() : model::Transport::tcp;
}

std::vector<model::LoadBalancerRef> balancers_of(world::World& world, const api::Ingress& ingress) {
  std::vector<model::LoadBalancerRef> out;
  const auto written = api::load_balancers_of(ingress);
  for (const std::string& text : written ? written->texts : std::vector<std::string>{})
    if (const auto lb = model::parse_load_balancer(text, world.defaults())) out.push_back(*lb);
  return out;
}

std::set<std::string> targets_of(world::World& world, const api::IngressRule& rule) {
  std::set<std::string> out;
  const auto add = [&](const std::vector<api::ServiceRoute>& services) {
    for (const api::ServiceRoute& one : services) out.merge(targets_of(world, one));
  };
  add(rule.services);
  for (const api::Layer7Route& route : rule.layer7_routes) add(route.services);
  return out;
}

std::set<std::string> shown_targets(const lb::ObservedListener& listener) {
  std::set<std::string> out;
  for (const model::WeightedTarget& one : model::targets_of(listener.spec))
    out.insert(model::to_string(one.target));
  return out;
}

std::string shown(const std::set<std::string>& targets) {
  return targets.empty() ? "nowhere" : fmt::format("to {}", fmt::join(targets, ", "));
}

}  // namespace

std::vector<IngressPort> ports_wanted(world::World& world, const api::Ingress& ingress) {
  std::vector<IngressPort> out;
  for (const model::LoadBalancerRef& lb : balancers_of(world, ingress)) {
    for (const api::IngressRule& rule : ingress.spec.rules) {
      const model::Transport transport = transport_of(rule.protocol);
      out.push_back({.place = {lb, transport, static_cast<model::Port>(rule.port)},
                     .part = fmt::format("rule/{}/{}", model::to_string(transport), rule.port),
                     .targets = targets_of(world, rule)});
    }
    for (const api::PortMapping& mapping : ingress.spec.port_mappings) {
      const model::Transport transport = transport_of(mapping.protocol);
      for (std::int64_t i = mapping.start_index; i < mapping.end_index; ++i)
        out.push_back({.place = {lb, transport, api::mapped_ports(mapping, i).listener.first},
                       .part = fmt::format("mapping/{}/{}", model::to_string(transport),
                                           mapping.start_port)});
    }
  }
  return out;
}

std::vector<api::Ingress> ingresses_in(world::World& world) {
  std::vector<api::Ingress> out;
  const auto found = world.cluster().server().objects(api::kNetworkExtensionGroup, "ingresses");
  if (!found) return out;
  for (const auto& one : *found)
    if (Result<api::Ingress> ingress = api::decode_ingress(*one)) out.push_back(*ingress);
  return out;
}

std::set<std::string> targets_at(world::World& world, const Place& place) {
  const auto listener = world.view().find(place.lb, place.protocol, place.port);
  return listener ? shown_targets(*listener) : std::set<std::string>{"no listener"};
}

void IngressBook::guard(const std::string& ns) {
  for (const api::Ingress& ingress : ingresses_in(world_)) {
    if (ingress.meta.ns.view() != ns) continue;
    for (const IngressPort& port : ports_wanted(world_, ingress))
      guarded_[port.place] = port.targets;
  }
}

void IngressBook::see_change(const sim::lb::Change& change) {
  const auto& listener = change.after ? change.after : change.before;
  const Place place = place_of(change.lb, *listener);
  const auto it = guarded_.find(place);
  if (closed_ || it == guarded_.end()) return;
  if (change.after && shown_targets(*change.after) == it->second) return;
  world_.kernel().fail(fmt::format(
      "port {} of an Ingress that nobody touches {}", scenario::shown(place),
      change.after ? "leads " + shown(shown_targets(*change.after)) : "lost its listener"));
}

void IngressBook::check_all() {
  if (closed_) return;
  for (const api::Ingress& ingress : ingresses_in(world_)) {
    const std::vector<IngressPort> ports = ports_wanted(world_, ingress);
    if (is_new(ingress, ports) || trust_.is_in_upheaval() || ingress.meta.deleting ||
        ingress.status.status != api::kReady || is_touched(ingress))
      continue;
    for (const IngressPort& port : ports) {
      if (trust_.is_touched(port.place)) continue;
      const std::set<std::string> there = targets_at(world_, port.place);
      if (there == port.targets) continue;
      world_.kernel().fail(fmt::format("Ingress {} is called Ready, but port {} leads {}",
                                       ingress.meta.key().to_string(), scenario::shown(port.place),
                                       shown(there)));
    }
  }
}

bool IngressBook::is_new(const api::Ingress& ingress, const std::vector<IngressPort>& ports) {
  Wants& known = wants_[ingress.meta.uid];
  const Instant now = world_.kernel().now();
  if (known.ports != ports) known = {ports, now};
  return now - known.since < kNewWants;
}

bool IngressBook::is_touched(const api::Ingress& ingress) const {
  const std::string ns(ingress.meta.ns.view());
  if (trust_.is_touched("Namespace", ns, ns) || trust_.is_touched("Ingress", ns, ingress.meta.name))
    return true;
  std::set<std::string> names;
  for (const model::LoadBalancerRef& lb : balancers_of(world_, ingress)) {
    for (const auto manner : {api::ListenerNames::plain, api::ListenerNames::with_protocol}) {
      for (const api::IngressRule& rule : ingress.spec.rules)
        names.insert(api::rule_listener_name(lb, rule, manner));
      for (const api::PortMapping& mapping : ingress.spec.port_mappings)
        for (std::int64_t i = mapping.start_index; i < mapping.end_index; ++i)
          names.insert(api::mapping_listener_name(lb, mapping,
                                                  api::mapped_ports(mapping, i).listener, manner));
    }
  }
  // Where another has the name, it has a suffix.
  const auto listeners =
      world_.cluster().server().objects(api::kNetworkExtensionGroup, "listeners");
  if (!listeners) return true;
  for (const auto& one : *listeners)
    if (wire::string_at(*one, "/metadata/ownerReferences/0/uid") == ingress.meta.uid)
      names.emplace(wire::string_at(*one, "/metadata/name"));
  return std::ranges::any_of(
      names, [&](const std::string& name) { return trust_.is_touched("Listener", ns, name); });
}

}  // namespace berth::scenario
