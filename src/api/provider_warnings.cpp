#include "api/provider_warnings.h"

#include <algorithm>
#include <iterator>

#include "model/protocol_attributes.h"

namespace berth::api {
namespace {

using model::ProviderTraits;

class Warnings {
 public:
  Warnings(std::string object, model::Provider provider)
      : object_(std::move(object)), id_(provider), provider_(model::traits_of(provider)) {}

  void look_at(const Ingress& ingress) {
    for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i)
      look_at_rule(ingress.spec.rules[i], fmt::format("spec.rules[{}]", i));
    for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
      const PortMapping& mapping = ingress.spec.port_mappings[i];
      const std::string path = fmt::format("spec.portMappings[{}]", i);
      look_at_session(mapping.listener_attribute, mapping.protocol, path);
      look_at_attribute(mapping.listener_attribute, protocols_of(mapping.protocol), path);
    }
  }
  void look_at(const PortPool& pool) {
    look_at_session(pool.spec.listener_attribute, "UDP", "spec");
    Protocols all;
    for (const PortPoolItem& item : pool.spec.pool_items) {
      const auto protocols = api::protocols_of(item);
      if (protocols) all.insert(protocols->begin(), protocols->end());
    }
    look_at_attribute(pool.spec.listener_attribute, all, "spec");
  }
  std::vector<std::string> take() && { return std::move(out_); }

 private:
  using Protocols = std::set<model::Protocol>;
  using Attribute = model::Attribute;

  void warn(const std::string& field, std::string_view found) {
    out_.push_back(
        fmt::format("{}: {}: '{}' is kept and not acted on with {} load balancers, which "
                    "have no such thing",
                    object_, field, found, provider_.title));
  }

  void look_at_rule(const IngressRule& rule, const std::string& path) {
    look_at_session(rule.listener_attribute, rule.protocol, path);
    look_at_attribute(rule.listener_attribute, protocols_of(rule.protocol), path);
    if (!is(rule.protocol, model::Protocol::https)) return;
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
    if (is(protocol, model::Protocol::udp))
      warn(path + ".listenerAttribute.sessionType", kQuicSessions);
  }

  static bool is(const std::string& text, model::Protocol protocol) {
    const Result<model::Protocol> read = model::parse_protocol(text);
    return read && *read == protocol;
  }

  static Protocols protocols_of(const std::string& text) {
    const Result<model::Protocol> read = model::parse_protocol(text);
    return read ? Protocols{*read} : Protocols{};
  }

  // What the protocols of these listeners cannot have there, though others may.
  void look_at_attribute(const Boxed<ListenerAttribute>& attribute, const Protocols& protocols,
                         const std::string& path) {
    if (!attribute) return;
    const auto look = [&](std::string_view field, std::string_view found, Attribute what) {
      const std::string lacking = that_lack(protocols, what);
      if (lacking.empty()) return;
      out_.push_back(fmt::format(
          "{}: {}.listenerAttribute.{}: '{}' is kept and not acted on for {} with {} load "
          "balancers, which have no such thing there",
          object_, path, field, found, lacking, provider_.title));
    };
    if (attribute->session_time != 0)
      look("sessionTime", fmt::format("{}", attribute->session_time), Attribute::session_time);
    if (attribute->max_rate != 0)
      look("maxRate", fmt::format("{}", attribute->max_rate), Attribute::rate);
    const Boxed<ListenerHealthCheck>& check = attribute->health_check;
    if (check && check->enabled && !check->http_check_path.empty())
      look("healthCheck.httpCheckPath", check->http_check_path, Attribute::http_probe);
  }

  std::string that_lack(const Protocols& protocols, Attribute what) const {
    std::string out;
    for (const model::Protocol protocol : protocols) {
      if (!provider_.abilities.protocols.has(protocol) || model::can_have(id_, protocol, what))
        continue;
      out += fmt::format("{}{}", out.empty() ? "" : ", ",
                         protocol == model::Protocol::tls ? kTlsProtocol : to_string(protocol));
    }
    return out;
  }

  const std::string object_;
  const model::Provider id_;
  const ProviderTraits& provider_;
  std::vector<std::string> out_;
};

template <typename Kind>
std::vector<std::string> warnings_of(std::string_view kind, const Kind& object,
                                     const std::set<model::Provider>& providers) {
  std::vector<std::string> out;
  for (const model::Provider provider : providers) {
    Warnings warnings(fmt::format("{} {}", kind, object.meta.key().to_string()), provider);
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
