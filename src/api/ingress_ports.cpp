// Which ports an Ingress takes and what its Listeners are called: the part of ingress.h that
// counts.
#include <algorithm>

#include "api/ingress.h"

namespace berth::api {
namespace {

constexpr std::int64_t kMaxPort = 65535;

// "tcp", "tcpssl": how a protocol stands in names.
std::string protocol_in_name(std::string_view protocol) {
  std::string out;
  for (const char c : protocol) {
    if (c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// "lb-1", or "lb-1-udp" where names have it.
std::string name_begins(const model::LoadBalancerRef& load_balancer, std::string_view protocol,
                        ListenerNames names) {
  std::string base = model::listener_base_name(load_balancer);
  if (names == ListenerNames::with_protocol && !is_layer7(protocol))
    base += "-" + protocol_in_name(protocol);
  return base;
}

void add_ports(std::vector<IngressPorts>& out, std::string_view protocol, std::int64_t first,
               std::int64_t last, const std::string& field) {
  const Result<model::Protocol> read = model::parse_protocol(protocol);
  if (!read || first < 1 || last < first || last > kMaxPort) return;
  for (const model::Transport transport : model::transports_of(*read))
    out.push_back({field, transport, {model::port_of(first), model::port_of(last)}});
}

// Whether its numbers are ones to reckon with.
bool is_countable(const PortMapping& mapping) {
  return mapping.start_index >= 0 && mapping.end_index > mapping.start_index &&
         mapping.end_index <= kMaxPodIndex && mapping.segment_length >= 0 &&
         mapping.segment_length <= kMaxPort;
}

}  // namespace

std::int64_t weight_or_default(const Boxed<IngressWeight>& weight) {
  return weight ? weight->value : kDefaultWeight;
}

bool is_layer7(std::string_view protocol) {
  const Result<model::Protocol> read = model::parse_protocol(protocol);
  return read && model::is_layer7(*read);
}

std::int64_t segment_length_of(const PortMapping& mapping) {
  return std::max<std::int64_t>(mapping.segment_length, 1);
}

bool is_segment(const PortMapping& mapping) {
  return !mapping.ignore_segment && segment_length_of(mapping) > 1;
}

MappedPorts mapped_ports(const PortMapping& mapping, std::int64_t index) {
  const std::int64_t length = segment_length_of(mapping);
  const std::int64_t first = mapping.start_port + index * length;
  const std::int64_t inside =
      mapping.rs_start_port > 0 ? mapping.rs_start_port : mapping.start_port;
  return {
      .listener = {static_cast<model::Port>(first), static_cast<model::Port>(first + length - 1)},
      .pod_port =
          static_cast<model::Port>(inside + (mapping.is_rs_port_fixed ? 0 : index * length))};
}

std::string rule_listener_name(const model::LoadBalancerRef& load_balancer, const IngressRule& rule,
                               ListenerNames names) {
  return fmt::format("{}-{}", name_begins(load_balancer, rule.protocol, names), rule.port);
}

std::string mapping_listener_name(const model::LoadBalancerRef& load_balancer,
                                  const PortMapping& mapping, const model::PortRange& ports,
                                  ListenerNames names) {
  const std::string begin =
      fmt::format("{}-{}", name_begins(load_balancer, mapping.protocol, names), ports.first);
  if (ports.size() > 1) return fmt::format("{}-{}", begin, ports.last);
  // Not the name of a rule's Listener. Names with the protocol have no such end upstream.
  const bool is_plain = names == ListenerNames::plain || is_layer7(mapping.protocol);
  return is_plain ? begin + "-0" : begin;
}

std::vector<IngressPorts> ports_of(const Ingress& ingress) {
  std::vector<IngressPorts> out;
  for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i) {
    const IngressRule& rule = ingress.spec.rules[i];
    add_ports(out, rule.protocol, rule.port, rule.port, fmt::format("spec.rules[{}]", i));
  }
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    const PortMapping& mapping = ingress.spec.port_mappings[i];
    if (!is_countable(mapping)) continue;
    const std::int64_t length = segment_length_of(mapping);
    add_ports(out, mapping.protocol, mapping.start_port + mapping.start_index * length,
              mapping.start_port + mapping.end_index * length - 1,
              fmt::format("spec.portMappings[{}]", i));
  }
  return out;
}

}  // namespace berth::api
