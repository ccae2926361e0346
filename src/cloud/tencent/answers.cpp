#include "cloud/tencent/answers.h"

#include <algorithm>

namespace berth::cloud::tencent {
namespace {

using model::HealthCheck;
using model::ListenerId;
using model::Protocol;
using model::RuleAttributes;
using model::RuleKey;
using model::TargetProtocol;
using wire::Value;

// Numbers of the cloud that are none of ours are as if they were not there.
std::uint32_t number_at(const Value& value, std::string_view pointer) {
  const std::int64_t number = wire::int_at(value, pointer).value_or(0);
  return number < 0 || number > UINT32_MAX ? 0 : static_cast<std::uint32_t>(number);
}

std::string text_at(const Value& value, std::string_view pointer) {
  return std::string(wire::string_at(value, pointer));
}

template <class Visit>
void for_each_at(const Value& value, std::string_view pointer, Visit visit) {
  if (const wire::Array* list = wire::array_at(value, pointer)) std::ranges::for_each(*list, visit);
}

Result<> has_list(const Value& response, std::string_view pointer) {
  if (wire::array_at(response, pointer)) return {};
  Error error = error_of(Code::internal, "an answer of the cloud has no {}", pointer.substr(1));
  error.request_id = wire::string_at(response, "/RequestId");
  return fail(std::move(error));
}

// One that we do not know takes its port all the same, of both transports: and it is nothing that
// anybody wished of this cloud.
Protocol protocol_at(const Value& value) {
  return model::parse_protocol(wire::string_at(value, "/Protocol")).value_or(Protocol::tcp_udp);
}

model::Scheduler scheduler_at(const Value& value) {
  const std::string_view text = wire::string_at(value, "/Scheduler");
  if (text == "LEAST_CONN") return model::Scheduler::least_connections;
  if (text == "IP_HASH") return model::Scheduler::source_ip;
  return model::Scheduler::weighted_round_robin;
}

Boxed<HealthCheck> health_check_at(const Value& value, bool layer7) {
  const Value* const check = wire::find(value, "/HealthCheck");
  if (!check || !check->is_object()) return {};
  HealthCheck out{.enabled = wire::int_at(*check, "/HealthSwitch").value_or(1) != 0,
                  .timeout_seconds = number_at(*check, "/TimeOut"),
                  .interval_seconds = number_at(*check, "/IntervalTime"),
                  .healthy_count = number_at(*check, "/HealthNum"),
                  .unhealthy_count = number_at(*check, "/UnHealthNum"),
                  .port = model::port_of(wire::int_at(*check, "/CheckPort").value_or(0))};
  // Others report what they would ask for if they asked by HTTP.
  if (!layer7 && wire::string_at(*check, "/CheckType") != "HTTP") return out;
  out.http_path = text_at(*check, "/HttpCheckPath");
  out.http_method = text_at(*check, "/HttpCheckMethod");
  if (const std::uint32_t codes = number_at(*check, "/HttpCode"))
    out.http_codes = fmt::to_string(codes);
  return out;
}

Boxed<model::Tls> certificate_at(const Value& value) {
  const std::string_view id = wire::string_at(value, "/Certificate/CertId");
  if (id.empty()) return {};
  model::Tls out{.certificates = {{.reference = std::string(id)}}};
  for (std::string& more : decode_texts(value, "/Certificate/ExtCertIds"))
    out.certificates.push_back({.reference = std::move(more)});
  const std::string_view authority = wire::string_at(value, "/Certificate/CertCaId");
  if (!authority.empty() && wire::string_at(value, "/Certificate/SSLMode") == "MUTUAL")
    out.client_ca = model::Certificate{.reference = std::string(authority)};
  return out;
}

// What no rule of ours has, a hand's TRPC or gRPC without HTTP/2 to clients, agrees with none, so
// that it is put right.
TargetProtocol target_protocol_at(const Value& rule) {
  const std::string_view forward = wire::string_at(rule, "/ForwardType");
  if (forward.empty() || forward == "HTTP") return TargetProtocol::http;
  const bool http2 = wire::bool_at(rule, "/Http2").value_or(false);
  return forward == "GRPC" && http2 ? TargetProtocol::grpc : TargetProtocol::https;
}

RuleAttributes rule_attributes(const Value& value, bool layer7) {
  return {.scheduler = scheduler_at(value),
          .to_targets = layer7 ? target_protocol_at(value) : TargetProtocol::http,
          .over_quic = layer7 && wire::string_at(value, "/QuicStatus") == "QUIC_ACTIVE",
          .session_by_quic_id = !layer7 && wire::string_at(value, "/SessionType") == "QUIC_CID",
          .session_seconds = number_at(value, "/SessionExpireTime"),
          .health_check = health_check_at(value, layer7)};
}

RuleKey key_at(const Value& rule) {
  return {wire::string_at(rule, "/Domain"), wire::string_at(rule, "/Url")};
}

void add_rules(CloudListener& out, const Value& listener) {
  for_each_at(listener, "/Rules", [&](const Value& rule) {
    model::Rule one{.key = key_at(rule), .attributes = rule_attributes(rule, true)};
    if (out.seen.spec.attributes.by_server_name) one.attributes.tls = certificate_at(rule);
    out.locations[one.key] = text_at(rule, "/LocationId");
    if (wire::bool_at(rule, "/DefaultServer").value_or(false))
      out.default_domain = one.key.domain();
    out.seen.spec.rules.push_back(std::move(one));
  });
}

CloudListener decode_listener(const Value& listener) {
  CloudListener out{.seen = {.id = ListenerId(text_at(listener, "/ListenerId"))}};
  model::ListenerSpec& spec = out.seen.spec;
  spec.protocol = protocol_at(listener);
  spec.name = text_at(listener, "/ListenerName");
  const model::Port first = model::port_of(wire::int_at(listener, "/Port").value_or(0));
  const model::Port last = model::port_of(wire::int_at(listener, "/EndPort").value_or(0));
  spec.ports = {first, std::max(first, last)};
  spec.attributes.by_server_name = number_at(listener, "/SniSwitch") != 0;
  spec.attributes.keep_alive = number_at(listener, "/KeepaliveEnable") != 0;
  spec.attributes.max_rate = number_at(listener, "/MaxCps");
  if (!spec.attributes.by_server_name) spec.attributes.tls = certificate_at(listener);
  if (is_layer7(spec.protocol)) {
    add_rules(out, listener);
  } else {
    spec.rules.push_back({.attributes = rule_attributes(listener, false)});
  }
  model::sort(spec);
  return out;
}

std::vector<model::WeightedTarget> targets_at(const Value& owner) {
  std::vector<model::WeightedTarget> out;
  for_each_at(owner, "/Targets", [&](const Value& target) {
    std::string_view ip = wire::string_at(target, "/PrivateIpAddresses/0");
    if (ip.empty()) ip = wire::string_at(target, "/PublicIpAddresses/0");
    out.push_back({{std::string(ip), model::port_of(wire::int_at(target, "/Port").value_or(0))},
                   number_at(target, "/Weight")});
  });
  std::ranges::sort(out);
  return out;
}

lb::Health health_at(const Value& target) {
  std::string_view detail = wire::string_at(target, "/HealthStatusDetail");
  if (detail.empty()) detail = wire::string_at(target, "/HealthStatusDetial");
  if (detail == "Alive") return lb::Health::healthy;
  if (detail == "Dead") return lb::Health::unhealthy;
  // "Close": the check is switched off, and nobody knows, whatever gets traffic.
  if (!detail.empty()) return lb::Health::unknown;
  const std::optional<bool> status = wire::bool_at(target, "/HealthStatus");
  if (!status) return lb::Health::unknown;
  return *status ? lb::Health::healthy : lb::Health::unhealthy;
}

lb::FoundLoadBalancer decode_balancer(const Value& balancer, const std::string& region) {
  lb::FoundLoadBalancer out;
  out.ref = {.provider = model::Provider::tencent,
             .region = region,
             .id = text_at(balancer, "/LoadBalancerId")};
  out.info.name = text_at(balancer, "/LoadBalancerName");
  out.info.vips = decode_texts(balancer, "/LoadBalancerVips");
  if (std::string ipv6 = text_at(balancer, "/AddressIPv6"); !ipv6.empty() && out.info.vips.empty())
    out.info.vips.push_back(std::move(ipv6));
  out.info.dns_name = text_at(balancer, "/LoadBalancerDomain");
  if (out.info.dns_name.empty()) out.info.dns_name = text_at(balancer, "/Domain");
  out.info.type = text_at(balancer, "/LoadBalancerType");
  for_each_at(balancer, "/Tags", [&](const Value& tag) {
    out.tags.push_back({text_at(tag, "/TagKey"), text_at(tag, "/TagValue")});
  });
  return out;
}

}  // namespace

std::vector<std::string> decode_texts(const Value& response, std::string_view pointer) {
  std::vector<std::string> out;
  for_each_at(response, pointer, [&](const Value& one) {
    if (const auto* text = one.if_string()) out.emplace_back(text->data(), text->size());
  });
  return out;
}

Result<std::vector<CloudListener>> decode_listeners(const Value& response) {
  if (Result<> good = has_list(response, "/Listeners"); !good) return pass(good);
  std::vector<CloudListener> out;
  for_each_at(response, "/Listeners",
              [&](const Value& listener) { out.push_back(decode_listener(listener)); });
  return out;
}

std::vector<ListenerTargets> decode_targets(const Value& response) {
  std::vector<ListenerTargets> out;
  for_each_at(response, "/Listeners", [&](const Value& listener) {
    ListenerTargets one{.listener = ListenerId(text_at(listener, "/ListenerId")),
                        .is_layer7 = is_layer7(protocol_at(listener))};
    if (one.is_layer7) {
      for_each_at(listener, "/Rules", [&](const Value& rule) {
        one.rules.push_back(
            {{one.listener, key_at(rule)}, text_at(rule, "/LocationId"), targets_at(rule)});
      });
    } else {
      one.rules.push_back({{one.listener, {}}, {}, targets_at(listener)});
    }
    out.push_back(std::move(one));
  });
  return out;
}

std::vector<lb::TargetHealth> decode_health(const Value& response) {
  std::vector<lb::TargetHealth> out;
  for_each_at(response, "/LoadBalancers", [&](const Value& balancer) {
    for_each_at(balancer, "/Listeners", [&](const Value& listener) {
      const ListenerId id(text_at(listener, "/ListenerId"));
      const bool layer7 = is_layer7(protocol_at(listener));
      for_each_at(listener, "/Rules", [&](const Value& rule) {
        const lb::RuleRef ref{id, layer7 ? key_at(rule) : RuleKey{}};
        for_each_at(rule, "/Targets", [&](const Value& target) {
          out.push_back(
              {ref,
               {text_at(target, "/IP"), model::port_of(wire::int_at(target, "/Port").value_or(0))},
               health_at(target)});
        });
      });
    });
  });
  return out;
}

Result<std::vector<lb::FoundLoadBalancer>> decode_balancers(const Value& response,
                                                            const std::string& region) {
  if (Result<> good = has_list(response, "/LoadBalancerSet"); !good) return pass(good);
  std::vector<lb::FoundLoadBalancer> out;
  for_each_at(response, "/LoadBalancerSet",
              [&](const Value& balancer) { out.push_back(decode_balancer(balancer, region)); });
  return out;
}

std::uint32_t decode_listener_quota(const Value& response) {
  std::uint32_t out = 0;
  for_each_at(response, "/QuotaSet", [&](const Value& quota) {
    if (wire::string_at(quota, "/QuotaId") == "TOTAL_LISTENER_QUOTA")
      out = number_at(quota, "/QuotaLimit");
  });
  return out;
}

}  // namespace berth::cloud::tencent
