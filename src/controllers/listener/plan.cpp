#include "controllers/listener/plan.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <span>

#include "api/keys.h"
#include "api/walkers.h"
#include "claims/slot.h"
#include "crypto/digest.h"
#include "model/protocol_attributes.h"

namespace berth::controllers::listener {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// The shortest limit of a provider has room for this, a digest and something for people.
constexpr std::size_t kMaxClusterId = 32;
// Of a digest: no two objects of a cluster meet in 64 bits.
constexpr std::size_t kDigestLength = 16;

// Nobody asks the client who it is.
constexpr std::string_view kOneWay = "UNIDIRECTIONAL";

std::uint32_t bounded(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 1'000'000));
}

model::Scheduler scheduler_of(const std::string& policy) {
  if (policy == "LEAST_CONN") return model::Scheduler::least_connections;
  if (policy == "IP_HASH") return model::Scheduler::source_ip;
  return model::Scheduler::weighted_round_robin;
}

std::string first_of(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

model::HealthCheck health_check_of(const api::ListenerHealthCheck& check, bool by_http) {
  model::HealthCheck out{.enabled = check.enabled,
                         .timeout_seconds = bounded(check.timeout),
                         .interval_seconds = bounded(check.interval_time),
                         .healthy_count = bounded(check.health_num),
                         .unhealthy_count = bounded(check.unhealth_num),
                         .port = model::port_of(check.health_check_port)};
  if (!by_http) return out;
  out.http_path = check.http_check_path;
  out.http_method = check.http_check_method;
  out.http_codes = check.http_code_values.empty() && check.http_code > 0
                       ? fmt::format("{}", check.http_code)
                       : check.http_code_values;
  return out;
}

// At layer 4 it is the path that asks for it.
bool asks_by_http(const api::ListenerHealthCheck& check, model::Provider provider,
                  model::Protocol protocol) {
  return model::can_have(provider, protocol, model::Attribute::http_probe) &&
         (model::is_layer7(protocol) || !check.http_check_path.empty());
}

// Where a Listener is: what its texts of certificates mean depends on it.
struct Home {
  std::string_view ns;
  model::Provider provider = model::Provider::edge;
};

model::Certificate certificate_of(const std::string& text, const Home& home) {
  if (!model::traits_of(home.provider).certificates_are_secrets) return {.reference = text};
  return {.reference = fmt::format("{}/{}", home.ns, text)};
}

Boxed<model::Tls> tls_of(const Boxed<api::ListenerCertificate>& certificate, const Home& home) {
  if (!certificate || certificate->cert_id.empty()) return {};
  model::Tls out{.certificates = {certificate_of(certificate->cert_id, home)}};
  // Who changes the mode back may leave the authority where it is.
  if (!certificate->cert_ca_id.empty() && certificate->mode != kOneWay)
    out.client_ca = certificate_of(certificate->cert_ca_id, home);
  return out;
}

model::ListenerAttributes listener_attributes_of(const api::ListenerSpec& spec,
                                                 model::Protocol protocol, const Home& home) {
  model::ListenerAttributes out;
  // All Listeners of a pool's item carry its certificate, and those of UDP have no use for it.
  if (api::ends_tls(protocol)) out.tls = tls_of(spec.certificate, home);
  if (!spec.listener_attribute) return out;
  const api::ListenerAttribute& attribute = *spec.listener_attribute;
  out.by_server_name = attribute.sni_switch != 0 && protocol == model::Protocol::https;
  out.keep_alive = attribute.keep_alive_enable != 0 && model::is_layer7(protocol);
  if (model::can_have(home.provider, protocol, model::Attribute::rate))
    out.max_rate = bounded(attribute.max_rate);
  return out;
}

model::RuleAttributes rule_attributes_of(const Boxed<api::ListenerAttribute>& written,
                                         model::Provider provider, model::Protocol protocol) {
  model::RuleAttributes out;
  if (!written) return out;
  const model::ProviderTraits& traits = model::traits_of(provider);
  const model::AttributeLimits& limits = model::is_layer7(protocol) ? traits.layer7 : traits.layer4;
  out.session_by_quic_id = limits.has_quic_sessions && protocol == model::Protocol::udp &&
                           written->session_type == api::kQuicSessions;
  // Connections know their target by its place in the round.
  if (!out.session_by_quic_id) out.scheduler = scheduler_of(written->lb_policy);
  const bool keeps_sessions = model::can_have(provider, protocol, model::Attribute::session_time) &&
                              (!limits.sessions_need_round_robin ||
                               out.scheduler == model::Scheduler::weighted_round_robin);
  if (keeps_sessions) out.session_seconds = bounded(written->session_time);
  if (written->health_check) {
    const bool by_http = asks_by_http(*written->health_check, provider, protocol);
    out.health_check = health_check_of(*written->health_check, by_http);
  }
  return out;
}

std::vector<model::WeightedTarget> targets_of(const Boxed<api::ListenerTargetGroup>& group) {
  std::vector<model::WeightedTarget> out;
  if (!group) return out;
  for (const api::ListenerBackend& backend : group->backends) {
    out.push_back({{backend.ip, static_cast<model::Port>(backend.port)},
                   static_cast<std::uint32_t>(std::max<std::int64_t>(backend.weight, 0))});
  }
  std::ranges::sort(out);
  const auto same = std::ranges::unique(out, {}, &model::WeightedTarget::target);
  out.erase(same.begin(), same.end());
  return out;
}

// The group's protocol is its route's forward type, where it has one.
void lead_by(std::string_view forward_type, const model::AttributeLimits& limits,
             model::RuleAttributes& out) {
  if (limits.has_grpc && forward_type == api::kForwardGrpc)
    out.to_targets = model::TargetProtocol::grpc;
  out.over_quic = limits.has_quic && forward_type == api::kForwardQuic;
}

// Clients choose QUIC before they say a path, so rules of one domain have it together.
void share_quic(std::vector<model::Rule>& rules) {
  std::set<std::string> domains;
  for (const model::Rule& rule : rules)
    if (rule.attributes.over_quic) domains.emplace(rule.key.domain());
  for (model::Rule& rule : rules)
    rule.attributes.over_quic = domains.contains(std::string(rule.key.domain()));
}

// A listener of layer 7 has those that are written; any other has one, of what the listener says.
Result<std::vector<model::Rule>> rules_of(const api::ListenerSpec& spec, model::Protocol protocol,
                                          const Home& home) {
  std::vector<model::Rule> out;
  const model::ProviderTraits& traits = model::traits_of(home.provider);
  if (!model::is_layer7(protocol)) {
    out.push_back(
        {.attributes = rule_attributes_of(spec.listener_attribute, home.provider, protocol),
         .targets = targets_of(spec.target_group)});
    return out;
  }
  for (const api::ListenerRule& rule : spec.rules) {
    out.push_back(
        {.key = {rule.domain, first_of(rule.path, "/")},
         .attributes = rule_attributes_of(rule.listener_attribute, home.provider, protocol),
         .targets = targets_of(rule.target_group)});
    out.back().attributes.tls = tls_of(rule.certificate, home);
    if (protocol == model::Protocol::https && rule.target_group)
      lead_by(rule.target_group->protocol, traits.layer7, out.back().attributes);
  }
  std::ranges::sort(out, {}, &model::Rule::key);
  share_quic(out);
  const auto twice = std::ranges::adjacent_find(out, {}, &model::Rule::key);
  if (twice == out.end()) return out;
  return fail(error_of(Code::invalid, "'{}' is there twice", model::to_string(twice->key))
                  .at("spec.rules")
                  .with_hint("domain and path together name a rule"));
}

bool overlaps(const api::Grant& grant, const model::PortRange& ports) {
  return grant.start_port <= ports.last && ports.first <= grant.end_port;
}

bool is_owned_by(const api::Listener& listener, const ledger::Grant& grant) {
  return listener.meta.ns.view() == grant.owner.ns && !grant.owner.uid.empty() &&
         std::ranges::any_of(listener.meta.owners, [&](const kube::OwnerReference& owner) {
           return owner.uid == grant.owner.uid;
         });
}

void add_missing(const std::vector<api::Grant>& from, const std::vector<api::Grant>& in,
                 std::vector<api::Grant>& out) {
  for (const api::Grant& grant : from) {
    if (std::ranges::find(in, grant) == in.end()) out.push_back(grant);
  }
}

// Of what says whom it leads to, and how ("1f…-9a…"): the first.
std::string leads_part(const std::string& hash) { return hash.substr(0, hash.find('-') + 1); }

Object put(std::string path, Value value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}
void put_text(std::string_view path, std::string_view now, std::string_view wanted, Array& patch) {
  if (now != wanted) patch.push_back(put(std::string(path), Value(wanted)));
}

}  // namespace

std::string Naming::listener_name(const api::Listener& listener, model::Provider provider) const {
  const std::string key = listener.meta.key().to_string();
  const std::string digest = crypto::sha256_hex(key).substr(0, kDigestLength);
  const std::string begin = prefix();
  const std::size_t longest = model::traits_of(provider).abilities.max_listener_name;
  const std::size_t room = longest - begin.size() - digest.size() - 1;
  return fmt::format("{}{}_{}", begin, listener.meta.name.substr(0, room), digest);
}

Result<> check_cluster_id(std::string_view id) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!id.empty() && id.size() <= kMaxClusterId && std::ranges::all_of(id, is_inner) &&
      id.front() != '-' && id.back() != '-')
    return {};
  return fail(Code::invalid,
              "'{}' is not a cluster id: at most {} lower-case letters, digits and '-', which "
              "neither begins nor ends it",
              id, kMaxClusterId);
}

Result<engine::Wish> wish_of(const api::Listener& listener, const Naming& naming) {
  const std::string object = "Listener " + listener.meta.key().to_string();
  const Result<model::Protocol> protocol = model::parse_protocol(listener.spec.protocol);
  if (!protocol) return fail(Error(protocol.error()).about(object).at("spec.protocol"));
  const auto lb = claims::load_balancer_of(listener, naming.defaults);
  if (!lb) {
    return fail(
        error_of(Code::invalid, "'{}' is not a load balancer", listener.spec.load_balancer_id)
            .about(object)
            .at("spec.loadbalancerID"));
  }
  engine::Wish wish{.lb = *lb,
                    .protocol = *protocol,
                    .ports = api::ports_of(listener.spec),
                    .name = naming.listener_name(listener, lb->provider),
                    .known_id = model::ListenerId(listener.status.listener_id),
                    .version = version_of(listener)};
  if (!listener.meta.deleting) {
    const Home home{listener.meta.ns.view(), lb->provider};
    Result<std::vector<model::Rule>> rules = rules_of(listener.spec, *protocol, home);
    if (!rules) return fail(std::move(rules.error()).about(object));
    wish.spec =
        model::ListenerSpec{.protocol = *protocol,
                            .ports = wish.ports,
                            .name = wish.name,
                            .attributes = listener_attributes_of(listener.spec, *protocol, home),
                            .rules = std::move(*rules)};
  }
  return wish;
}

namespace {

Failure not_granted(const api::Listener& listener, const engine::Wish& wish,
                    model::Transport transport, const ledger::Grant* others) {
  std::string owner = "granted to nobody";
  if (others) {
    owner = "granted to " + others->owner.to_string();
    owner += is_owned_by(listener, *others)
                 ? fmt::format(" from {} to {} only", others->ports.first, others->ports.last)
                 : ", which does not own this Listener";
  }
  return fail(
      error_of(Code::forbidden, "{} ports {}-{} of {} are {}", model::to_string(transport),
               wish.ports.first, wish.ports.last, model::to_string(wish.lb), owner)
          .about("Listener " + listener.meta.key().to_string())
          .at("spec.port")
          .with_hint("a Listener is acted on only for the owner that made it and has the "
                     "ports: delete this one, and ask a PortPool or an Ingress for a port"));
}

Result<model::PortRange> granted_ports(const api::Listener& listener, const engine::Wish& wish,
                                       model::Transport transport,
                                       const std::vector<ledger::Grant>& grants) {
  const ledger::Grant* others = nullptr;
  for (const ledger::Grant& grant : grants) {
    if (!grant.ports.overlaps(wish.ports) || grant.transport != transport) continue;
    if (grant.ports.contains(wish.ports) && is_owned_by(listener, grant)) return grant.ports;
    others = &grant;
  }
  return not_granted(listener, wish, transport, others);
}

}  // namespace

Result<model::PortRange> granted_ports(const api::Listener& listener, const engine::Wish& wish,
                                       const std::vector<ledger::Grant>& grants) {
  std::optional<model::PortRange> own;
  for (const model::Transport transport : model::transports_of(wish.protocol)) {
    const Result<model::PortRange> part = granted_ports(listener, wish, transport, grants);
    if (!part) return part;
    own = own ? model::PortRange{std::max(own->first, part->first), std::min(own->last, part->last)}
              : *part;
  }
  return *own;
}

bool is_anybodys(const engine::Wish& wish, const std::vector<ledger::Grant>& grants) {
  const auto ways = model::transports_of(wish.protocol);
  return std::ranges::any_of(grants, [&](const ledger::Grant& grant) {
    return grant.ports.overlaps(wish.ports) &&
           std::ranges::find(ways, grant.transport) != ways.end();
  });
}

Error not_sealed(const api::Listener& listener, claims::Trust trust) {
  return error_of(Code::forbidden, "{}",
                  trust == claims::Trust::forged
                      ? "somebody wrote it, or changed what it is: its seal does not fit"
                      : "it has no seal of ours")
      .about("Listener " + listener.meta.key().to_string())
      .at(fmt::format("metadata.annotations[{}]", claims::kSealAnnotation))
      .with_hint("what an owner wants is put right for it in a moment; delete any other");
}

std::vector<api::Grant> changed_grants(const std::vector<api::Grant>& before,
                                       const std::vector<api::Grant>& after) {
  std::vector<api::Grant> out;
  if (before == after) return out;
  add_missing(before, after, out);
  add_missing(after, before, out);
  return out;
}

bool is_about(const std::vector<api::Grant>& grants, const api::Listener& listener) {
  const model::PortRange ports = api::ports_of(listener.spec);
  return std::ranges::any_of(grants,
                             [&](const api::Grant& grant) { return overlaps(grant, ports); });
}

engine::Wish name_only(const api::Listener& listener, const model::LoadBalancerRef& lb,
                       const Naming& naming) {
  return {.lb = lb,
          .name = naming.listener_name(listener, lb.provider),
          .known_id = model::ListenerId(listener.status.listener_id),
          .version = version_of(listener)};
}

engine::WishVersion version_of(const api::Listener& listener) {
  return engine::WishVersion(fmt::format("{}/{}{}", listener.meta.uid,
                                         claims::spec_hash(listener.spec),
                                         listener.meta.deleting ? "/deleting" : ""));
}

claims::ListenerPatch outcome_patch(const api::Listener& listener, const engine::Outcome& outcome) {
  Array patch;
  const api::ListenerStatus& status = listener.status;
  const std::string applied =
      "/metadata/annotations/" + wire::escape_pointer_step(claims::kAppliedAnnotation);
  const bool is_nowhere = outcome.nowhere && !claims::has_targets(listener.spec);
  if (outcome.result) {
    if (!claims::is_applied(listener))
      patch.push_back(put(applied, Value(claims::spec_hash(listener.spec))));
    put_text("/status/listenerID", status.listener_id, outcome.listener_id.value, patch);
    put_text("/status/status", status.status, api::kSynced, patch);
    put_text("/status/msg", status.message, "", patch);
  } else {
    // What it led to is not known any more: who relies on it must hear of it.
    if (outcome.astray && claims::are_targets_applied(listener)) patch.push_back(put(applied, ""));
    // Whoever waits until nobody is reached through it goes on; it is not in place all the same.
    if (is_nowhere && !claims::leads_nowhere(listener))
      patch.push_back(put(applied, Value(leads_part(claims::spec_hash(listener.spec)))));
    // Nor is there a listener: a port that nobody has is not given to anybody until it is made.
    if (is_nowhere) put_text("/status/listenerID", status.listener_id, "", patch);
    put_text("/status/status", status.status, api::kNotSynced, patch);
    put_text("/status/msg", status.message, outcome.result.error().to_string(), patch);
  }
  if (patch.empty()) return {};
  // One that people wrote has no status to add to.
  if (api::encode(status).empty()) patch.insert(patch.begin(), put("/status", Object{}));
  // Only while the spec is still the one that was applied, for whom it was: a status must not speak
  // of another. A peer has no claim that tells apart whom it led to meanwhile; that it leads astray
  // must be heard at any rate.
  return {.tests = claims::tests_of(listener),
          .changes = std::move(patch),
          .same_generation = (outcome.result || is_nowhere) && claims::is_peer(listener)};
}

}  // namespace berth::controllers::listener
