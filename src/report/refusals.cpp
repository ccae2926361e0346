#include "report/refusals.h"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <map>

#include "admission/refusal_event.h"
#include "report/workloads.h"

namespace berth::report {
namespace {

using wire::Value;

// So many workloads are looked at; of more, the newest count.
constexpr std::size_t kMaxLookedAt = 50;
// How a recorder begins the text that stands for many.
constexpr std::string_view kCombined = "(combined";

struct Told {
  std::string kind{};
  kube::ObjectKey key{};
  std::string uid{};
  std::string message{};
  WallTime last{};
};

WallTime last_of(const Value& event) {
  for (const char* field : {"/lastTimestamp", "/series/lastObservedTime", "/eventTime",
                            "/metadata/creationTimestamp"}) {
    if (const auto at = parse_rfc3339(wire::string_at(event, field))) return *at;
  }
  return {};
}

std::vector<Told> newest_by_workload(const std::vector<Value>& events, WallTime now) {
  std::map<std::string, Told> by_uid;
  for (const Value& event : events) {
    const WallTime last = last_of(event);
    if (now - last > kLately) continue;
    const auto text = [&](std::string_view at) { return std::string(wire::string_at(event, at)); };
    const std::string uid = text("/involvedObject/uid");
    Told& told = by_uid[uid];
    const std::string message = text("/message");
    // One that says why is worth more than a newer one that does not.
    const bool says_more = told.message.empty() || told.message.starts_with(kCombined);
    const bool says_why = !message.starts_with(kCombined);
    if (says_more || (says_why && last > told.last)) told.message = message;
    told.kind = text("/involvedObject/kind");
    told.key = {text("/involvedObject/namespace"), text("/involvedObject/name")};
    told.uid = uid;
    told.last = std::max(told.last, last);
  }
  std::vector<Told> out;
  for (auto& [uid, told] : by_uid) out.push_back(std::move(told));
  std::ranges::sort(out, std::greater{}, &Told::last);
  if (out.size() > kMaxLookedAt) out.resize(kMaxLookedAt);
  return out;
}

// It has its Pods, or is not there any more. Of a kind that we do not know we cannot tell.
bool is_over(const Told& told, const Value& workload) {
  if (wire::string_at(workload, "/metadata/uid") != told.uid) return true;
  const auto wanted = wire::int_at(workload, "/spec/replicas").value_or(1);
  return wire::int_at(workload, "/status/replicas").value_or(0) >= wanted;
}

// People know the Deployment, not the ReplicaSet.
std::string name_of(const Told& told, const Value& workload) {
  const Value* const owner = controller_of(workload);
  if (!owner) return fmt::format("{} {}", told.kind, told.key.to_string());
  return fmt::format("{} {}/{}", wire::string_at(*owner, "/kind"), told.key.ns,
                     wire::string_at(*owner, "/name"));
}

}  // namespace

Result<std::vector<Refusal>> read_refusals(const Context& context, kube::Client& client,
                                           WallTime now) {
  Result<kube::ListPage> events = client.list_all(
      context, kube::types::kEvent,
      {.field_selector = fmt::format("reason={}", admission::kAllocatePortFailedReason)});
  if (!events) return pass(events);
  std::vector<Refusal> out;
  for (const Told& told : newest_by_workload(events->items, now)) {
    Refusal refusal{.object = fmt::format("{} {}", told.kind, told.key.to_string()),
                    .message = told.message,
                    .ago = now - told.last};
    if (const kube::ResourceType* const type = type_of_kind(told.kind)) {
      Result<Value> workload = client.get(context, *type, told.key);
      const bool gone = !workload && workload.error().code == Code::not_found;
      if (workload) refusal.object = name_of(told, *workload);
      refusal.over = gone || (workload && is_over(told, *workload));
    }
    out.push_back(std::move(refusal));
  }
  return out;
}

}  // namespace berth::report
