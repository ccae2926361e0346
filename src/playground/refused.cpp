#include "playground/refused.h"

#include <algorithm>
#include <boost/json.hpp>

#include "admission/refusal_event.h"

namespace berth::playground {
namespace {

using wire::Array;
using wire::Value;

std::int64_t count_of(const Value& workload, const PodCounts& counts) {
  const auto it = counts.find(std::string(wire::string_at(workload, "/metadata/uid")));
  return it == counts.end() ? 0 : it->second;
}

std::int64_t wanted_by(const Value& workload) {
  return wire::int_at(workload, "/spec/replicas").value_or(1);
}

// The latest of its refusals; null when there is none.
const Value* refusal_of(const Value& workload, const std::vector<Value>& events) {
  const std::string_view uid = wire::string_at(workload, "/metadata/uid");
  const Value* latest = nullptr;
  for (const Value& event : events) {
    if (wire::string_at(event, "/reason") != admission::kAllocatePortFailedReason ||
        wire::string_at(event, "/involvedObject/uid") != uid)
      continue;
    // RFC 3339 in one zone: as text.
    if (latest == nullptr ||
        wire::string_at(*latest, "/lastTimestamp") <= wire::string_at(event, "/lastTimestamp"))
      latest = &event;
  }
  return latest;
}

}  // namespace

PodCounts count_pods(const std::vector<Value>& pods) {
  PodCounts counts;
  for (const Value& pod : pods) {
    const Array* owners = wire::array_at(pod, "/metadata/ownerReferences");
    for (const Value& owner : owners == nullptr ? Array{} : *owners) {
      if (wire::bool_at(owner, "/controller").value_or(false))
        ++counts[std::string(wire::string_at(owner, "/uid"))];
    }
  }
  return counts;
}

bool is_short_of_pods(const Value& workload, const PodCounts& counts) {
  return count_of(workload, counts) < wanted_by(workload);
}

std::vector<RefusedRow> refused_rows(const std::vector<Value>& workloads, const PodCounts& counts,
                                     const std::vector<Value>& events) {
  std::vector<RefusedRow> rows;
  for (const Value& workload : workloads) {
    const Value* const refusal =
        is_short_of_pods(workload, counts) ? refusal_of(workload, events) : nullptr;
    if (refusal == nullptr) continue;
    const std::int64_t wanted = wanted_by(workload);
    rows.push_back(
        {.workload = fmt::format("{}/{}", wire::string_at(workload, "/metadata/namespace"),
                                 wire::string_at(workload, "/metadata/name")),
         .kind = std::string(wire::string_at(*refusal, "/involvedObject/kind")),
         .missing = wanted - count_of(workload, counts),
         .wanted = wanted,
         .why = std::string(wire::string_at(*refusal, "/message"))});
  }
  return rows;
}

}  // namespace berth::playground
