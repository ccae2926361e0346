#include "controllers/loadbalancer/plan.h"

namespace berth::controllers::loadbalancer {
namespace {

constexpr std::string_view kReachable = "Reachable";
constexpr std::string_view kNotFound = "LoadBalancerNotFound";

// The closed list of reasons: the same word in condition, event and refusal.
std::string_view reason_of(Code code) {
  switch (code) {
    case Code::forbidden:
    case Code::unauthorized: return "NoPermission";
    case Code::not_found: return kNotFound;
    case Code::exhausted: return "QuotaReached";
    case Code::throttled: return "Throttled";
    case Code::unsupported: return "NotSupported";
    default: return "ProviderUnavailable";
  }
}

}  // namespace

bool was_missing(const api::LoadBalancer& object) {
  return !object.status.conditions.empty() && object.status.conditions.front().reason == kNotFound;
}

api::LoadBalancerStatus status_of(const api::LoadBalancer& object,
                                  const Result<model::LoadBalancerInfo>& answer,
                                  std::size_t listeners, WallTime now) {
  api::LoadBalancerStatus status = object.status;
  status.listeners_used = static_cast<std::int64_t>(listeners);
  api::Condition condition{
      .type = std::string(kReachable), .status = "True", .reason = "Described"};
  if (answer) {
    status.name = answer->name;
    status.vips = answer->vips;
    status.dns_name = answer->dns_name;
    status.type = answer->type;
    status.listener_quota = answer->listener_quota;
    status.low_port_limit = answer->low_port_limit;
    status.low_port_offset = answer->low_port_offset;
    status.last_error.clear();
  } else {
    status.last_error = answer.error().to_string();
    condition.status = "False";
    condition.reason = std::string(reason_of(answer.error().code));
    condition.message = status.last_error;
  }
  const bool turned = status.conditions.empty() ||
                      status.conditions.front().status != condition.status ||
                      status.conditions.front().reason != condition.reason;
  condition.last_transition_time =
      turned ? format_rfc3339_micro(now) : status.conditions.front().last_transition_time;
  status.conditions = {condition};
  return status;
}

}  // namespace berth::controllers::loadbalancer
