#include "controllers/loadbalancer/plan.h"

#include <algorithm>

namespace berth::controllers::loadbalancer {
namespace {

constexpr std::string_view kReachable = "Reachable";
constexpr std::string_view kListed = "Listed";
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

const api::Condition* find(const api::LoadBalancer& object, std::string_view type) {
  const auto& all = object.status.conditions;
  const auto it = std::ranges::find(all, type, &api::Condition::type);
  return it == all.end() ? nullptr : &*it;
}

// Since when is what has changed, unless nothing has.
api::Condition condition_of(const api::LoadBalancer& object, std::string_view type,
                            std::string_view good, const Error* error, WallTime now) {
  api::Condition out{.type = std::string(type), .status = "True", .reason = std::string(good)};
  if (error) {
    out.status = "False";
    out.reason = std::string(reason_of(error->code));
    out.message = error->to_string();
  }
  const api::Condition* const before = find(object, type);
  const bool same = before && before->status == out.status && before->reason == out.reason;
  out.last_transition_time = same ? before->last_transition_time : format_rfc3339_micro(now);
  return out;
}

const Error* error_in(const Look& look) { return look && !*look ? &look->error() : nullptr; }

// Whose listeners were always seen need not be told so.
std::optional<api::Condition> listed(const api::LoadBalancer& object, const Look& look,
                                     WallTime now) {
  const api::Condition* const before = find(object, kListed);
  if (!look) return before ? std::optional(*before) : std::nullopt;
  if (*look && !before) return std::nullopt;
  return condition_of(object, kListed, kListed, error_in(look), now);
}

}  // namespace

bool was_missing(const api::LoadBalancer& object) {
  const api::Condition* const condition = find(object, kReachable);
  return condition && condition->reason == kNotFound;
}

bool is_told(const api::LoadBalancer& object, const Look& look) {
  if (!look) return true;
  const api::Condition* const told = find(object, kListed);
  const Error* const error = error_in(look);
  if (!error) return !told || told->status == "True";
  return told && told->status == "False" && told->reason == reason_of(error->code);
}

api::LoadBalancerStatus status_of(const api::LoadBalancer& object,
                                  const Result<model::LoadBalancerInfo>& answer, const Look& look,
                                  std::size_t listeners, WallTime now) {
  api::LoadBalancerStatus status = object.status;
  status.listeners_used = static_cast<std::int64_t>(listeners);
  if (answer) {
    status.name = answer->name;
    status.vips = answer->vips;
    status.dns_name = answer->dns_name;
    status.type = answer->type;
    status.listener_quota = answer->listener_quota;
    status.low_port_limit = answer->low_port_limit;
    status.low_port_offset = answer->low_port_offset;
  }
  const Error* const error = answer ? nullptr : &answer.error();
  status.conditions = {condition_of(object, kReachable, "Described", error, now)};
  status.last_error = status.conditions.front().message;
  if (std::optional<api::Condition> seen = listed(object, look, now)) {
    if (status.last_error.empty()) status.last_error = seen->message;
    status.conditions.push_back(std::move(*seen));
  }
  return status;
}

}  // namespace berth::controllers::loadbalancer
