// Listeners: describe, create, modify, delete.
#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "sim/cloud/tencent/attributes.h"
#include "sim/cloud/tencent/encode.h"
#include "sim/cloud/tencent/operations.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

constexpr std::int64_t kDefaultTcpIdle = 900;
constexpr std::int64_t kDefaultUdpIdle = 300;
constexpr std::int64_t kMinSession = 30;

bool is_asked_for(const Params& in, const std::vector<std::string>& ids, const Listener& listener) {
  if (!ids.empty() && std::ranges::find(ids, listener.id) == ids.end()) return false;
  if (in.has("Protocol") && in.text("Protocol") != listener.protocol) return false;
  return !in.has("Port") || in.number("Port") == listener.port;
}

bool needs_certificate(std::string_view protocol, std::int64_t sni) {
  return protocol == "TCP_SSL" || protocol == "QUIC" || (protocol == "HTTPS" && sni == 0);
}

bool has_sessions(std::string_view protocol) { return protocol == "TCP" || protocol == "UDP"; }

// --- what a new listener is like -------------------------------------------------------------

Outcome<> check_port_range(const Call& call, const LoadBalancer& lb) {
  const auto end = call.in.number("EndPort");
  if (!end) return {};
  if (!call.account.port_ranges)
    return refuse("FailedOperation", "uin not allow to create port range listener.");
  const std::string protocol = call.in.text("Protocol");
  if (protocol != "TCP" && protocol != "UDP") {
    return refuse("InvalidParameter.ProtocolCheckFailed",
                  "a port range listener is of protocol TCP or UDP, not {}", protocol);
  }
  if (lb.type == "INTERNAL")
    return refuse("UnsupportedOperation", "an internal load balancer has no port range listeners");
  const auto ports = call.in.numbers("Ports");
  if (ports.size() != 1)
    return refuse("InvalidParameterValue.Length", "`EndPort` goes with exactly one of `Ports`");
  if (*end <= ports.front())
    return refuse("InvalidParameterValue", "`EndPort` should be larger than `Ports.0`");
  return {};
}

Outcome<> check_names(const Call& call) {
  const auto ports = call.in.numbers("Ports");
  if (std::set<std::int64_t>(ports.begin(), ports.end()).size() != ports.size())
    return refuse("InvalidParameterValue.Duplicate", "`Ports` has a port twice");
  if (call.in.has("ListenerNames") && call.in.texts("ListenerNames").size() != ports.size())
    return refuse("InvalidParameterValue.Length", "Length of `ListenerNames` and `Ports` differ");
  return {};
}

Outcome<> check_session(const Call& call, std::int64_t seconds, std::string_view scheduler) {
  if (seconds != 0 && seconds < kMinSession) {
    return refuse("InvalidParameterValue.Range",
                  "`SessionExpireTime` should be 0, or not less than {}", kMinSession);
  }
  if (seconds != 0 && scheduler == "LEAST_CONN" && call.settings().unsure.session_needs_wrr)
    return refuse("InvalidParameterCombination", "Session persistence needs scheduler WRR");
  return {};
}

Outcome<> check_session_type(const Call& call, std::string_view protocol,
                             std::string_view scheduler) {
  if (call.in.text("SessionType") != "QUIC_CID" || (protocol == "UDP" && scheduler == "WRR"))
    return {};
  return refuse("InvalidParameterCombination", "QUIC_CID needs protocol UDP and scheduler WRR");
}

Outcome<Object> check_certificate(const Call& call, std::string_view protocol, std::int64_t sni) {
  const bool needed = needs_certificate(protocol, sni);
  for (const char* parameter : {"Certificate", "MultiCertInfo"}) {
    if (auto good = applies(call, call.in, parameter, needed); !good) return pass(good);
  }
  if (!needed) return Object{};
  auto given = certificate(call, call.in);
  if (given && given->empty()) {
    return refuse("InvalidParameter", "A {} listener needs `Certificate` or `MultiCertInfo`",
                  protocol);
  }
  return given;
}

Outcome<> check_applicable(const Call& call, std::string_view protocol) {
  const bool layer7 = is_layer7(protocol);
  for (const auto& [parameter, applicable] :
       std::initializer_list<std::pair<std::string_view, bool>>{
           {"HealthCheck", !layer7},
           {"Scheduler", !layer7},
           {"SessionExpireTime", has_sessions(protocol)},
           {"SessionType", has_sessions(protocol)},
           {"SniSwitch", protocol == "HTTPS"},
           {"KeepaliveEnable", layer7},
           {"DeregisterTargetRst", has_sessions(protocol)},
           {"IdleConnectTimeout", has_sessions(protocol)}}) {
    if (auto good = applies(call, call.in, parameter, applicable); !good) return good;
  }
  return {};
}

Outcome<Rule> only_rule(const Call& call, const LoadBalancer& lb, std::string_view protocol) {
  Rule out;
  auto check = health_check(call, lb, protocol, {}, call.in);
  if (!check) return pass(check);
  out.health_check = std::move(*check);
  if (call.in.has("Scheduler")) out.scheduler = call.in.text("Scheduler");
  if (has_sessions(protocol)) out.session_seconds = call.in.number("SessionExpireTime").value_or(0);
  if (auto good = check_session(call, out.session_seconds, out.scheduler); !good) return pass(good);
  if (auto good = check_session_type(call, protocol, out.scheduler); !good) return pass(good);
  if (call.in.has("TargetType")) out.target_type = call.in.text("TargetType");
  return out;
}

void take_plain_attributes(const Params& in, Listener& listener) {
  if (in.has("SessionType") && has_sessions(listener.protocol))
    listener.session_type = in.text("SessionType");
  if (is_layer7(listener.protocol))
    listener.keepalive = in.number("KeepaliveEnable").value_or(listener.keepalive);
  listener.deregister_rst = in.yes_no("DeregisterTargetRst").value_or(listener.deregister_rst);
  listener.max_conn = in.number("MaxConn").value_or(listener.max_conn);
  listener.max_cps = in.number("MaxCps").value_or(listener.max_cps);
  if (has_sessions(listener.protocol))
    listener.idle_timeout = in.number("IdleConnectTimeout").value_or(listener.idle_timeout);
}

// All that its ports have in common.
Outcome<Listener> new_listener(const Call& call, const LoadBalancer& lb) {
  Listener out;
  out.protocol = call.in.text("Protocol");
  if (auto good = check_applicable(call, out.protocol); !good) return pass(good);
  if (out.protocol == "HTTPS") out.sni = call.in.number("SniSwitch").value_or(0);
  auto certificate = check_certificate(call, out.protocol, out.sni);
  if (!certificate) return pass(certificate);
  out.certificate = std::move(*certificate);
  out.end_port = call.in.number("EndPort").value_or(0);
  if (has_sessions(out.protocol))
    out.idle_timeout = out.protocol == "TCP" ? kDefaultTcpIdle : kDefaultUdpIdle;
  take_plain_attributes(call.in, out);
  if (!is_layer7(out.protocol)) {
    auto rule = only_rule(call, lb, out.protocol);
    if (!rule) return pass(rule);
    out.rules.push_back(std::move(*rule));
  }
  return out;
}

Outcome<> check_free(const LoadBalancer& lb, const Listener& wanted) {
  for (const auto& [id, there] : lb.listeners) {
    if (transport_of(there.protocol) != transport_of(wanted.protocol) ||
        there.port > wanted.last_port() || there.last_port() < wanted.port)
      continue;
    return refuse("InvalidParameter.PortCheckFailed",
                  "Port {} of protocol {} conflicts with listener {} ({} {})", wanted.port,
                  wanted.protocol, id, there.protocol, there.port);
  }
  return {};
}

Outcome<> check_quota(const Call& call, const LoadBalancer& lb, std::size_t more) {
  const std::int64_t quota =
      lb.listener_quota.value_or(call.settings().limits.listeners_per_load_balancer);
  if (static_cast<std::int64_t>(lb.listeners.size() + more) <= quota) return {};
  return refuse("LimitExceeded", "The number of listeners of {} exceeds the quota {}", lb.id,
                quota);
}

Outcome<std::vector<Listener>> new_listeners(Call& call, const LoadBalancer& lb) {
  if (auto good = check_names(call); !good) return pass(good);
  if (auto good = check_port_range(call, lb); !good) return pass(good);
  auto pattern = new_listener(call, lb);
  if (!pattern) return pass(pattern);
  const auto ports = call.in.numbers("Ports");
  const auto names = call.in.texts("ListenerNames");
  if (auto good = check_quota(call, lb, ports.size()); !good) return pass(good);
  std::vector<Listener> out;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    Listener one = *pattern;
    one.port = ports[i];
    if (!names.empty()) one.name = names[i];
    if (auto good = check_free(lb, one); !good) return pass(good);
    one.id = call.state.make_id("lbl-");
    out.push_back(std::move(one));
  }
  return out;
}

// --- changes ---------------------------------------------------------------------------------

Outcome<> change_certificate(const Call& call, Listener& listener) {
  auto given = certificate(call, call.in);
  if (!given) return pass(given);
  if (given->empty()) return {};
  const bool applicable = needs_certificate(listener.protocol, listener.sni);
  for (const char* parameter : {"Certificate", "MultiCertInfo"}) {
    if (auto good = applies(call, call.in, parameter, applicable); !good) return good;
  }
  if (applicable) listener.certificate = std::move(*given);
  return {};
}

Outcome<> change_only_rule(const Call& call, const LoadBalancer& lb, Listener& listener) {
  if (is_layer7(listener.protocol)) return {};
  Rule& rule = listener.rules.front();
  auto check = health_check(call, lb, listener.protocol, rule.health_check, call.in);
  if (!check) return pass(check);
  rule.health_check = std::move(*check);
  if (call.in.has("Scheduler")) rule.scheduler = call.in.text("Scheduler");
  if (has_sessions(listener.protocol))
    rule.session_seconds = call.in.number("SessionExpireTime").value_or(rule.session_seconds);
  if (auto good = check_session(call, rule.session_seconds, rule.scheduler); !good) return good;
  return check_session_type(call, listener.protocol, rule.scheduler);
}

// The listener as it is wished to be.
Outcome<Listener> changed(const Call& call, const LoadBalancer& lb, Listener listener) {
  if (auto good = check_applicable(call, listener.protocol); !good) return pass(good);
  if (call.in.has("ListenerName")) listener.name = call.in.text("ListenerName");
  if (const auto sni = call.in.number("SniSwitch"); sni && listener.protocol == "HTTPS") {
    if (listener.sni == 1 && *sni == 0)
      return refuse("InvalidParameterValue", "`SniSwitch` cannot be turned off again");
    listener.sni = *sni;
  }
  if (auto good = change_certificate(call, listener); !good) return pass(good);
  if (auto good = change_only_rule(call, lb, listener); !good) return pass(good);
  take_plain_attributes(call.in, listener);
  return listener;
}

// Attributes of `from`; targets and rules stay what they are by then.
void take_attributes(Listener& there, Listener from) {
  std::vector<Rule> rules = std::move(there.rules);
  if (!is_layer7(there.protocol) && !rules.empty()) {
    from.rules.front().targets = std::move(rules.front().targets);
  } else {
    from.rules = std::move(rules);
  }
  there = std::move(from);
}

void remove_listeners(Call& call, const LoadBalancer& lb, std::vector<std::string> ids) {
  begin_task(call, {lb.id}, [lb = lb.id, ids = std::move(ids)](State& state, WallTime) {
    const auto there = state.load_balancers.find(lb);
    if (there == state.load_balancers.end()) return;
    for (const std::string& id : ids) there->second.listeners.erase(id);
  });
}

}  // namespace

Answered describe_listeners(Call& call) {
  auto lb = load_balancer(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  const auto ids = call.in.texts("ListenerIds");
  Array out;
  for (const auto& [id, listener] : (*lb)->listeners) {
    if (is_asked_for(call.in, ids, listener)) out.push_back(encode_listener(listener));
  }
  const std::size_t count = out.size();
  return Object{{"Listeners", std::move(out)}, {"TotalCount", count}};
}

Answered create_listener(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto made = new_listeners(call, **lb);
  if (!made) return pass(made);
  Array ids;
  for (const Listener& one : *made) ids.emplace_back(one.id);
  begin_task(call, {(*lb)->id},
             [lb = (*lb)->id, made = std::move(*made)](State& state, WallTime at) {
               const auto there = state.load_balancers.find(lb);
               if (there == state.load_balancers.end()) return;
               for (Listener one : made) {
                 one.created = at;
                 there->second.listeners.insert_or_assign(one.id, std::move(one));
               }
             });
  return Object{{"ListenerIds", std::move(ids)}};
}

Answered modify_listener(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto there = listener(**lb, call.in.text("ListenerId"));
  if (!there) return pass(there);
  auto wished = changed(call, **lb, **there);
  if (!wished) return pass(wished);
  begin_task(call, {(*lb)->id},
             [lb = (*lb)->id, wished = std::move(*wished)](State& state, WallTime) {
               const auto at = state.load_balancers.find(lb);
               if (at == state.load_balancers.end()) return;
               const auto one = at->second.listeners.find(wished.id);
               if (one != at->second.listeners.end()) take_attributes(one->second, wished);
             });
  return Object{};
}

Answered delete_listener(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto there = listener(**lb, call.in.text("ListenerId"));
  if (!there) return pass(there);
  remove_listeners(call, **lb, {(*there)->id});
  return Object{};
}

// Without ids, all of them: so it is documented.
Answered delete_load_balancer_listeners(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  std::vector<std::string> ids = call.in.texts("ListenerIds");
  std::vector<std::string> missing;
  for (const std::string& id : ids) {
    if (!(*lb)->listeners.contains(id)) missing.push_back(id);
  }
  if (!missing.empty()) {
    return refuse("InvalidParameter", "some ListenerId {} not found in {}",
                  fmt::join(missing, ", "), (*lb)->id);
  }
  if (ids.empty()) {
    for (const auto& [id, one] : (*lb)->listeners) ids.push_back(id);
  }
  remove_listeners(call, **lb, std::move(ids));
  return Object{};
}

}  // namespace berth::sim::tencent
