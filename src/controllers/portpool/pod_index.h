// The ways between Pods and the slots that they hold. Pure lookups in the caches.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "api/port_binding.h"
#include "claims/slot.h"
#include "kube/cache/pod.h"
#include "kube/cache/store.h"
#include "model/load_balancer.h"

namespace berth::controllers::portpool {

// Names of the indexes on the Pod store.
inline constexpr std::string_view kTokenPodIndex = "token";  // by claim token
// By "namespace/name" of the locks of the slots that the Pod was told of, while it lives.
inline constexpr std::string_view kToldPodIndex = "told";
// Before the informer starts.
void add_pod_indexes(kube::Store<kube::Pod>& pods);

// The Pod was given ports at admission.
bool has_ports(const kube::Pod& pod);

// The Pod that a Listener of a pool works for: by the claim on its slot's lock.
std::optional<kube::ObjectKey> pod_of(const api::Listener& listener,
                                      const claims::ListenerStore& listeners,
                                      const kube::Store<kube::Pod>& pods);

// Pods that live and were told of the slot of this lock, whoever told them.
std::vector<std::shared_ptr<const kube::Pod>> pods_told_of(const api::Listener& lock,
                                                           const kube::Store<kube::Pod>& pods);

// Pods for which a change of a Listener may mean something: those whose claim its slot has or had,
// and those that were told of it. What is written in place of a claim may name nobody, or another.
std::set<kube::ObjectKey> pods_concerned(const kube::Change<api::Listener>& change,
                                         const claims::ListenerStore& listeners,
                                         const kube::Store<kube::Pod>& pods);

// Whether each target of the Listener is an address of a Pod that lives and was told of its port,
// or of that Pod's node. The error names the one that is not.
Result<> check_targets(const api::Listener& listener, const kube::Store<kube::Pod>& pods);

// The Listener that is the lock of the slot that the Pod was told of; null when it is not there.
// Whose it is, is for the caller to see: it may be another controller's.
claims::ListenerPtr lock_of(const api::PortBindingItem& entry,
                            const claims::ListenerStore& listeners);

}  // namespace berth::controllers::portpool
