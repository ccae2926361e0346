#include "sim/cloud/traffic/carried.h"

#include "edge/address_plan.h"

namespace berth::sim::traffic {
namespace {

model::Scheduler scheduler_of(std::string_view text) {
  if (text == "LEAST_CONN") return model::Scheduler::least_connections;
  if (text == "IP_HASH") return model::Scheduler::source_ip;
  return model::Scheduler::weighted_round_robin;
}

std::vector<model::WeightedTarget> targets_of(const tencent::Rule& rule) {
  std::vector<model::WeightedTarget> out;
  for (const tencent::Target& one : rule.targets)
    out.push_back({{one.ip, model::port_of(one.port)}, static_cast<std::uint32_t>(one.weight)});
  return out;
}

}  // namespace

std::string loopback_of(std::string_view vip) {
  return vip.starts_with("127.") ? std::string(vip) : edge::loopback_address(std::string(vip));
}

Result<model::ListenerSpec> carried_as(const tencent::Listener& listener) {
  if ((listener.protocol != "TCP" && listener.protocol != "UDP") || listener.rules.size() != 1)
    return fail(Code::unsupported, "{} carries no traffic yet", listener.protocol);
  const tencent::Rule& rule = listener.rules.front();
  // Names are not unique at the cloud, and need not be there at all; ids are.
  model::ListenerSpec out = model::plain_listener(
      listener.protocol == "TCP" ? model::Protocol::tcp : model::Protocol::udp,
      {model::port_of(listener.port), model::port_of(listener.last_port())}, listener.id,
      targets_of(rule),
      {.scheduler = scheduler_of(rule.scheduler),
       .session_seconds = static_cast<std::uint32_t>(rule.session_seconds)});
  model::sort(out);
  return out;
}

bool is_same_listener(const model::ListenerSpec& a, const model::ListenerSpec& b) {
  return a.protocol == b.protocol && a.ports == b.ports && a.name == b.name;
}

}  // namespace berth::sim::traffic
