#include "admission/short_workload.h"

#include <algorithm>
#include <boost/json.hpp>

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"

namespace berth::admission {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// A StatefulSet that is paused in the middle of an update, and the like, look the same: to be
// touched for nothing costs them one look.
bool is_short(const Value& workload) {
  if (!wire::string_at(workload, "/metadata/deletionTimestamp").empty()) return false;
  return wire::int_at(workload, "/status/replicas").value_or(0) <
         wire::int_at(workload, "/spec/replicas").value_or(1);
}

}  // namespace

std::vector<kube::ObjectKey> pools_awaited(const Value& workload) {
  const Value* const pod = wire::find(workload, "/spec/template");
  if (!pod || !is_short(workload) || !asks_for_ports(*pod)) return {};
  const auto requests = api::parse_port_requests(annotation_of(*pod, api::kPortsAnnotation),
                                                 wire::string_at(workload, "/metadata/namespace"));
  std::vector<kube::ObjectKey> pools;
  if (!requests) return pools;
  for (const api::PortRequest& request : *requests) pools.push_back(request.pool);
  std::ranges::sort(pools);
  pools.erase(std::ranges::unique(pools).begin(), pools.end());
  return pools;
}

Value annotation_touch(const std::string& now) {
  return Object{{"metadata", Object{{"annotations", Object{{kRetryAnnotation, now}}}}}};
}

Value condition_touch(const Value& workload, const std::string& now) {
  Array conditions;
  const Array* const found = wire::array_at(workload, "/status/conditions");
  for (const Value& one : found ? *found : Array{})
    if (wire::string_at(one, "/type") != kRetryAnnotation) conditions.push_back(one);
  conditions.push_back(Object{{"type", kRetryAnnotation},
                              {"status", "True"},
                              {"reason", "PortsAreFree"},
                              {"message", now},
                              {"lastTransitionTime", now.substr(0, now.find('.')) + "Z"}});
  return Object{{"metadata", Object{{"resourceVersion",
                                     wire::string_at(workload, "/metadata/resourceVersion")}}},
                {"status", Object{{"conditions", std::move(conditions)}}}};
}

}  // namespace berth::admission
