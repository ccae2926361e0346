#include "controllers/portpool/pod_index.h"

#include "api/pod_ports.h"
#include "controllers/portpool/pool_plan.h"

namespace berth::controllers::portpool {

void add_pod_index(kube::Store<kube::Pod>& pods) {
  pods.add_index(std::string(kTokenPodIndex), [](const kube::Pod& pod, kube::EmitKey emit) {
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    if (!token.empty()) emit(token);
  });
}

bool has_ports(const kube::Pod& pod) {
  return kube::has(pod.meta.annotations, api::kPoolBindingsAnnotation) ||
         kube::has(pod.meta.labels, ledger::kTokenLabel);
}

std::optional<kube::ObjectKey> pod_of(const api::Listener& listener,
                                      const claims::ListenerStore& listeners,
                                      const kube::Store<kube::Pod>& pods) {
  auto claim = claims::claim_of(listener);
  if (const std::string_view lock = kube::get(listener.meta.annotations, kLockAnnotation);
      !lock.empty()) {
    const auto found = listeners.get(listener.meta.ns.view(), lock);
    claim = found ? claims::claim_of(*found) : std::nullopt;
  }
  if (!claim) return std::nullopt;
  if (!claim->pod_name.empty()) return kube::ObjectKey{claim->ns, claim->pod_name};
  const auto with_token = pods.by_index(kTokenPodIndex, claim->token);
  if (with_token.empty() || with_token.front()->meta.ns.view() != claim->ns) return std::nullopt;
  return with_token.front()->meta.key();
}

claims::ListenerPtr lock_of(const api::PortBindingItem& entry,
                            const claims::ListenerStore& listeners,
                            const model::LoadBalancerDefaults& defaults) {
  const Result<model::Protocol> protocol = model::parse_protocol(entry.protocol);
  if (!protocol || entry.load_balancer_ids.empty()) return nullptr;
  const Result<model::LoadBalancerRef> lb =
      model::parse_load_balancer(entry.load_balancer_ids.front(), defaults);
  if (!lb) return nullptr;
  return listeners.get(entry.pool_namespace,
                       api::pool_listener_name(*lb, *protocol, api::ports_of(entry)));
}

}  // namespace berth::controllers::portpool
