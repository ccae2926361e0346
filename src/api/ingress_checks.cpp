#include "api/ingress_checks.h"

#include <algorithm>

#include "api/listener_rules.h"
#include "api/path_pattern.h"
#include "model/path_patterns.h"

namespace berth::api {
namespace {

using model::Protocol;

constexpr std::int64_t kMaxPort = 65535;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

const model::AttributeLimits& layer7_of(model::Provider provider) {
  return model::traits_of(provider).layer7;
}

// --- protocols ---------------------------------------------------------------------------------

// Of the same protocol a Listener is read by others, who know more spellings.
std::optional<Protocol> read_protocol(const std::string& text, const std::string& path,
                                      Breaches& out) {
  const Result<Protocol> read = model::parse_protocol(text);
  if (read && *read != Protocol::tcp_udp && lower(text) != "tls") return *read;
  out.add(path, fmt::format("'{}' is not one of TCP, UDP, TCP_SSL, QUIC, HTTP, HTTPS", text));
  return std::nullopt;
}

// HTTP is left to the Listener, which knows whether what carries it is installed.
void check_ability(Protocol protocol, const std::string& text, const Providers& providers,
                   const std::string& path, Breaches& out) {
  for (const model::Provider one : providers) {
    const model::ProviderTraits& provider = model::traits_of(one);
    if (model::is_layer7(protocol) || provider.abilities.protocols.has(protocol)) continue;
    out.add(path, fmt::format("'{}' with {} load balancers, which do not speak it", text,
                              provider.title));
  }
}

// --- attributes and certificates ---------------------------------------------------------------

void check_attributes(const Boxed<ListenerAttribute>& attribute, bool layer7,
                      const Providers& providers, const std::string& path, Breaches& out) {
  if (!attribute) return;
  out.add(check_policy(*attribute, layer7, path));
  for (const model::Provider provider : providers)
    out.add(check_attribute(*attribute, layer7, model::traits_of(provider), path));
}

// What the listener says of itself, beside what its rules say.
void check_listener_attribute(const Boxed<ListenerAttribute>& attribute, Protocol protocol,
                              const std::string& path, Breaches& out) {
  if (!attribute) return;
  if (attribute->sni_switch != 0 && protocol != Protocol::https)
    out.add(path + ".sniSwitch", "1 is for HTTPS alone, which has certificates by domain");
  if (attribute->keep_alive_enable != 0 && !model::is_layer7(protocol))
    out.add(path + ".keepAliveEnable", "1 is for HTTP and HTTPS alone");
}

bool has_sni(const Boxed<ListenerAttribute>& attribute) {
  return attribute && attribute->sni_switch != 0;
}

bool has_id(const Boxed<ListenerCertificate>& certificate) {
  return certificate && !certificate->cert_id.empty();
}

void check_own_certificate(const Boxed<ListenerCertificate>& certificate, Protocol protocol,
                           const std::string& protocol_text, const std::string& path,
                           Breaches& out) {
  out.add(check_certificate(certificate, path + ".certificate"));
  out.add(check_has_certificate(certificate, protocol, protocol_text, path + ".certificate"));
}

// --- domains and paths -------------------------------------------------------------------------

void check_domain(const std::string& domain, const Providers& providers, const std::string& path,
                  Breaches& out) {
  if (domain.find_first_of(" \t\r\n/:") != std::string::npos) {
    out.add(path, fmt::format("'{}' has a blank, '/' or ':' in it: write the name of a host alone",
                              domain));
  }
  for (const model::Provider one : providers) {
    if (domain.size() <= layer7_of(one).max_domain) continue;
    out.add(path,
            fmt::format("is {} characters long, at most {} are allowed on {} load balancers",
                        domain.size(), layer7_of(one).max_domain, model::traits_of(one).title));
  }
}

void check_path(const std::string& text, const Providers& providers, const std::string& path,
                Breaches& out) {
  const bool is_pattern = is_path_pattern(text);
  if (const auto fault = is_pattern ? find_fault(text) : std::nullopt)
    out.add(path, fmt::format("'{}' is no regular expression: {}", text, *fault));
  if (!text.empty() && !is_pattern && text.front() != '/')
    out.add(path, fmt::format("'{}' does not begin with /", text));
  if (!is_pattern && text.find_first_of(" \t\r\n") != std::string::npos)
    out.add(path, fmt::format("'{}' has a blank in it", text));
  for (const model::Provider one : providers) {
    if (is_pattern && !model::has_path_patterns(one)) {
      out.add(path, fmt::format("'{}' is a regular expression, and {} load balancers have none: "
                                "write how paths begin",
                                text, model::traits_of(one).title));
    }
    if (text.size() <= layer7_of(one).max_path) continue;
    out.add(path, fmt::format("is {} characters long, at most {} are allowed on {} load balancers",
                              text.size(), layer7_of(one).max_path, model::traits_of(one).title));
  }
}

// What a request is known by, however it is written.
std::string request_key(const std::string& domain, const std::string& path) {
  return lower(domain) + " " + (path.empty() ? "/" : path);
}

template <class Route>
void check_requests(const std::vector<Route>& routes, const Providers& providers,
                    const std::string& path, Breaches& out) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const Route& route = routes[i];
    const std::string here = fmt::format("{}[{}]", path, i);
    check_domain(route.domain, providers, here + ".domain", out);
    check_path(route.path, providers, here + ".path", out);
    check_attributes(route.listener_attribute, true, providers, here + ".listenerAttribute", out);
    const auto [first, is_new] = seen.emplace(request_key(route.domain, route.path), i);
    if (is_new) continue;
    out.add(here + ".path",
            fmt::format("domain '{}' with path '{}' is {}[{}] already: both together name a route",
                        route.domain, route.path.empty() ? "/" : route.path, path, first->second));
  }
}

// --- services ----------------------------------------------------------------------------------

void check_service(const ServiceRoute& service, const std::string& path, Breaches& out) {
  const std::string kind = lower(service.service_kind);
  if (kind.empty() || kind == "service") return;
  out.add(
      path + ".serviceKind",
      fmt::format("'{}' is not served here: write Service, or leave it out", service.service_kind));
}

void check_services(const std::vector<ServiceRoute>& services, const std::string& path,
                    Breaches& out) {
  for (std::size_t i = 0; i < services.size(); ++i)
    check_service(services[i], fmt::format("{}[{}]", path, i), out);
}

// --- rules -------------------------------------------------------------------------------------

void check_sni(const IngressRule& rule, const std::string& path, Breaches& out) {
  if (has_id(rule.certificate)) {
    out.add(path + ".certificate",
            fmt::format("'{}' beside sniSwitch: then each of layer7Routes has a certificate, and "
                        "the rule has none",
                        rule.certificate->cert_id));
  }
  std::map<std::string, const Layer7Route*> by_domain;
  for (std::size_t i = 0; i < rule.layer7_routes.size(); ++i) {
    const Layer7Route& route = rule.layer7_routes[i];
    const std::string here = fmt::format("{}.layer7Routes[{}].certificate", path, i);
    if (!has_id(route.certificate)) {
      out.add(here + ".certID", "is required with sniSwitch of the rule");
      continue;
    }
    const Layer7Route& first = *by_domain.emplace(lower(route.domain), &route).first->second;
    if (*first.certificate == *route.certificate) continue;
    out.add(here,
            fmt::format("'{}' is another one than '{}', which domain '{}' has already: a "
                        "domain has one certificate",
                        route.certificate->cert_id, first.certificate->cert_id, route.domain));
  }
}

void check_routes(const IngressRule& rule, const Providers& providers, const std::string& path,
                  Breaches& out) {
  const std::string routes = path + ".layer7Routes";
  if (rule.layer7_routes.empty()) {
    out.add(routes,
            fmt::format("is required with protocol {}: write at least one domain", rule.protocol));
  }
  check_requests(rule.layer7_routes, providers, routes, out);
  for (std::size_t i = 0; i < rule.layer7_routes.size(); ++i) {
    const Layer7Route& route = rule.layer7_routes[i];
    const std::string here = fmt::format("{}[{}]", routes, i);
    check_services(route.services, here + ".services", out);
    out.add(check_certificate(route.certificate, here + ".certificate"));
    const std::string& forward = route.forward_type;
    if (!forward.empty() && forward != "GRPC" && forward != "QUIC") {
      out.add(
          here + ".forwardType",
          fmt::format("'{}' is not one of GRPC, QUIC, or empty for the rule's protocol", forward));
    }
  }
}

// --- mappings ----------------------------------------------------------------------------------

void check_end(std::int64_t first, std::int64_t last, std::string_view of, const std::string& path,
               Breaches& out) {
  if (last <= kMaxPort) return;
  out.add(path, fmt::format("{} leads {} to {}, past {}", first, of, last, kMaxPort));
}

void check_numbers(const PortMapping& mapping, const std::string& path, Breaches& out) {
  if (mapping.end_index <= mapping.start_index) {
    return out.add(path + ".endIndex",
                   fmt::format("{} is not above startIndex {} (the range is [startIndex, "
                               "endIndex))",
                               mapping.end_index, mapping.start_index));
  }
  const std::int64_t length = segment_length_of(mapping);
  const std::int64_t all = mapping.end_index * length;
  check_end(mapping.start_port, mapping.start_port + all - 1, "the load balancer's ports",
            path + ".startPort", out);
  const bool given = mapping.rs_start_port > 0;
  const std::int64_t inside = given ? mapping.rs_start_port : mapping.start_port;
  check_end(inside, inside + (mapping.is_rs_port_fixed ? length : all) - 1, "the Pods' ports",
            path + (given ? ".rsStartPort" : ".startPort"), out);
}

void check_workload(const PortMapping& mapping, const std::string& path, Breaches& out) {
  const std::string kind = lower(mapping.workload_kind);
  if (kind != "statefulset" && kind != "gamestatefulset") {
    out.add(path + ".workloadKind",
            fmt::format("'{}' is not one of StatefulSet, GameStatefulSet", mapping.workload_kind));
  }
  if (!mapping.host_port || (mapping.is_rs_port_fixed && mapping.ignore_segment)) return;
  out.add(path + ".hostPort",
          fmt::format("true needs {} too", mapping.is_rs_port_fixed ? "ignoreSegment: true"
                                           : mapping.ignore_segment
                                               ? "isRsPortFixed: true"
                                               : "isRsPortFixed: true and ignoreSegment: true"));
}

void check_segment(const PortMapping& mapping, Protocol protocol, const Providers& providers,
                   const std::string& path, Breaches& out) {
  if (!is_segment(mapping)) return;
  if (protocol != Protocol::tcp && protocol != Protocol::udp) {
    out.add(path + ".segmentLength",
            fmt::format("{} with protocol {}: segments are for TCP and UDP; with ignoreSegment: "
                        "true every port has a listener of its own",
                        mapping.segment_length, mapping.protocol));
  }
  for (const model::Provider one : providers) {
    if (model::traits_of(one).abilities.has_ranges) continue;
    out.add(path + ".segmentLength",
            fmt::format("{} with {} load balancers, whose listeners have one port each: add "
                        "ignoreSegment: true",
                        mapping.segment_length, model::traits_of(one).title));
  }
}

void check_mapping_routes(const PortMapping& mapping, Protocol protocol, const Providers& providers,
                          const std::string& path, Breaches& out) {
  const bool layer7 = model::is_layer7(protocol);
  if (layer7 && mapping.routes.empty()) {
    out.add(path + ".routes", fmt::format("is required with protocol {}: write at least one domain",
                                          mapping.protocol));
  }
  if (!layer7 && !mapping.routes.empty())
    out.add(path + ".routes",
            fmt::format("is for HTTP and HTTPS, and the protocol is {}", mapping.protocol));
  if (has_sni(mapping.listener_attribute) && protocol == Protocol::https)
    out.add(path + ".listenerAttribute.sniSwitch",
            "1 is for rules: routes of a mapping have no certificates of their own");
  check_requests(mapping.routes, providers, path + ".routes", out);
}

}  // namespace

void check_rule(const IngressRule& rule, const Providers& providers, const std::string& path,
                Breaches& out) {
  const auto protocol = read_protocol(rule.protocol, path + ".protocol", out);
  if (!protocol) return;
  check_ability(*protocol, rule.protocol, providers, path + ".protocol", out);
  const bool layer7 = model::is_layer7(*protocol);
  const std::string attribute = path + ".listenerAttribute";
  check_attributes(rule.listener_attribute, layer7, providers, attribute, out);
  check_listener_attribute(rule.listener_attribute, *protocol, attribute, out);
  if (*protocol == Protocol::https && has_sni(rule.listener_attribute)) {
    check_sni(rule, path, out);
  } else {
    check_own_certificate(rule.certificate, *protocol, rule.protocol, path, out);
  }
  check_services(rule.services, path + ".services", out);
  if (layer7) {
    check_routes(rule, providers, path, out);
  } else if (!rule.layer7_routes.empty()) {
    out.add(path + ".layer7Routes",
            fmt::format("is for HTTP and HTTPS, and the protocol is {}: write services",
                        rule.protocol));
  }
}

void check_mapping(const PortMapping& mapping, const Providers& providers, const std::string& path,
                   Breaches& out) {
  check_workload(mapping, path, out);
  check_numbers(mapping, path, out);
  const auto protocol = read_protocol(mapping.protocol, path + ".protocol", out);
  if (!protocol) return;
  check_ability(*protocol, mapping.protocol, providers, path + ".protocol", out);
  check_segment(mapping, *protocol, providers, path, out);
  const std::string attribute = path + ".listenerAttribute";
  check_attributes(mapping.listener_attribute, model::is_layer7(*protocol), providers, attribute,
                   out);
  check_listener_attribute(mapping.listener_attribute, *protocol, attribute, out);
  check_own_certificate(mapping.certificate, *protocol, mapping.protocol, path, out);
  check_mapping_routes(mapping, *protocol, providers, path, out);
}

}  // namespace berth::api
