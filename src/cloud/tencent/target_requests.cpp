#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

using model::ListenerId;
using wire::Array;
using wire::Object;

Object of_balancer(std::string_view lb) { return {{"LoadBalancerId", lb}}; }

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

Object target_object(const TargetLine& line) {
  return {{"EniIp", line.target.target.ip}, {"Port", line.target.target.port}};
}

Object batch_target(const TargetLine& line) {
  Object out = target_object(line);
  out.emplace("ListenerId", line.listener.value);
  if (!line.location.empty()) out.emplace("LocationId", line.location);
  return out;
}

bool is_of_same_rule(const TargetLine& a, const TargetLine& b) {
  return a.listener == b.listener && a.location == b.location;
}

}  // namespace

Object register_body(std::string_view lb, std::span<const TargetLine> lines) {
  Object out = of_balancer(lb);
  Array targets;
  for (const TargetLine& line : lines) {
    Object one = batch_target(line);
    one.emplace("Weight", line.target.weight);
    targets.push_back(std::move(one));
  }
  out.emplace("Targets", std::move(targets));
  return out;
}

Object deregister_body(std::string_view lb, std::span<const TargetLine> lines) {
  Object out = of_balancer(lb);
  Array targets;
  for (const TargetLine& line : lines) targets.push_back(batch_target(line));
  out.emplace("Targets", std::move(targets));
  return out;
}

std::vector<Object> weights_bodies(std::string_view lb, std::span<const TargetLine> lines) {
  std::vector<Array> calls;
  std::size_t targets_of_call = 0;
  for (std::size_t begin = 0; begin < lines.size();) {
    Array targets;
    std::size_t end = begin;
    for (; end < lines.size() && end - begin < kTargetsPerRuleOfWeights &&
           is_of_same_rule(lines[begin], lines[end]);
         ++end) {
      Object one = target_object(lines[end]);
      one.emplace("Weight", lines[end].target.weight);
      targets.push_back(std::move(one));
    }
    Object rule{{"ListenerId", lines[begin].listener.value}};
    if (!lines[begin].location.empty()) rule.emplace("LocationId", lines[begin].location);
    rule.emplace("Targets", std::move(targets));
    const std::size_t count = end - begin;
    if (calls.empty() || calls.back().size() == kRulesPerWeights ||
        targets_of_call + count > kTargetsPerBatch) {
      calls.emplace_back();
      targets_of_call = 0;
    }
    calls.back().push_back(std::move(rule));
    targets_of_call += count;
    begin = end;
  }
  std::vector<Object> out;
  for (Array& list : calls) {
    out.push_back(of_balancer(lb));
    out.back().emplace("ModifyList", std::move(list));
  }
  return out;
}

Object of_listeners_body(std::string_view lb, std::span<const ListenerId> ids) {
  Object out = of_balancer(lb);
  if (!ids.empty()) out.emplace("ListenerIds", texts(ids));
  return out;
}

Object health_body(std::string_view lb, std::span<const ListenerId> ids) {
  Object out{{"LoadBalancerIds", Array{lb}}};
  if (!ids.empty()) out.emplace("ListenerIds", texts(ids));
  return out;
}

Object describe_balancers_body(std::span<const std::string> ids) {
  return {{"LoadBalancerIds", texts(ids)}, {"Limit", kBalancersPerPage}};
}

Object search_body(std::string_view name, std::span<const std::pair<std::string, std::string>> tags,
                   std::size_t offset) {
  Object out{{"Offset", offset}, {"Limit", kBalancersPerPage}};
  if (!name.empty()) out.emplace("LoadBalancerName", name);
  if (tags.empty()) return out;
  Array filters;
  for (const auto& [key, value] : tags)
    filters.push_back(Object{{"Name", fmt::format("tag:{}", key)}, {"Values", Array{value}}});
  out.emplace("Filters", std::move(filters));
  return out;
}

}  // namespace berth::cloud::tencent
