#include "controllers/portpool/pod_index.h"

#include <algorithm>

#include "api/pod_ports.h"
#include "controllers/portpool/pool_plan.h"

namespace berth::controllers::portpool {
namespace {

// Of the slot that it is part of.
kube::ObjectKey lock_key(const api::Listener& listener) {
  const std::string_view lock = kube::get(listener.meta.annotations, kLockAnnotation);
  return {std::string(listener.meta.ns.view()),
          lock.empty() ? listener.meta.name : std::string(lock)};
}

}  // namespace

void add_pod_indexes(kube::Store<kube::Pod>& pods) {
  pods.add_index(std::string(kTokenPodIndex), [](const kube::Pod& pod, kube::EmitKey emit) {
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    if (!token.empty()) emit(token);
  });
  pods.add_index(std::string(kToldPodIndex), [](const kube::Pod& pod, kube::EmitKey emit) {
    const std::string_view text = kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation);
    if (text.empty() || pod.finished()) return;
    const Result<std::vector<api::PortBindingItem>> told = api::decode_pool_bindings(text);
    if (!told) return;
    for (const api::PortBindingItem& entry : *told)
      if (const auto lock = api::lock_of(entry)) emit(lock->to_string());
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

std::vector<std::shared_ptr<const kube::Pod>> pods_told_of(const api::Listener& lock,
                                                           const kube::Store<kube::Pod>& pods) {
  return pods.by_index(kToldPodIndex, lock.meta.key().to_string());
}

std::set<kube::ObjectKey> pods_concerned(const kube::Change<api::Listener>& change,
                                         const claims::ListenerStore& listeners,
                                         const kube::Store<kube::Pod>& pods) {
  std::set<kube::ObjectKey> out;
  for (const auto& listener : {change.before, change.after}) {
    if (!listener) continue;
    if (auto pod = pod_of(*listener, listeners, pods)) out.insert(std::move(*pod));
  }
  for (const auto& pod : pods.by_index(kToldPodIndex, lock_key(change.object()).to_string()))
    out.insert(pod->meta.key());
  return out;
}

Result<> check_targets(const api::Listener& listener, const kube::Store<kube::Pod>& pods) {
  if (!claims::has_targets(listener.spec)) return {};
  const auto told = pods.by_index(kToldPodIndex, lock_key(listener).to_string());
  for (const api::ListenerBackend* const backend : api::backends_of(listener.spec)) {
    const bool known = std::ranges::any_of(told, [&](const auto& pod) {
      return pod->host_ip.view() == backend->ip ||
             std::ranges::find(pod->ips, backend->ip) != pod->ips.end();
    });
    if (known) continue;
    return fail(error_of(Code::forbidden,
                         "{} is no address of a Pod that was told of this port, nor of its node",
                         backend->ip)
                    .about("Listener " + listener.meta.key().to_string())
                    .at(listener.spec.rules.empty() ? "spec.targetGroup.backends" : "spec.rules")
                    .with_hint("targets of a pool's Listener are written by its controller alone"));
  }
  return {};
}

claims::ListenerPtr lock_of(const api::PortBindingItem& entry,
                            const claims::ListenerStore& listeners) {
  const auto key = api::lock_of(entry);
  claims::ListenerPtr found = key ? listeners.get(*key) : nullptr;
  if (!found || !claims::is_peer(*found)) return found;
  // Whoever may edit the Pod or its PortBinding may write its load balancers in another order.
  return listeners.get(key->ns, kube::get(found->meta.annotations, kLockAnnotation));
}

}  // namespace berth::controllers::portpool
