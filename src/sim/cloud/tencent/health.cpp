// What health checks say of targets.
#include <algorithm>
#include <boost/json.hpp>

#include "sim/cloud/tencent/operations.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

bool is_checked(const Rule& rule) { return Params(rule.health_check).number("HealthSwitch") == 1; }

Health health_of(const Call& call, const Target& target) {
  const auto said = call.state.health.find({target.ip, target.port});
  if (said != call.state.health.end()) return said->second;
  return target.registered + call.settings().healthy_after <= call.now ? Health::alive
                                                                       : Health::unknown;
}

std::string_view detail(const Call& call, const Rule& rule, const Target& target) {
  if (!is_checked(rule)) return "Close";
  switch (health_of(call, target)) {
    case Health::alive: return "Alive";
    case Health::dead: return "Dead";
    case Health::unknown: break;
  }
  return "Unknown";
}

Object encode_health(const Call& call, const Rule& rule, const Target& target) {
  const std::string_view how = detail(call, rule, target);
  return {{"IP", target.ip},
          {"Port", target.port},
          {"HealthStatus", how == "Alive" || how == "Close"},
          {"TargetId", target.instance_id},
          {"HealthStatusDetail", how},
          {"HealthStatusDetial", how},
          {"TargetGroupId", ""},
          {"Weight", target.weight}};
}

Array rules_of(const Call& call, const Listener& listener,
               const std::vector<std::string>& locations) {
  Array out;
  for (const Rule& rule : listener.rules) {
    if (!locations.empty() && std::ranges::find(locations, rule.id) == locations.end()) continue;
    Array targets;
    for (const Target& target : rule.targets) targets.push_back(encode_health(call, rule, target));
    out.push_back(Object{{"LocationId", rule.id},
                         {"Domain", rule.domain()},
                         {"Url", rule.url},
                         {"Targets", std::move(targets)}});
  }
  return out;
}

Object encode(const Call& call, const LoadBalancer& lb) {
  const auto wanted = call.in.texts("ListenerIds");
  const auto locations = call.in.texts("LocationIds");
  Array listeners;
  for (const auto& [id, listener] : lb.listeners) {
    if (!wanted.empty() && std::ranges::find(wanted, id) == wanted.end()) continue;
    listeners.push_back(Object{{"ListenerId", id},
                               {"ListenerName", listener.name},
                               {"Protocol", listener.protocol},
                               {"Port", listener.port},
                               {"Rules", rules_of(call, listener, locations)}});
  }
  return {{"LoadBalancerId", lb.id},
          {"LoadBalancerName", lb.name},
          {"Listeners", std::move(listeners)}};
}

}  // namespace

Answered describe_target_health(Call& call) {
  Array out;
  for (const std::string& id : call.in.texts("LoadBalancerIds")) {
    auto lb = load_balancer(call, id);
    if (!lb) return pass(lb);
    out.push_back(encode(call, **lb));
  }
  return Object{{"LoadBalancers", std::move(out)}};
}

}  // namespace berth::sim::tencent
