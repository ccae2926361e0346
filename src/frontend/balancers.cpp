#include "frontend/balancers.h"

#include <fmt/format.h>

namespace berth::frontend {

using model::LoadBalancerRef;

std::string shown_id(const std::string& text, const LoadBalancerRef& lb) {
  return lb.provider == model::Provider::edge && text.starts_with("edge:") ? text : lb.id;
}

api::LoadBalancerBrief brief_of(const std::string& text, const LoadBalancerRef& lb,
                                const api::LoadBalancer* object) {
  api::LoadBalancerBrief brief{.id = shown_id(text, lb), .region = lb.region};
  if (!object) return brief;
  brief.name = object->status.name;
  brief.type = object->status.type;
  brief.ips = object->status.vips;
  brief.dns_name = object->status.dns_name;
  return brief;
}

bool has_address(const api::LoadBalancer* object) {
  return object && (!object->status.vips.empty() || !object->status.dns_name.empty());
}

std::string missing_address(const LoadBalancerRef& lb, const api::LoadBalancer* object) {
  const bool failed = object && !object->status.last_error.empty();
  return fmt::format("load balancer {}: {}", model::to_string(lb),
                     failed ? object->status.last_error : "its address is not known yet");
}

}  // namespace berth::frontend
