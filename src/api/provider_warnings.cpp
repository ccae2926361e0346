#include "api/provider_warnings.h"

#include <algorithm>
#include <iterator>

namespace berth::api {
namespace {

using model::ProviderTraits;

class Warnings {
 public:
  Warnings(std::string object, const ProviderTraits& provider)
      : object_(std::move(object)), provider_(provider) {}

  void look_at(const Ingress& ingress) {
    for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i)
      look_at_rule(ingress.spec.rules[i], fmt::format("spec.rules[{}]", i));
    for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
      const PortMapping& mapping = ingress.spec.port_mappings[i];
      look_at_session(mapping.listener_attribute, mapping.protocol,
                      fmt::format("spec.portMappings[{}]", i));
    }
  }
  void look_at(const PortPool& pool) {
    look_at_session(pool.spec.listener_attribute, "UDP", "spec");
  }
  std::vector<std::string> take() && { return std::move(out_); }

 private:
  void warn(const std::string& field, std::string_view found) {
    out_.push_back(
        fmt::format("{}: {}: '{}' is kept and not acted on with {} load balancers, which "
                    "have no such thing",
                    object_, field, found, provider_.title));
  }

  void look_at_rule(const IngressRule& rule, const std::string& path) {
    look_at_session(rule.listener_attribute, rule.protocol, path);
    if (model::parse_protocol(rule.protocol) != model::Protocol::https) return;
    for (std::size_t i = 0; i < rule.layer7_routes.size(); ++i) {
      const std::string& forward = rule.layer7_routes[i].forward_type;
      const bool lacks = (forward == kForwardGrpc && !provider_.layer7.has_grpc) ||
                         (forward == kForwardQuic && !provider_.layer7.has_quic);
      if (lacks) warn(fmt::format("{}.layer7Routes[{}].forwardType", path, i), forward);
    }
  }

  void look_at_session(const Boxed<ListenerAttribute>& attribute, const std::string& protocol,
                       const std::string& path) {
    if (!attribute || attribute->session_type != kQuicSessions ||
        provider_.layer4.has_quic_sessions)
      return;
    if (model::parse_protocol(protocol) == model::Protocol::udp)
      warn(path + ".listenerAttribute.sessionType", kQuicSessions);
  }

  const std::string object_;
  const ProviderTraits& provider_;
  std::vector<std::string> out_;
};

template <typename Kind>
std::vector<std::string> warnings_of(std::string_view kind, const Kind& object,
                                     const std::set<model::Provider>& providers) {
  std::vector<std::string> out;
  for (const model::Provider provider : providers) {
    Warnings warnings(fmt::format("{} {}", kind, object.meta.key().to_string()),
                      model::traits_of(provider));
    warnings.look_at(object);
    std::ranges::move(std::move(warnings).take(), std::back_inserter(out));
  }
  return out;
}

}  // namespace

std::vector<std::string> warnings_about(const Ingress& ingress,
                                        const std::set<model::Provider>& providers) {
  return warnings_of("Ingress", ingress, providers);
}

std::vector<std::string> warnings_about(const PortPool& pool,
                                        const std::set<model::Provider>& providers) {
  return warnings_of("PortPool", pool, providers);
}

}  // namespace berth::api
