#include "admission/short_workload.h"

#include <algorithm>

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"

namespace berth::admission {
namespace {

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

}  // namespace berth::admission
