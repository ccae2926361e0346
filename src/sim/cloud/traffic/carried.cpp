#include "sim/cloud/traffic/carried.h"

#include <boost/json.hpp>

#include "edge/address_plan.h"

namespace berth::sim::traffic {
namespace {

model::Scheduler scheduler_of(std::string_view text) {
  if (text == "LEAST_CONN") return model::Scheduler::least_connections;
  if (text == "IP_HASH") return model::Scheduler::source_ip;
  return model::Scheduler::weighted_round_robin;
}

std::optional<model::Tls> tls_of(const wire::Object& certificate) {
  const wire::Value all(certificate);
  const std::string_view id = wire::string_at(all, "/CertId");
  if (id.empty()) return std::nullopt;
  model::Tls out{.certificates = {{.reference = std::string(id)}}};
  const wire::Array* more = wire::array_at(all, "/ExtCertIds");
  for (const wire::Value& one : more ? *more : wire::Array{})
    out.certificates.push_back({.reference = std::string(wire::string_at(one, ""))});
  if (const std::string_view ca = wire::string_at(all, "/CertCaId"); !ca.empty())
    out.client_ca = model::Certificate{.reference = std::string(ca)};
  return out;
}

std::vector<model::WeightedTarget> targets_of(const tencent::Rule& rule) {
  std::vector<model::WeightedTarget> out;
  for (const tencent::Target& one : rule.targets)
    out.push_back({{one.ip, model::port_of(one.port)}, static_cast<std::uint32_t>(one.weight)});
  return out;
}

model::TargetProtocol target_protocol_of(const tencent::Rule& rule) {
  if (rule.forward_type == "HTTPS") return model::TargetProtocol::https;
  return rule.forward_type == "GRPC" ? model::TargetProtocol::grpc : model::TargetProtocol::http;
}

model::RuleAttributes attributes_of(const tencent::Rule& rule) {
  model::RuleAttributes out{.scheduler = scheduler_of(rule.scheduler),
                            .to_targets = target_protocol_of(rule),
                            .session_seconds = static_cast<std::uint32_t>(rule.session_seconds)};
  if (auto tls = tls_of(rule.certificate)) out.tls = std::move(*tls);
  return out;
}

}  // namespace

std::string loopback_of(std::string_view vip) {
  return vip.starts_with("127.") ? std::string(vip) : edge::loopback_address(std::string(vip));
}

Result<model::ListenerSpec> carried_as(const tencent::Listener& listener) {
  const auto protocol = model::parse_protocol(listener.protocol);
  const bool layer7 = protocol && model::is_layer7(*protocol);
  if (!protocol || *protocol == model::Protocol::quic || (!layer7 && listener.rules.size() != 1))
    return fail(Code::unsupported, "{} carries no traffic yet", listener.protocol);
  model::ListenerSpec out{
      .protocol = *protocol,
      .ports = {model::port_of(listener.port), model::port_of(listener.last_port())},
      // Names are not unique at the cloud, and need not be there at all; ids are.
      .name = listener.id,
      .attributes = {.by_server_name = listener.sni != 0, .keep_alive = listener.keepalive != 0}};
  if (auto tls = tls_of(listener.certificate)) out.attributes.tls = std::move(*tls);
  for (const tencent::Rule& rule : listener.rules) {
    model::Rule one{.attributes = attributes_of(rule), .targets = targets_of(rule)};
    if (!layer7) out.rules.push_back(one);
    for (const std::string& domain : layer7 ? rule.domains : std::vector<std::string>{}) {
      one.key = {domain, rule.url};
      out.rules.push_back(one);
    }
  }
  model::sort(out);
  return out;
}

bool is_same_listener(const model::ListenerSpec& a, const model::ListenerSpec& b) {
  return a.protocol == b.protocol && a.ports == b.ports && a.name == b.name &&
         a.attributes == b.attributes;
}

}  // namespace berth::sim::traffic
