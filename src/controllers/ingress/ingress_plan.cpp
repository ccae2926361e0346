#include "controllers/ingress/ingress_plan.h"

#include <algorithm>

#include "api/keys.h"
#include "claims/slot.h"
#include "frontend/balancers.h"
#include "model/load_balancer_name.h"
#include "model/protocol.h"

namespace berth::controllers::ingress {
namespace {

using frontend::Labels;
using frontend::WantedGrant;
using frontend::WantedListener;
using frontend::WantedPart;

model::Protocol protocol_of(const std::string& text) {
  return model::parse_protocol(text).value_or(model::Protocol::tcp);
}
model::Transport transport_of(const std::string& protocol) {
  return model::transports_of(protocol_of(protocol)).front();
}

std::string rule_part(const api::IngressRule& rule) {
  return fmt::format("rule/{}/{}", model::to_string(transport_of(rule.protocol)), rule.port);
}
std::string mapping_part(const api::PortMapping& mapping) {
  return fmt::format("mapping/{}/{}", model::to_string(transport_of(mapping.protocol)),
                     mapping.start_port);
}

// The ports of all Pods that it is for.
model::PortRange all_ports(const api::PortMapping& mapping) {
  return {api::mapped_ports(mapping, mapping.start_index).listener.first,
          api::mapped_ports(mapping, mapping.end_index - 1).listener.last};
}

Boxed<api::ListenerTargetGroup> group_of(std::string protocol,
                                         std::vector<api::ListenerBackend> backends) {
  if (backends.empty()) return {};
  return api::ListenerTargetGroup{.protocol = std::move(protocol), .backends = std::move(backends)};
}

// How targets are spoken to holds also while there are none: the rule is made once, as it stays.
Boxed<api::ListenerTargetGroup> group_of(const api::Layer7Route& route, std::string_view protocol,
                                         std::vector<api::ListenerBackend> backends) {
  if (route.forward_type.empty()) return group_of(std::string(protocol), std::move(backends));
  return api::ListenerTargetGroup{.protocol = route.forward_type, .backends = std::move(backends)};
}

// Of a listener of layer 7, only what is not of its rules.
Boxed<api::ListenerAttribute> listener_part(const Boxed<api::ListenerAttribute>& written) {
  if (!written) return {};
  return api::ListenerAttribute{.sni_switch = written->sni_switch,
                                .keep_alive_enable = written->keep_alive_enable,
                                .uptime_check = written->uptime_check};
}

void sort(std::vector<api::ListenerRule>& rules) {
  std::ranges::sort(rules, {}, [](const api::ListenerRule& rule) {
    return std::pair<std::string_view, std::string_view>(rule.domain, rule.path);
  });
}

std::vector<api::ListenerRule> rules_of(const api::IngressRule& rule, const RouteContext& at,
                                        const Sight& sight, Notes& notes) {
  std::vector<api::ListenerRule> out;
  for (std::size_t i = 0; i < rule.layer7_routes.size(); ++i) {
    const api::Layer7Route& route = rule.layer7_routes[i];
    RouteContext own = at;
    own.field = fmt::format("{}.layer7Routes[{}]", at.field, i);
    out.push_back({.domain = route.domain,
                   .path = route.path,
                   .certificate = route.certificate,
                   .listener_attribute = route.listener_attribute,
                   .target_group = group_of(route, rule.protocol,
                                            backends_of(route.services, own, sight, notes))});
  }
  sort(out);
  return out;
}

api::ListenerSpec spec_of(const api::Ingress& ingress, std::size_t index, const Sight& sight,
                          Notes& notes) {
  const api::IngressRule& rule = ingress.spec.rules[index];
  const RouteContext at{.ns = ingress.meta.ns.view(),
                        .field = fmt::format("spec.rules[{}]", index),
                        .transport = transport_of(rule.protocol)};
  api::ListenerSpec spec{.port = rule.port,
                         .protocol = rule.protocol,
                         .listener_attribute = rule.listener_attribute,
                         .certificate = rule.certificate};
  if (api::is_layer7(rule.protocol)) {
    spec.listener_attribute = listener_part(rule.listener_attribute);
    spec.rules = rules_of(rule, at, sight, notes);
  } else {
    spec.target_group = group_of(rule.protocol, backends_of(rule.services, at, sight, notes));
  }
  return spec;
}

// Of the Pod with this index: `ports` are its own, or one of them.
api::ListenerSpec mapped_spec(const api::Ingress& ingress, std::size_t which, std::int64_t index,
                              const model::PortRange& ports, const Sight& sight, Notes& notes) {
  const api::PortMapping& mapping = ingress.spec.port_mappings[which];
  const api::MappedPorts mapped = api::mapped_ports(mapping, index);
  const RouteContext at{.ns = ingress.meta.ns.view(),
                        .field = fmt::format("spec.portMappings[{}]", which),
                        .transport = transport_of(mapping.protocol)};
  const auto pod_port =
      static_cast<std::uint16_t>(mapped.pod_port + (ports.first - mapped.listener.first));
  api::ListenerSpec spec{.port = ports.first,
                         .end_port = api::is_segment(mapping) ? ports.last : 0,
                         .protocol = mapping.protocol,
                         .listener_attribute = mapping.listener_attribute,
                         .certificate = mapping.certificate};
  auto group = group_of(mapping.protocol, backends_of(mapping, index, pod_port, at, sight, notes));
  if (!api::is_layer7(mapping.protocol)) {
    spec.target_group = std::move(group);
    return spec;
  }
  spec.listener_attribute = listener_part(mapping.listener_attribute);
  for (const api::MappingRoute& route : mapping.routes)
    spec.rules.push_back({.domain = route.domain,
                          .path = route.path,
                          .listener_attribute = route.listener_attribute,
                          .target_group = group});
  sort(spec.rules);
  return spec;
}

// The listeners of one Pod: one for all of its ports, or one for each.
std::vector<model::PortRange> listeners_of(const api::PortMapping& mapping, std::int64_t index) {
  const model::PortRange all = api::mapped_ports(mapping, index).listener;
  if (api::is_segment(mapping)) return {all};
  std::vector<model::PortRange> out;
  for (std::uint32_t port = all.first; port <= all.last; ++port)
    out.push_back({static_cast<model::Port>(port), static_cast<model::Port>(port)});
  return out;
}

class Maker {
 public:
  Maker(const api::Ingress& ingress, const std::vector<Balancer>& balancers,
        api::ListenerNames names, WallTime now)
      : ingress_(ingress), balancers_(balancers), names_(names), now_(now) {
    for (const bool segment : {false, true})
      for (const Balancer& one : balancers)
        labels_[segment].push_back(std::make_shared<const Labels>(
            api::ingress_listener_labels(ingress.meta.name, one.lb, segment)));
  }

  std::vector<WantedGrant> grants(const std::string& part, const std::string& protocol,
                                  const model::PortRange& ports) const {
    std::vector<WantedGrant> out;
    for (const Balancer& one : balancers_)
      for (const model::Transport transport : model::transports_of(protocol_of(protocol)))
        out.push_back({.lb = one.lb,
                       .grant = {.transport = transport,
                                 .ports = ports,
                                 .owner = frontend::grant_owner(owner_of(ingress_)),
                                 .item = part,
                                 .since = now_}});
    return out;
  }

  // On each load balancer. `name_of` gives the name under both manners.
  template <class NameOf>
  void add(const api::ListenerSpec& spec, const NameOf& name_of, WantedPart& part) const {
    for (std::size_t i = 0; i < balancers_.size(); ++i) {
      const Balancer& one = balancers_[i];
      WantedListener listener{.name = name_of(one.lb, names_),
                              .other_name = name_of(one.lb, api::ListenerNames::with_protocol),
                              .part = part.name,
                              .lb = one.lb,
                              .spec = spec,
                              .labels = labels_[spec.end_port > 0][i],
                              .found_by = model::name_in(one.text, one.lb)};
      if (listener.other_name == listener.name) listener.other_name.clear();
      listener.spec.load_balancer_id = frontend::shown_id(one.text, one.lb);
      part.listeners.push_back(std::move(listener));
    }
  }

 private:
  const api::Ingress& ingress_;
  const std::vector<Balancer>& balancers_;
  const api::ListenerNames names_;
  const WallTime now_;
  std::vector<std::shared_ptr<const Labels>>
      labels_[2];  // by load balancer; the second of segments
};

// As its owner wants it, and seen to be so at the load balancer.
bool is_in_place(const api::Listener& listener, const frontend::Survey& survey) {
  return claims::is_applied(listener) &&
         std::ranges::none_of(survey.outdated, [&](const frontend::OutdatedListener& one) {
           return one.listener->meta.name == listener.meta.name;
         });
}

std::string first_problem(const StatusInput& input) {
  for (const auto& [part, report] : input.survey.reports)
    if (!report.problem.empty()) return fmt::format("{}: {}", part, report.problem);
  for (const Balancer& one : input.balancers) {
    const auto object = input.balancer_of(one.lb);
    if (!frontend::has_address(object.get()))
      return frontend::missing_address(one.lb, object.get());
  }
  for (const frontend::FoundListener& found : input.survey.found) {
    const api::Listener& listener = *found.listener;
    if (!claims::is_applied(listener) && listener.status.status == api::kNotSynced &&
        !listener.status.message.empty())
      return fmt::format("Listener {}: {}", listener.meta.name, listener.status.message);
  }
  return input.gaps.empty()
             ? std::string()
             : fmt::format("{}: {}", input.gaps.front().field, input.gaps.front().message);
}

}  // namespace

frontend::Owner owner_of(const api::Ingress& ingress) {
  return frontend::owner_of(api::ingress_kind().type, ingress.meta, {});
}

IngressWants wants_of(const api::Ingress& ingress, const std::vector<Balancer>& balancers,
                      const Sight& sight, api::ListenerNames names, WallTime now) {
  IngressWants out;
  const Maker maker(ingress, balancers, names, now);
  for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i) {
    const api::IngressRule& rule = ingress.spec.rules[i];
    WantedPart& part = out.parts.emplace_back(WantedPart{.name = rule_part(rule)});
    const auto port = model::port_of(rule.port);
    part.grants = maker.grants(part.name, rule.protocol, {port, port});
    maker.add(
        spec_of(ingress, i, sight, out.notes),
        [&](const auto& lb, api::ListenerNames how) {
          return api::rule_listener_name(lb, rule, how);
        },
        part);
  }
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    const api::PortMapping& mapping = ingress.spec.port_mappings[i];
    WantedPart& part = out.parts.emplace_back(WantedPart{.name = mapping_part(mapping)});
    part.grants = maker.grants(part.name, mapping.protocol, all_ports(mapping));
    for (std::int64_t index = mapping.start_index; index < mapping.end_index; ++index)
      for (const model::PortRange& ports : listeners_of(mapping, index))
        maker.add(
            mapped_spec(ingress, i, index, ports, sight, out.notes),
            [&](const auto& lb, api::ListenerNames how) {
              return api::mapping_listener_name(lb, mapping, ports, how);
            },
            part);
  }
  return out;
}

std::vector<WantedGrant> wanted_grants(const api::Ingress& ingress,
                                       const std::vector<Balancer>& balancers, WallTime now) {
  std::vector<WantedGrant> out;
  const Maker maker(ingress, balancers, api::ListenerNames::plain, now);
  for (const api::IngressRule& rule : ingress.spec.rules) {
    const auto port = model::port_of(rule.port);
    std::ranges::move(maker.grants(rule_part(rule), rule.protocol, {port, port}),
                      std::back_inserter(out));
  }
  for (const api::PortMapping& mapping : ingress.spec.port_mappings)
    std::ranges::move(maker.grants(mapping_part(mapping), mapping.protocol, all_ports(mapping)),
                      std::back_inserter(out));
  return out;
}

std::optional<api::ListenerSpec> wanted_spec(const api::Ingress& ingress, std::string_view part,
                                             const model::PortRange& ports, const Sight& sight) {
  Notes notes;
  for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i) {
    if (rule_part(ingress.spec.rules[i]) == part && ports.first == ingress.spec.rules[i].port)
      return spec_of(ingress, i, sight, notes);
  }
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    const api::PortMapping& mapping = ingress.spec.port_mappings[i];
    if (mapping_part(mapping) != part || !all_ports(mapping).contains(ports)) continue;
    const std::int64_t index = (ports.first - mapping.start_port) / api::segment_length_of(mapping);
    return mapped_spec(ingress, i, index, ports, sight, notes);
  }
  return std::nullopt;
}

Result<> check_targets(const api::Listener& listener, const api::Ingress* ingress,
                       const Sight& sight) {
  // What is written on it and what its Ingress says differ for a moment whenever a Pod comes or
  // goes; its controller puts that right.
  const auto differs = [&](std::string what) {
    return fail(error_of(Code::unavailable, "{}", what)
                    .about("Listener " + listener.meta.key().to_string()));
  };
  if (!ingress) return differs("its Ingress is not to be read");
  const std::optional<api::ListenerSpec> wanted =
      wanted_spec(*ingress, claims::item_of(listener), api::ports_of(listener.spec), sight);
  if (!wanted) return differs("its Ingress wants no such port");
  std::set<std::pair<std::string, std::int64_t>> known;
  for (const api::ListenerBackend* const one : api::backends_of(*wanted))
    known.emplace(one->ip, one->port);
  for (const api::ListenerBackend* const one : api::backends_of(listener.spec))
    if (!known.contains({one->ip, one->port}))
      return differs(
          fmt::format("{}:{} is no address that its Ingress leads to", one->ip, one->port));
  return {};
}

api::IngressStatus status_of(const StatusInput& input) {
  api::IngressStatus out;
  for (const Balancer& one : input.balancers)
    out.load_balancers.push_back(
        frontend::brief_of(one.text, one.lb, input.balancer_of(one.lb).get()));
  std::size_t wanted = 0;
  for (const auto& [part, report] : input.survey.reports) wanted += report.wanted;
  const auto applied = static_cast<std::size_t>(
      std::ranges::count_if(input.survey.found, [&](const frontend::FoundListener& found) {
        return is_in_place(*found.listener, input.survey);
      }));
  out.message = first_problem(input);
  if (out.message.empty() && applied < wanted)
    out.message = fmt::format("{} of {} listeners are ready", applied, wanted);
  out.status = std::string(out.message.empty() ? api::kReady : api::kNotReady);
  return out;
}

api::IngressStatus troubled_status(const api::IngressStatus& before, std::string trouble) {
  api::IngressStatus out = before;
  out.status = std::string(api::kNotReady);
  out.message = std::move(trouble);
  return out;
}

}  // namespace berth::controllers::ingress
