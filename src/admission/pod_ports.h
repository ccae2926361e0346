// Gives a Pod its ports while it is being created: claims slots, and tells the Pod about them.
//
// Runs on every replica. The claim is written before the answer; if the Pod is refused later on its
// way, the claim is freed when its lifetime is over.
#pragma once

#include <atomic>
#include <functional>

#include "admission/namespaces.h"
#include "admission/pool_rules.h"
#include "admission/port_wishes.h"
#include "claims/claimer.h"
#include "claims/courtesy.h"
#include "kube/admission/router.h"

namespace berth::admission {

// Creations that wait at one time for a pool to have its first ports. The webhook has a bounded
// number of handlers: what one pool does must not delay Pods of others.
inline constexpr int kMaxWaitingPods = 16;

class PodPorts {
 public:
  using MakeToken = std::function<std::string()>;
  // The seal of what a Pod is told; empty while there are no keys.
  using SealPorts = std::function<std::string(const ledger::Claim& claim,
                                              const std::vector<api::PortBindingItem>& told)>;
  // A Pod that a controller made was refused because these pools are full.
  using OnRefused = std::function<void(const wire::Value& pod, const std::string& ns,
                                       const std::vector<kube::ObjectKey>& pools)>;

  PodPorts(claims::Claimer& claimer, claims::Courtesy& courtesy, const claims::PoolStore& pools,
           const Namespaces& namespaces, const PoolRules& rules, Duration max_keep,
           MakeToken make_token, SealPorts seal_ports, OnRefused on_refused)
      : claimer_(claimer),
        courtesy_(courtesy),
        pools_(pools),
        namespaces_(namespaces),
        rules_(rules),
        max_keep_(max_keep),
        make_token_(std::move(make_token)),
        seal_ports_(std::move(seal_ports)),
        on_refused_(std::move(on_refused)) {}

  Result<kube::AdmissionAnswer> admit(const Context& context,
                                      const kube::AdmissionRequest& request);

 private:
  using Entries = std::vector<api::PortBindingItem>;

  Result<Entries> take(const Context& context, const kube::AdmissionRequest& request,
                       const PortWishes& wishes, const ledger::Claim& claim);
  Result<Entries> take_once(const Context& context, const PortWishes& wishes,
                            const ledger::Claim& claim);
  Result<Entries> show(const Context& context, const std::string& ns, const PortWishes& wishes);
  Result<Entries> entries_for(const PortWishes& wishes,
                              const std::vector<claims::TakenSlot>& slots) const;
  // By what this replica's caches know.
  bool has_room(const PortWishes& wishes) const;
  // Until there is room, or it is not worth it. True: it waited.
  bool wait_for_room(const Context& context, const PortWishes& wishes, Instant begin);
  bool is_worth_waiting(const Context& context, const PortWishes& wishes, Duration waited) const;
  // What the creator of the Pod is told: when a pool can never give what is asked for, that.
  Error reason(const kube::AdmissionRequest& request, const PortWishes& wishes, Error error) const;
  Result<bool> was_answered_just_now(const Context& context, const kube::AdmissionRequest& request,
                                     const PortWishes& wishes);

  claims::Claimer& claimer_;
  claims::Courtesy& courtesy_;
  const claims::PoolStore& pools_;
  const Namespaces& namespaces_;
  const PoolRules& rules_;
  const Duration max_keep_;
  const MakeToken make_token_;
  const SealPorts seal_ports_;
  const OnRefused on_refused_;
  std::atomic<int> waiting_{0};
};

}  // namespace berth::admission
