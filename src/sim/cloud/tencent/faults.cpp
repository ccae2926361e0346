#include "sim/cloud/tencent/faults.h"

namespace berth::sim::tencent {

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::refuse: return "refuse";
    case FaultKind::gateway: return "gateway";
    case FaultKind::lose_reply: return "lose_reply";
    case FaultKind::fail_task: return "fail_task";
    case FaultKind::slow_task: return "slow_task";
    case FaultKind::fail_listeners: return "fail_listeners";
    case FaultKind::gateway_after: return "gateway_after";
    case FaultKind::short_answer: return "short_answer";
    case FaultKind::long_answer: return "long_answer";
  }
  return "";
}

std::optional<Fault> Faults::take(FaultKind kind, std::string_view action,
                                  std::string_view load_balancer) {
  for (auto it = faults_.begin(); it != faults_.end(); ++it) {
    const bool fits = it->kind == kind && (it->action.empty() || it->action == action) &&
                      (it->load_balancer.empty() || it->load_balancer == load_balancer);
    if (!fits) continue;
    Fault found = *it;
    if (--it->count <= 0) faults_.erase(it);
    ++taken_[{std::string(action), kind}];
    return found;
  }
  return std::nullopt;
}

}  // namespace berth::sim::tencent
