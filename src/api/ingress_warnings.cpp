// What an Ingress asks for that nobody does: the part of ingress.h that people read as warnings.
#include <algorithm>

#include "api/ingress.h"
#include "api/keys.h"
#include "api/listener_rules.h"

namespace berth::api {
namespace {

using model::Protocol;

// Names with commas between them.
class Names {
 public:
  void note(bool given, std::string_view name) {
    if (given) text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", name);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Warnings {
 public:
  explicit Warnings(const Ingress& ingress) : object_("Ingress " + ingress.meta.key().to_string()) {
    look_at_annotations(ingress.meta.annotations);
    for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i)
      look_at_rule(ingress.spec.rules[i], fmt::format("spec.rules[{}]", i));
    for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i)
      look_at_mapping(ingress.spec.port_mappings[i], fmt::format("spec.portMappings[{}]", i));
  }
  std::vector<std::string> take() && { return std::move(out_); }

 private:
  void warn(std::string_view field, std::string_view what) {
    out_.push_back(fmt::format("{}: {}: {}", object_, field, what));
  }

  void look_at_annotations(const kube::StringMap& annotations) {
    if (!kube::has(annotations, kLoadBalancerIdsAnnotation) ||
        !kube::has(annotations, kLoadBalancerNamesAnnotation))
      return;
    warn(fmt::format("metadata.annotations[{}]", kLoadBalancerNamesAnnotation),
         fmt::format("does nothing beside {}, which counts more", kLoadBalancerIdsAnnotation));
  }

  void look_at_rule(const IngressRule& rule, const std::string& path) {
    const Result<Protocol> protocol = model::parse_protocol(rule.protocol);
    if (!protocol) return;
    const bool layer7 = model::is_layer7(*protocol);
    look_at_own_certificate(rule.certificate, *protocol, path);
    look_at_listener(rule.listener_attribute, *protocol, path + ".listenerAttribute");
    if (layer7) {
      if (!rule.services.empty())
        warn(path + ".services",
             fmt::format("does nothing with {}: write it in layer7Routes", rule.protocol));
      for (std::size_t i = 0; i < rule.layer7_routes.size(); ++i)
        look_at_route(rule, *protocol, rule.layer7_routes[i],
                      fmt::format("{}.layer7Routes[{}]", path, i));
    } else {
      look_at_services(rule.services, rule.listener_attribute, path + ".services");
    }
  }

  void look_at_route(const IngressRule& rule, Protocol protocol, const Layer7Route& route,
                     const std::string& path) {
    const bool by_domain = rule.listener_attribute && rule.listener_attribute->sni_switch != 0;
    if (route.certificate && !by_domain)
      warn(path + ".certificate",
           "is kept and not used: without sniSwitch: 1 the rule's certificate is for all domains");
    if (!route.forward_type.empty() && protocol != Protocol::https)
      warn(path + ".forwardType",
           fmt::format("'{}' is kept and not acted on: it is for HTTPS", route.forward_type));
    look_at_forwarding(route.listener_attribute, protocol, path + ".listenerAttribute");
    look_at_route_alone(route.listener_attribute, path + ".listenerAttribute");
    look_at_services(route.services, route.listener_attribute, path + ".services");
  }

  void look_at_mapping(const PortMapping& mapping, const std::string& path) {
    const Result<Protocol> protocol = model::parse_protocol(mapping.protocol);
    if (!protocol) return;
    look_at_own_certificate(mapping.certificate, *protocol, path);
    look_at_listener(mapping.listener_attribute, *protocol, path + ".listenerAttribute");
    for (std::size_t i = 0; i < mapping.routes.size(); ++i) {
      const std::string here = fmt::format("{}.routes[{}].listenerAttribute", path, i);
      look_at_forwarding(mapping.routes[i].listener_attribute, *protocol, here);
      look_at_route_alone(mapping.routes[i].listener_attribute, here);
    }
    if (mapping.ignore_segment && segment_length_of(mapping) == 1 && !mapping.host_port)
      warn(path + ".ignoreSegment", "does nothing: each Pod has one port");
  }

  void look_at_own_certificate(const Boxed<ListenerCertificate>& certificate, Protocol protocol,
                               const std::string& path) {
    const bool plain =
        protocol == Protocol::tcp || protocol == Protocol::udp || protocol == Protocol::http;
    if (certificate && plain)
      warn(path + ".certificate", "is kept and not used: it is for HTTPS, TCP_SSL and QUIC");
  }

  // Of a listener: at layer 7 its routes say how they forward.
  void look_at_listener(const Boxed<ListenerAttribute>& attribute, Protocol protocol,
                        const std::string& path) {
    if (!attribute) return;
    if (!model::is_layer7(protocol)) return look_at_forwarding(attribute, protocol, path);
    Names names;
    names.note(attribute->session_time != 0, "sessionTime");
    names.note(!attribute->lb_policy.empty(), "lbPolicy");
    names.note(attribute->health_check.has_value(), "healthCheck");
    if (!names.text().empty())
      warn(path, fmt::format("does nothing on the listener of HTTP and HTTPS, write it on the "
                             "routes: {}",
                             names.text()));
    look_at_extras(*attribute, protocol, path);
  }

  // Of a route: what belongs to its listener.
  void look_at_route_alone(const Boxed<ListenerAttribute>& attribute, const std::string& path) {
    if (!attribute) return;
    Names names;
    names.note(attribute->sni_switch != 0, "sniSwitch");
    names.note(attribute->keep_alive_enable != 0, "keepAliveEnable");
    names.note(attribute->max_rate != 0, "maxRate");
    if (!names.text().empty())
      warn(path,
           fmt::format("does nothing on a route, write it on the listener: {}", names.text()));
  }

  // How traffic goes to targets, at whatever layer.
  void look_at_forwarding(const Boxed<ListenerAttribute>& attribute, Protocol protocol,
                          const std::string& path) {
    if (!attribute) return;
    if (attribute->session_time != 0 && attribute->lb_policy == "LEAST_CONN")
      warn(path + ".sessionTime",
           fmt::format("{} may do nothing with lbPolicy LEAST_CONN: clients stay with their target "
                       "with WRR",
                       attribute->session_time));
    if (attribute->health_check)
      look_at_health_check(*attribute->health_check, model::is_layer7(protocol),
                           path + ".healthCheck");
    look_at_extras(*attribute, protocol, path);
  }

  void look_at_health_check(const ListenerHealthCheck& check, bool layer7,
                            const std::string& path) {
    if (!check.enabled) {
      if (check != ListenerHealthCheck{}) warn(path, kSwitchedOff);
      return;
    }
    if (layer7 && check.timeout != 0)
      warn(path + ".timeout",
           fmt::format("{} may do nothing with HTTP and HTTPS: it is for layer 4", check.timeout));
    if (!check.health_check_protocol.empty())
      warn(path + ".healthCheckProtocol",
           fmt::format("'{}' is kept and not acted on", check.health_check_protocol));
    const std::string idle = layer7 ? std::string() : idle_without_path(check);
    if (!idle.empty()) warn(path, fmt::format("{}: {}", kIdleWithoutPath, idle));
  }

  void look_at_extras(const ListenerAttribute& attribute, Protocol protocol,
                      const std::string& path) {
    look_at_session_type(attribute, protocol, path);
    Names names;
    names.note(attribute.backend_insecure, "backendInsecure");
    names.note(!attribute.aws_attributes.empty(), "awsAttributes");
    names.note(attribute.priority != 0, "priority");
    if (!names.text().empty()) warn(path, fmt::format("kept and not acted on: {}", names.text()));
    if (is_dialled(attribute.uptime_check)) warn(path + ".uptimeCheck", kNoDialTest);
  }

  void look_at_session_type(const ListenerAttribute& attribute, Protocol protocol,
                            const std::string& path) {
    if (attribute.session_type != kQuicSessions) return;
    if (protocol != Protocol::udp)
      warn(path + ".sessionType",
           fmt::format("'{}' is kept and not acted on: it is for UDP", kQuicSessions));
    else if (attribute.lb_policy == "LEAST_CONN")
      warn(path + ".lbPolicy", fmt::format("'LEAST_CONN' does nothing beside sessionType {}, which "
                                           "goes with WRR alone",
                                           kQuicSessions));
  }

  void look_at_services(const std::vector<ServiceRoute>& services,
                        const Boxed<ListenerAttribute>& attribute, const std::string& path) {
    if (services.empty()) warn(path, "is empty: the traffic leads nowhere");
    const bool weighs = !attribute || attribute->lb_policy.empty() || attribute->lb_policy == "WRR";
    for (std::size_t i = 0; i < services.size(); ++i)
      look_at_service(services[i], weighs, fmt::format("{}[{}]", path, i));
  }

  void look_at_service(const ServiceRoute& service, bool weighs, const std::string& path) {
    if (service.host_port && !service.is_direct_connect)
      warn(path + ".hostPort", "does nothing without isDirectConnect: true");
    if (!service.subsets.empty() && !service.is_direct_connect)
      warn(path + ".subsets", "does nothing without isDirectConnect: true");
    if (service.weight && !service.subsets.empty() && service.is_direct_connect)
      warn(path + ".weight", "does nothing beside subsets, which have weights of their own");
    if (weighs) return;
    const auto counts = [](const Boxed<IngressWeight>& weight) {
      return weight && weight->value != 0 && weight->value != kDefaultWeight;
    };
    if (counts(service.weight) ||
        std::ranges::any_of(service.subsets, counts, &IngressSubset::weight))
      warn(path + ".weight", "may do nothing: weights count with lbPolicy WRR");
  }

  const std::string object_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> warnings_about(const Ingress& ingress) { return Warnings(ingress).take(); }

}  // namespace berth::api
