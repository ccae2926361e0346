// Rules of layer 7: create, modify, delete; and what a domain of a listener has.
#include <algorithm>
#include <boost/json.hpp>

#include "sim/cloud/tencent/attributes.h"
#include "sim/cloud/tencent/encode.h"
#include "sim/cloud/tencent/operations.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

constexpr std::int64_t kMinSession = 30;

struct Layer7 {
  LoadBalancer* lb = nullptr;
  Listener* listener = nullptr;
};

Outcome<Layer7> layer7(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto there = listener(**lb, call.in.text("ListenerId"));
  if (!there) return pass(there);
  if (is_layer7((*there)->protocol)) return Layer7{*lb, *there};
  return refuse("InvalidParameterValue", "This interface only support HTTP/HTTPS listener.");
}

// Puts the listener's rules in the place of those that are there when the task ends.
void set_rules(Call& call, const Layer7& where, std::vector<Rule> rules) {
  begin_task(call, {where.lb->id},
             [lb = where.lb->id, id = where.listener->id, rules = std::move(rules)](State& state,
                                                                                    WallTime) {
               const auto at = state.load_balancers.find(lb);
               if (at == state.load_balancers.end()) return;
               const auto listener = at->second.listeners.find(id);
               if (listener != at->second.listeners.end()) listener->second.rules = rules;
             });
}

Outcome<> check_session(std::int64_t seconds) {
  if (seconds == 0 || seconds >= kMinSession) return {};
  return refuse("InvalidParameterValue.Range",
                "`SessionExpireTime` should be 0, or not less than {}", kMinSession);
}

Outcome<std::vector<std::string>> domains_of(const Params& in) {
  std::vector<std::string> out = in.texts("Domains");
  if (in.has("Domain") && !out.empty())
    return refuse("InvalidParameterCombination", "Give one of `Domain` and `Domains`");
  if (in.has("Domain")) out.push_back(in.text("Domain"));
  if (out.empty())
    return refuse("MissingParameter", "The request is missing a required parameter `Domain`.");
  return out;
}

const Rule* of_domain(const std::vector<Rule>& rules, std::string_view domain) {
  const auto it =
      std::ranges::find_if(rules, [&](const Rule& rule) { return rule.has_domain(domain); });
  return it == rules.end() ? nullptr : &*it;
}

// A listener that chooses by server name has a certificate for each domain: given with its first
// rule.
Outcome<Object> certificate_of(const Call& call, const Listener& listener,
                               const std::vector<Rule>& rules, const Rule& rule, const Params& in) {
  auto given = certificate(call, in);
  if (!given) return given;
  if (listener.protocol != "HTTPS" || listener.sni == 0) {
    for (const char* parameter : {"Certificate", "MultiCertInfo"}) {
      if (auto good = applies(call, in, parameter, false); !good) return pass(good);
    }
    return Object{};
  }
  if (!given->empty()) return given;
  if (const Rule* sibling = of_domain(rules, rule.domain())) return sibling->certificate;
  return refuse("InvalidParameter", "Domain {} needs a certificate: SNI is on", rule.domain());
}

Outcome<> take_attributes(const Call& call, const LoadBalancer& lb, const Listener& listener,
                          const Params& in, Rule& rule) {
  auto check = health_check(call, lb, listener.protocol, rule.health_check, in);
  if (!check) return pass(check);
  rule.health_check = std::move(*check);
  if (in.has("Scheduler")) rule.scheduler = in.text("Scheduler");
  rule.session_seconds = in.number("SessionExpireTime").value_or(rule.session_seconds);
  if (in.has("ForwardType")) rule.forward_type = in.text("ForwardType");
  return check_session(rule.session_seconds);
}

Outcome<Rule> new_rule(Call& call, const Layer7& where, const std::vector<Rule>& rules,
                       const Params& in) {
  Rule out;
  auto domains = domains_of(in);
  if (!domains) return pass(domains);
  out.domains = std::move(*domains);
  out.url = in.text("Url");
  out.forward_type = "HTTP";
  for (const Rule& other : rules) {
    if (other.url == out.url && std::ranges::any_of(out.domains, [&](const std::string& domain) {
          return other.has_domain(domain);
        })) {
      return refuse("InvalidParameterValue.Duplicate", "Rule {}{} exists already: {}", out.domain(),
                    out.url, other.id);
    }
  }
  if (auto good = take_attributes(call, *where.lb, *where.listener, in, out); !good)
    return pass(good);
  auto certificate = certificate_of(call, *where.listener, rules, out, in);
  if (!certificate) return pass(certificate);
  out.certificate = std::move(*certificate);
  out.http2 = in.yes_no("Http2").value_or(false);
  out.quic = in.yes_no("Quic").value_or(false);
  if ((out.http2 || out.quic) && where.listener->protocol != "HTTPS")
    return refuse("InvalidParameterValue", "`Http2` and `Quic` are for HTTPS");
  if (in.has("TargetType")) out.target_type = in.text("TargetType");
  out.default_server = in.yes_no("DefaultServer").value_or(false);
  out.id = call.state.make_id("loc-");
  out.created = call.now;
  return out;
}

void make_default(std::vector<Rule>& rules, std::string_view domain) {
  for (Rule& rule : rules) rule.default_server = rule.has_domain(domain);
}

// One domain of a listener is the default: the wished one, or the first.
void settle_default(std::vector<Rule>& rules, const std::string& wished = {}) {
  if (rules.empty()) return;
  if (!wished.empty()) return make_default(rules, wished);
  const auto it = std::ranges::find_if(rules, &Rule::default_server);
  make_default(rules, std::string(it == rules.end() ? rules.front().domain() : it->domain()));
}

// Of a removal: which domain is the default after it.
Outcome<> check_new_default(const Call& call, const std::vector<Rule>& before,
                            const std::vector<Rule>& after) {
  const std::string wished = call.in.text("NewDefaultServerDomain");
  if (!wished.empty()) {
    if (of_domain(after, wished) != nullptr) return {};
    return refuse("InvalidParameter.LocationNotFound", "Domain {} not found", wished);
  }
  const auto was = std::ranges::find_if(before, &Rule::default_server);
  if (!call.settings().unsure.default_domain_needs_another || was == before.end() ||
      after.empty() || of_domain(after, was->domain()) != nullptr)
    return {};
  return refuse("InvalidParameterValue",
                "{} is the default domain: `NewDefaultServerDomain` must name another",
                was->domain());
}

Outcome<> change_domain(const Call& call, const Listener& listener, std::vector<Rule>& rules,
                        const std::string& domain) {
  auto given = certificate(call, call.in);
  if (!given) return pass(given);
  if (!given->empty() && (listener.protocol != "HTTPS" || listener.sni == 0))
    return refuse("InvalidParameterValue", "Certificates of domains need SNI");
  std::vector<std::string> renamed = call.in.texts("NewDomains");
  if (call.in.has("NewDomain")) renamed.push_back(call.in.text("NewDomain"));
  for (Rule& rule : rules) {
    if (!rule.has_domain(domain)) continue;
    if (!given->empty()) rule.certificate = *given;
    rule.http2 = call.in.yes_no("Http2").value_or(rule.http2);
    rule.quic = call.in.yes_no("Quic").value_or(rule.quic);
    if (!renamed.empty()) rule.domains = renamed;
  }
  return {};
}

}  // namespace

Answered create_rule(Call& call) {
  auto where = layer7(call);
  if (!where) return pass(where);
  std::vector<Rule> rules = where->listener->rules;
  const auto wanted = call.in.objects("Rules");
  const auto quota = call.settings().limits.rules_per_listener;
  if (static_cast<std::int64_t>(rules.size() + wanted.size()) > quota) {
    return refuse("LimitExceeded", "The number of rules of {} exceeds the quota {}",
                  where->listener->id, quota);
  }
  Array ids;
  std::string wished_default;
  for (const Params& one : wanted) {
    auto rule = new_rule(call, *where, rules, one);
    if (!rule) return pass(rule);
    if (rule->default_server) wished_default = rule->domain();
    ids.emplace_back(rule->id);
    rules.push_back(std::move(*rule));
  }
  settle_default(rules, wished_default);
  set_rules(call, *where, std::move(rules));
  return Object{{"LocationIds", std::move(ids)}};
}

Answered modify_rule(Call& call) {
  auto where = layer7(call);
  if (!where) return pass(where);
  std::vector<Rule> rules = where->listener->rules;
  const std::string id = call.in.text("LocationId");
  const auto it = std::ranges::find(rules, id, &Rule::id);
  if (it == rules.end())
    return refuse("InvalidParameter.LocationNotFound", "Location {} not found", id);
  if (auto good = take_attributes(call, *where->lb, *where->listener, call.in, *it); !good)
    return pass(good);
  if (call.in.has("Url")) it->url = call.in.text("Url");
  set_rules(call, *where, std::move(rules));
  return Object{};
}

Answered modify_domain_attributes(Call& call) {
  auto where = layer7(call);
  if (!where) return pass(where);
  std::vector<Rule> rules = where->listener->rules;
  const std::string domain = call.in.text("Domain");
  const Rule* there = of_domain(rules, domain);
  if (there == nullptr)
    return refuse("InvalidParameter.LocationNotFound", "Domain {} not found", domain);
  const bool was_default = there->default_server;
  if (call.in.yes_no("DefaultServer") == false && was_default &&
      !call.in.has("NewDefaultServerDomain")) {
    return refuse("InvalidParameterValue",
                  "The default domain needs another one in its place: `NewDefaultServerDomain`");
  }
  std::string wished = call.in.text("NewDefaultServerDomain");
  if (call.in.yes_no("DefaultServer") == true) wished = domain;
  if (!wished.empty() && of_domain(rules, wished) == nullptr)
    return refuse("InvalidParameter.LocationNotFound", "Domain {} not found", wished);
  settle_default(rules, wished);
  if (auto good = change_domain(call, *where->listener, rules, domain); !good) return pass(good);
  set_rules(call, *where, std::move(rules));
  return Object{};
}

Answered delete_rule(Call& call) {
  auto where = layer7(call);
  if (!where) return pass(where);
  std::vector<Rule> rules = where->listener->rules;
  const auto ids = call.in.texts("LocationIds");
  for (const std::string& id : ids) {
    if (std::erase_if(rules, [&](const Rule& rule) { return rule.id == id; }) == 0)
      return refuse("InvalidParameter.LocationNotFound", "Location {} not found", id);
  }
  if (ids.empty()) {
    const std::string domain = call.in.text("Domain");
    if (domain.empty())
      return refuse("MissingParameter", "Give `LocationIds`, or `Domain` and `Url`.");
    const bool whole = !call.in.has("Url");
    const auto gone = std::erase_if(rules, [&](const Rule& rule) {
      return rule.has_domain(domain) && (whole || rule.url == call.in.text("Url"));
    });
    if (gone == 0)
      return refuse("InvalidParameter.LocationNotFound", "Domain {} not found", domain);
  }
  if (auto good = check_new_default(call, where->listener->rules, rules); !good) return pass(good);
  settle_default(rules, call.in.text("NewDefaultServerDomain"));
  set_rules(call, *where, std::move(rules));
  return Object{};
}

}  // namespace berth::sim::tencent
