#include "sim/cloud/tencent/faults.h"

namespace berth::sim::tencent {

std::optional<Fault> Faults::take(FaultKind kind, std::string_view action,
                                  std::string_view load_balancer) {
  for (auto it = faults_.begin(); it != faults_.end(); ++it) {
    const bool fits = it->kind == kind && (it->action.empty() || it->action == action) &&
                      (it->load_balancer.empty() || it->load_balancer == load_balancer);
    if (!fits) continue;
    Fault found = *it;
    if (--it->count <= 0) faults_.erase(it);
    return found;
  }
  return std::nullopt;
}

}  // namespace berth::sim::tencent
