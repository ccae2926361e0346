#include "cloud/tencent/requests.h"

#include <algorithm>
#include <charconv>

#include "model/protocol_attributes.h"

namespace berth::cloud::tencent {
namespace {

using model::HealthCheck;
using model::ListenerAttributes;
using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::RuleAttributes;
using model::Scheduler;
using model::TargetProtocol;
using wire::Array;
using wire::Object;

// What the API takes where nothing is said. Sent when something is changed back to the default:
// what a change does not name stays as it was.
HealthCheck default_check() {
  return {.timeout_seconds = 2,
          .interval_seconds = 5,
          .healthy_count = 3,
          .unhealthy_count = 3,
          .http_path = "/",
          .http_method = "HEAD",
          .http_codes = "31"};
}
constexpr int kTargetsOwnPort = -1;
// The Host of a check by HTTP where no rule has a domain. The API wants one, and nobody's YAML has
// a place for it.
constexpr std::string_view kCheckDomain = "health.invalid";

std::string_view protocol_text(Protocol protocol) {
  return protocol == Protocol::tls ? "TCP_SSL" : model::to_string(protocol);
}

std::string_view scheduler_text(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::weighted_round_robin: return "WRR";
    case Scheduler::least_connections: return "LEAST_CONN";
    case Scheduler::source_ip: return "IP_HASH";
  }
  return "WRR";
}

// A sum of 1 (1xx), 2 (2xx), 4 (3xx), 8 (4xx) and 16 (5xx). Nothing for another text.
std::optional<int> code_mask(std::string_view codes) {
  int mask = 0;
  const auto [end, error] = std::from_chars(codes.data(), codes.data() + codes.size(), mask);
  if (error != std::errc{} || end != codes.data() + codes.size() || mask < 1 || mask > 31)
    return std::nullopt;
  return mask;
}

bool asks_by_http(const HealthCheck& check, bool layer7) {
  return layer7 || !check.http_path.empty();
}

void add_http_check(Object& out, const HealthCheck& check, bool layer7) {
  if (!layer7) {
    out.emplace("CheckType", "HTTP");
    out.emplace("HttpVersion", "HTTP/1.1");
    out.emplace("HttpCheckDomain", kCheckDomain);
  }
  if (!check.http_path.empty()) out.emplace("HttpCheckPath", check.http_path);
  if (!check.http_method.empty()) out.emplace("HttpCheckMethod", check.http_method);
  if (const auto mask = code_mask(check.http_codes)) out.emplace("HttpCode", *mask);
}

Object health_check_object(const HealthCheck& check, bool layer7) {
  Object out{{"HealthSwitch", check.enabled ? 1 : 0}};
  if (!check.enabled) return out;
  if (check.timeout_seconds) out.emplace("TimeOut", check.timeout_seconds);
  if (check.interval_seconds) out.emplace("IntervalTime", check.interval_seconds);
  if (check.healthy_count) out.emplace("HealthNum", check.healthy_count);
  if (check.unhealthy_count) out.emplace("UnHealthNum", check.unhealthy_count);
  if (check.port) out.emplace("CheckPort", check.port);
  if (asks_by_http(check, layer7)) add_http_check(out, check, layer7);
  return out;
}

// With what the API would choose wherever nothing is wished.
HealthCheck completed(const Boxed<HealthCheck>& wished, bool layer7) {
  HealthCheck out = wished ? *wished : HealthCheck{};
  const HealthCheck otherwise = default_check();
  if (!out.timeout_seconds) out.timeout_seconds = otherwise.timeout_seconds;
  if (!out.interval_seconds) out.interval_seconds = otherwise.interval_seconds;
  if (!out.healthy_count) out.healthy_count = otherwise.healthy_count;
  if (!out.unhealthy_count) out.unhealthy_count = otherwise.unhealthy_count;
  if (!asks_by_http(out, layer7)) return out;
  if (out.http_path.empty()) out.http_path = otherwise.http_path;
  if (out.http_method.empty()) out.http_method = otherwise.http_method;
  if (out.http_codes.empty()) out.http_codes = otherwise.http_codes;
  return out;
}

bool is_same_check(const Boxed<HealthCheck>& there, const Boxed<HealthCheck>& wished,
                   Protocol protocol) {
  const bool layer7 = is_layer7(protocol);
  return health_check_object(completed(there, layer7), layer7) ==
         health_check_object(completed(wished, layer7), layer7);
}

Object changed_check(const Boxed<HealthCheck>& there, const Boxed<HealthCheck>& wished,
                     Protocol protocol) {
  const bool layer7 = is_layer7(protocol);
  const HealthCheck whole = completed(wished, layer7);
  Object out = health_check_object(whole, layer7);
  if (!whole.enabled) return out;
  if (!whole.port && there && there->port) out.emplace("CheckPort", kTargetsOwnPort);
  const bool was_http = there && !there->http_path.empty();
  if (!asks_by_http(whole, layer7) && was_http && protocol != Protocol::udp)
    out.emplace("CheckType", "TCP");
  return out;
}

Object certificate_object(const model::Tls& tls) {
  Object out{{"SSLMode", tls.client_ca ? "MUTUAL" : "UNIDIRECTIONAL"},
             {"CertId", tls.certificates.front().reference}};
  if (tls.client_ca) out.emplace("CertCaId", tls.client_ca->reference);
  return out;
}

// One certificate has a field of its own; of several, each is for another kind of key.
void add_certificates(Object& out, const Boxed<model::Tls>& tls) {
  if (!tls || tls->certificates.empty()) return;
  if (tls->certificates.size() == 1) {
    out.emplace("Certificate", certificate_object(*tls));
    return;
  }
  Array list;
  for (const model::Certificate& one : tls->certificates)
    list.push_back(Object{{"CertId", one.reference}});
  out.emplace("MultiCertInfo",
              Object{{"SSLMode", "UNIDIRECTIONAL"}, {"CertList", std::move(list)}});
}

bool needs_certificate(Protocol protocol) {
  return protocol == Protocol::tls || protocol == Protocol::quic || protocol == Protocol::https;
}

bool can_have(Protocol protocol, model::Attribute attribute) {
  return model::can_have(model::Provider::tencent, protocol, attribute);
}

bool has_certificate(const Boxed<model::Tls>& tls) { return tls && !tls->certificates.empty(); }

Result<> check_tls(const Boxed<model::Tls>& tls) {
  if (!tls) return {};
  if (tls->client_ca && tls->certificates.empty())
    return fail(Code::invalid, "an authority of clients needs a server's certificate beside it");
  if (tls->client_ca && tls->certificates.size() > 1) {
    return fail(Code::unsupported,
                "CLB takes one server's certificate where clients show theirs, not {}",
                tls->certificates.size());
  }
  return {};
}

std::string_view forward_text(TargetProtocol to_targets) {
  switch (to_targets) {
    case TargetProtocol::https: return "HTTPS";
    case TargetProtocol::grpc: return "GRPC";
    case TargetProtocol::http: break;
  }
  return "HTTP";
}

// The attributes of a rule, as the whole listener has them or a rule of layer 7.
void add_rule_attributes(Object& out, const RuleAttributes& wished, Protocol protocol) {
  const bool layer7 = is_layer7(protocol);
  if (wished.scheduler != Scheduler::weighted_round_robin)
    out.emplace("Scheduler", scheduler_text(wished.scheduler));
  if (wished.session_seconds) out.emplace("SessionExpireTime", wished.session_seconds);
  if (wished.health_check)
    out.emplace("HealthCheck", health_check_object(*wished.health_check, layer7));
  if (wished.session_by_quic_id) out.emplace("SessionType", "QUIC_CID");
  if (wished.to_targets != TargetProtocol::http)
    out.emplace("ForwardType", forward_text(wished.to_targets));
}

bool add_rule_changes(Object& out, const RuleAttributes& there, const RuleAttributes& wished,
                      Protocol protocol) {
  const std::size_t before = out.size();
  if (there.scheduler != wished.scheduler)
    out.emplace("Scheduler", scheduler_text(wished.scheduler));
  if (there.session_seconds != wished.session_seconds)
    out.emplace("SessionExpireTime", wished.session_seconds);
  if (!is_same_check(there.health_check, wished.health_check, protocol))
    out.emplace("HealthCheck", changed_check(there.health_check, wished.health_check, protocol));
  if (there.session_by_quic_id != wished.session_by_quic_id)
    out.emplace("SessionType", wished.session_by_quic_id ? "QUIC_CID" : "NORMAL");
  if (there.to_targets != wished.to_targets)
    out.emplace("ForwardType", forward_text(wished.to_targets));
  return out.size() > before;
}

Object of_balancer(std::string_view lb) { return {{"LoadBalancerId", lb}}; }

Object of_listener(std::string_view lb, const ListenerId& id) {
  return {{"LoadBalancerId", lb}, {"ListenerId", id.value}};
}

Array texts(std::span<const ListenerId> ids) {
  Array out;
  for (const ListenerId& id : ids) out.emplace_back(id.value);
  return out;
}

Array texts(std::span<const std::string> items) {
  Array out;
  for (const std::string& item : items) out.emplace_back(item);
  return out;
}

}  // namespace

Result<> check_attributes(Protocol protocol, const ListenerAttributes& wished) {
  if (wished.by_server_name && protocol != Protocol::https)
    return fail(Code::unsupported, "only HTTPS listeners choose certificates by server name");
  if (wished.by_server_name && has_certificate(wished.tls)) {
    return fail(error_of(Code::invalid,
                         "a listener that chooses certificates by server name has none of its own")
                    .with_hint("give the certificate to each of its rules"));
  }
  if (wished.keep_alive && !is_layer7(protocol))
    return fail(Code::unsupported, "only HTTP and HTTPS listeners keep connections to targets");
  if (wished.max_rate && !can_have(protocol, model::Attribute::rate))
    return fail(Code::unsupported, "CLB bounds the rate of layer 4 listeners only");
  return check_tls(wished.tls);
}

Result<> check_rule(Protocol protocol, const RuleAttributes& wished) {
  const bool layer7 = is_layer7(protocol);
  if (wished.scheduler == Scheduler::source_ip && !layer7)
    return fail(Code::unsupported, "IP_HASH is for HTTP and HTTPS; others know WRR, LEAST_CONN");
  if (wished.to_targets == TargetProtocol::https && !layer7)
    return fail(Code::unsupported, "only HTTP and HTTPS rules speak TLS to targets");
  if (wished.to_targets == TargetProtocol::grpc && protocol != Protocol::https)
    return fail(Code::unsupported, "only HTTPS rules lead to gRPC: it needs HTTP/2");
  if (wished.over_quic && protocol != Protocol::https)
    return fail(Code::unsupported, "only HTTPS rules are reached over QUIC");
  if (wished.session_seconds && !can_have(protocol, model::Attribute::session_time))
    return fail(Code::unsupported, "CLB keeps no sessions for {}", protocol_text(protocol));
  if (wished.health_check && !wished.health_check->http_path.empty() &&
      !can_have(protocol, model::Attribute::http_probe))
    return fail(Code::unsupported, "CLB asks no targets of {} by HTTP", protocol_text(protocol));
  if (wished.session_by_quic_id && protocol != Protocol::udp)
    return fail(Code::unsupported,
                "only UDP listeners keep sessions by QUIC connection (QUIC_CID)");
  if (wished.health_check && !wished.health_check->http_codes.empty() &&
      !code_mask(wished.health_check->http_codes)) {
    return fail(error_of(Code::invalid, "HTTP codes '{}' are not a sum of 1, 2, 4, 8 and 16",
                         wished.health_check->http_codes)
                    .with_hint("1 is for 1xx, 2 for 2xx, 4 for 3xx, 8 for 4xx, 16 for 5xx"));
  }
  return check_tls(wished.tls);
}

Result<> check_listener(const ListenerSpec& spec) {
  if (!model::traits_of(model::Provider::tencent).abilities.protocols.has(spec.protocol))
    return fail(Code::unsupported, "CLB has no {} listeners", model::to_string(spec.protocol));
  if (spec.ports.size() > 1 && spec.protocol != Protocol::tcp && spec.protocol != Protocol::udp)
    return fail(Code::unsupported, "only TCP and UDP listeners have port ranges");
  if (Result<> good = check_attributes(spec.protocol, spec.attributes); !good) return good;
  if (needs_certificate(spec.protocol) && !spec.attributes.by_server_name &&
      !has_certificate(spec.attributes.tls)) {
    return fail(Code::invalid, "a listener of {} needs a certificate",
                protocol_text(spec.protocol));
  }
  if (is_layer7(spec.protocol) || spec.rules.empty()) return {};
  return check_rule(spec.protocol, spec.rules.front().attributes);
}

Object create_listeners_body(std::string_view lb, std::span<const ListenerSpec* const> specs) {
  const ListenerSpec& first = *specs.front();
  Object out = of_balancer(lb);
  Array ports;
  Array names;
  for (const ListenerSpec* spec : specs) {
    ports.emplace_back(spec->ports.first);
    names.emplace_back(spec->name);
  }
  out.emplace("Ports", std::move(ports));
  out.emplace("Protocol", protocol_text(first.protocol));
  out.emplace("ListenerNames", std::move(names));
  if (first.ports.size() > 1) out.emplace("EndPort", first.ports.last);
  if (first.attributes.by_server_name) out.emplace("SniSwitch", 1);
  if (first.attributes.keep_alive) out.emplace("KeepaliveEnable", 1);
  if (first.attributes.max_rate) out.emplace("MaxCps", first.attributes.max_rate);
  add_certificates(out, first.attributes.tls);
  if (!is_layer7(first.protocol) && !first.rules.empty())
    add_rule_attributes(out, first.rules.front().attributes, first.protocol);
  return out;
}

std::optional<Object> modify_listener_body(std::string_view lb, const ListenerId& id,
                                           const ListenerAttributes& there,
                                           const ListenerAttributes& wished) {
  Object out = of_listener(lb, id);
  const std::size_t before = out.size();
  if (there.by_server_name != wished.by_server_name)
    out.emplace("SniSwitch", wished.by_server_name ? 1 : 0);
  if (there.keep_alive != wished.keep_alive)
    out.emplace("KeepaliveEnable", wished.keep_alive ? 1 : 0);
  if (there.max_rate != wished.max_rate)
    out.emplace("MaxCps", wished.max_rate ? static_cast<std::int64_t>(wished.max_rate) : -1);
  if (has_certificate(wished.tls) && there.tls != wished.tls) add_certificates(out, wished.tls);
  if (out.size() == before) return std::nullopt;
  return out;
}

std::optional<Object> modify_plain_rule_body(std::string_view lb, const ListenerId& id,
                                             Protocol protocol, const RuleAttributes& there,
                                             const RuleAttributes& wished) {
  Object out = of_listener(lb, id);
  if (!add_rule_changes(out, there, wished, protocol)) return std::nullopt;
  return out;
}

std::optional<Object> modify_rule_body(std::string_view lb, const ListenerId& id,
                                       std::string_view location, const RuleAttributes& there,
                                       const RuleAttributes& wished) {
  Object out = of_listener(lb, id);
  out.emplace("LocationId", location);
  if (!add_rule_changes(out, there, wished, Protocol::http)) return std::nullopt;
  return out;
}

std::optional<Object> modify_domain_body(std::string_view lb, const lb::RuleRef& rule,
                                         const RuleAttributes& there,
                                         const RuleAttributes& wished) {
  Object out = of_listener(lb, rule.listener);
  out.emplace("Domain", rule.key.domain());
  const std::size_t before = out.size();
  if (there.to_targets != wished.to_targets && wished.to_targets == TargetProtocol::grpc)
    out.emplace("Http2", true);
  if (there.over_quic != wished.over_quic) out.emplace("Quic", wished.over_quic);
  if (has_certificate(wished.tls) && there.tls != wished.tls) add_certificates(out, wished.tls);
  if (out.size() == before) return std::nullopt;
  return out;
}

Object create_rules_body(std::string_view lb, const ListenerId& id,
                         std::span<const lb::NewRule* const> rules) {
  Array list;
  for (const lb::NewRule* rule : rules) {
    Object one{{"Domain", rule->rule.key.domain()}, {"Url", rule->rule.key.path()}};
    add_rule_attributes(one, rule->attributes, Protocol::http);
    if (rule->attributes.to_targets == TargetProtocol::grpc) one.emplace("Http2", true);
    if (rule->attributes.over_quic) one.emplace("Quic", true);
    add_certificates(one, rule->attributes.tls);
    list.push_back(std::move(one));
  }
  Object out = of_listener(lb, id);
  out.emplace("Rules", std::move(list));
  return out;
}

Object delete_rules_body(std::string_view lb, const ListenerId& id,
                         std::span<const std::string> locations,
                         std::string_view new_default_domain) {
  Object out = of_listener(lb, id);
  out.emplace("LocationIds", texts(locations));
  if (!new_default_domain.empty()) out.emplace("NewDefaultServerDomain", new_default_domain);
  return out;
}

Result<Object> delete_listeners_body(std::string_view lb, std::span<const ListenerId> ids) {
  if (ids.empty() || std::ranges::any_of(ids, &ListenerId::empty))
    return fail(Code::invalid, "a removal of listeners must name each of them");
  Object out = of_balancer(lb);
  out.emplace("ListenerIds", texts(ids));
  return out;
}

}  // namespace berth::cloud::tencent
