#include "admission/host_port_injection.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "admission/pod_patch.h"
#include "api/host_ports.h"

namespace berth::admission {
namespace {

using model::Port;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kTopologyKey = "kubernetes.io/hostname";
constexpr std::string_view kTerms =
    "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";

// An entry of a container's `ports`.
struct Declared {
  std::string place{};
  std::string name{};
  std::string protocol{};
  Port number = 0;
  Port host_port = 0;
};

Port port_at(const Value& entry, std::string_view pointer) {
  return model::port_of(wire::int_at(entry, pointer).value_or(0));
}

std::vector<Declared> declared_ports(const Value& pod) {
  std::vector<Declared> out;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Array* containers = wire::array_at(pod, fmt::format("/spec/{}", list));
    for (std::size_t c = 0; containers && c < containers->size(); ++c) {
      const Array* ports = wire::array_at((*containers)[c], "/ports");
      for (std::size_t p = 0; ports && p < ports->size(); ++p) {
        const Value& port = (*ports)[p];
        const Port number = port_at(port, "/containerPort");
        if (number == 0) continue;  // the API server refuses it
        const std::string_view protocol = wire::string_at(port, "/protocol");
        out.push_back({.place = fmt::format("/spec/{}/{}/ports/{}", list, c, p),
                       .name = std::string(wire::string_at(port, "/name")),
                       .protocol = protocol.empty() ? "TCP" : std::string(protocol),
                       .number = number,
                       .host_port = port_at(port, "/hostPort")});
      }
    }
  }
  return out;
}

// "8080, metric (8081)"
std::string list_of(const std::vector<Declared>& declared) {
  std::string out;
  for (const Declared& port : declared) {
    if (!out.empty()) out += ", ";
    out += port.name.empty() ? fmt::format("{}", port.number)
                             : fmt::format("{} ({})", port.name, port.number);
  }
  return out.empty() ? "none" : out;
}

std::vector<const Declared*> matches(const std::vector<Declared>& declared,
                                     const std::string& entry) {
  std::vector<const Declared*> by_name;
  std::vector<const Declared*> by_number;
  for (const Declared& port : declared) {
    if (port.name == entry) by_name.push_back(&port);
    if (fmt::format("{}", port.number) == entry) by_number.push_back(&port);
  }
  return by_name.empty() ? by_number : by_name;
}

// A host port that stands in the Pod's labels and in an entry of `ports` was put there by us.
void forget_port(Value& port, const std::set<std::int64_t>& ours,
                 const std::map<Port, Port>& declared_by_host, bool on_host_network) {
  const std::int64_t host = wire::int_at(port, "/hostPort").value_or(0);
  if (!ours.contains(host)) return;
  Object& entry = port.get_object();
  const auto declared = declared_by_host.find(static_cast<Port>(host));
  if (wire::int_at(port, "/containerPort") == host && declared != declared_by_host.end())
    entry["containerPort"] = declared->second;
  if (on_host_network) {
    entry["hostPort"] = entry["containerPort"];  // the API server wants both to be the same
  } else {
    entry.erase("hostPort");
  }
}

bool is_our_term(const Value& term) {
  const Object* labels = wire::object_at(term, "/labelSelector/matchLabels");
  return labels && labels->size() == 1 && api::port_of_label(labels->begin()->key());
}

template <class Unwanted>
void erase_keys(Value& pod, std::string_view map, Unwanted&& unwanted) {
  Value* found = wire::find(pod, map);
  if (!found || !found->is_object()) return;
  std::vector<std::string> keys;
  for (const auto& entry : found->get_object()) {
    if (unwanted(entry.key())) keys.emplace_back(entry.key());
  }
  for (const std::string& key : keys) found->get_object().erase(key);
}

void put_anti_affinity(Value& pod, const std::vector<GivenHostPort>& given) {
  if (!wire::array_at(pod, kTerms)) (void)wire::set_at(pod, kTerms, Array{});
  Value* terms = wire::find(pod, kTerms);
  if (!terms || !terms->is_array()) return;  // what is there is no affinity: the API server says so
  for (const GivenHostPort& port : given) {
    terms->get_array().push_back(Object{
        {"labelSelector", Object{{"matchLabels", Object{{api::host_port_label(port.host_port),
                                                         fmt::format("{}", port.host_port)}}}}},
        {"topologyKey", kTopologyKey}});
  }
}

void put_variables(Value& pod, const std::vector<GivenHostPort>& given) {
  Array variables;
  std::set<Port> named;
  for (const GivenHostPort& port : given) {
    named.insert(port.wanted.container_port);
    variables.push_back(plain_variable(api::host_port_variable(port.wanted.container_port),
                                       fmt::format("{}", port.host_port)));
  }
  variables.push_back(field_variable(api::kHostIpVariable, "status.hostIP"));
  variables.push_back(field_variable(api::kPodNameVariable, "metadata.name"));
  variables.push_back(field_variable(api::kPodNamespaceVariable, "metadata.namespace"));
  // Those of an earlier admission that nobody asks for any more.
  for_each_container(pod, [&](Value& container) {
    Value* env = wire::find(container, "/env");
    if (!env || !env->is_array()) return;
    Array kept;
    for (const Value& variable : env->get_array()) {
      const auto port = api::port_of_variable(wire::string_at(variable, "/name"));
      if (!port || named.contains(*port)) kept.push_back(variable);
    }
    *env = std::move(kept);
  });
  set_variables(pod, variables);
}

}  // namespace

Result<std::vector<WantedHostPort>> wanted_host_ports(const Value& pod) {
  Result<std::vector<std::string>> entries =
      api::parse_host_port_entries(annotation_of(pod, api::kHostPortPortsAnnotation));
  if (!entries) return pass(entries);
  const std::vector<Declared> declared = declared_ports(pod);
  std::vector<WantedHostPort> wanted;
  std::set<std::pair<Port, std::string>> seen;
  for (const std::string& entry : *entries) {
    const std::vector<const Declared*> found = matches(declared, entry);
    if (found.empty()) {
      return fail(error_of(Code::invalid,
                           "'{}' is neither name nor number of a container's port; declared: {}",
                           entry, list_of(declared))
                      .at(fmt::format("metadata.annotations[{}]", api::kHostPortPortsAnnotation))
                      .with_hint("add it to spec.containers[].ports"));
    }
    for (const Declared* port : found) {
      if (!seen.emplace(port->number, port->protocol).second) continue;
      auto own = std::ranges::find(wanted, port->number, &WantedHostPort::container_port);
      if (own == wanted.end()) own = wanted.insert(own, {.container_port = port->number});
      own->places.push_back(port->place);
    }
  }
  return wanted;
}

std::vector<Port> fixed_host_ports(const Value& pod, const std::vector<WantedHostPort>& wanted) {
  std::vector<Port> out;
  for (const Declared& port : declared_ports(pod)) {
    const bool asks = std::ranges::any_of(wanted, [&](const WantedHostPort& one) {
      return std::ranges::find(one.places, port.place) != one.places.end();
    });
    if (!asks && port.host_port != 0) out.push_back(port.host_port);
  }
  return out;
}

Result<> check_network(const Value& pod) {
  if (has_annotation(pod, api::kRandomContainerPortAnnotation) ||
      !wire::bool_at(pod, "/spec/hostNetwork").value_or(false))
    return {};
  return fail(error_of(Code::invalid,
                       "is true: containers listen on the node's own ports, which cannot differ "
                       "from the host ports")
                  .at("spec.hostNetwork")
                  .with_hint(fmt::format("add the annotation {}: containers are then told which "
                                         "port to listen on",
                                         api::kRandomContainerPortAnnotation)));
}

bool has_anti_affinity(const Value& pod, Port host_port) {
  const Array* terms = wire::array_at(pod, kTerms);
  return terms && std::ranges::any_of(*terms, [&](const Value& term) {
           return is_our_term(term) &&
                  wire::object_at(term, "/labelSelector/matchLabels")->begin()->key() ==
                      api::host_port_label(host_port);
         });
}

HostPortMap carried_host_ports(const Value& pod) {
  HostPortMap out;
  for_each_container(pod, [&](const Value& container) {
    const Array* env = wire::array_at(container, "/env");
    for (std::size_t i = 0; env && i < env->size(); ++i) {
      const auto declared = api::port_of_variable(wire::string_at((*env)[i], "/name"));
      const Result<Port> host = model::parse_port(wire::string_at((*env)[i], "/value"));
      if (declared && host) out.emplace(*declared, *host);
    }
  });
  return out;
}

void remove_host_ports(Value& pod) {
  std::set<std::int64_t> ours;
  const Object* labels = wire::object_at(pod, "/metadata/labels");
  for (const auto& label : labels ? *labels : Object{}) {
    if (const auto port = api::port_of_label(label.key())) ours.insert(*port);
  }
  std::map<Port, Port> declared_by_host;
  for (const auto& [declared, host] : carried_host_ports(pod)) declared_by_host[host] = declared;
  const bool on_host_network = wire::bool_at(pod, "/spec/hostNetwork").value_or(false);
  for_each_container(pod, [&](Value& container) {
    Value* ports = wire::find(container, "/ports");
    if (!ports || !ports->is_array()) return;
    for (Value& port : ports->get_array())
      forget_port(port, ours, declared_by_host, on_host_network);
  });
  erase_keys(pod, "/metadata/labels",
             [](std::string_view key) { return api::port_of_label(key).has_value(); });
  erase_keys(pod, "/metadata/annotations",
             [](std::string_view key) { return api::is_host_port_result(key); });
  if (Value* terms = wire::find(pod, kTerms); terms && terms->is_array()) {
    Array kept;
    for (const Value& term : terms->get_array()) {
      if (!is_our_term(term)) kept.push_back(term);
    }
    *terms = std::move(kept);
  }
}

void put_host_ports(Value& pod, const std::vector<GivenHostPort>& given, bool as_container_port) {
  for (const GivenHostPort& port : given) {
    const std::string number = fmt::format("{}", port.host_port);
    for (const std::string& place : port.wanted.places) {
      (void)wire::set_at(pod, place + "/hostPort", Value(port.host_port));
      if (as_container_port)
        (void)wire::set_at(pod, place + "/containerPort", Value(port.host_port));
    }
    set_label(pod, api::host_port_label(port.host_port), number);
    set_annotation(pod,
                   api::host_port_result_annotation(as_container_port ? port.host_port
                                                                      : port.wanted.container_port),
                   number);
  }
  set_label(pod, api::kHostPortLabel, "true");
  put_variables(pod, given);
  put_anti_affinity(pod, given);
}

}  // namespace berth::admission
