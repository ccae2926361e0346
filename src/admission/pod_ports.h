// Gives a Pod its ports while it is being created: claims slots, and tells the Pod about them. Also
// validates PortPools.
//
// Runs on every replica. The claim is written before the answer; if the Pod is refused later on its
// way, the claim is freed when its lifetime is over.
#pragma once

#include <functional>

#include "claims/claimer.h"
#include "kube/admission/router.h"
#include "lb/forwarder.h"

namespace berth::admission {

class PodPorts {
 public:
  using MakeToken = std::function<std::string()>;
  // How far a pool is, as this replica's cache knows it.
  enum class PoolState : std::uint8_t { unknown, filling, ready };
  using StateOfPool = std::function<PoolState(const kube::ObjectKey& pool)>;

  PodPorts(claims::Claimer& claimer, lb::Forwarder& forwarder, StateOfPool state_of_pool,
           MakeToken make_token)
      : claimer_(claimer),
        forwarder_(forwarder),
        state_of_pool_(std::move(state_of_pool)),
        make_token_(std::move(make_token)) {}

  Result<kube::AdmissionAnswer> admit(const Context& context,
                                      const kube::AdmissionRequest& request);

 private:
  Result<std::vector<claims::Slot>> claim(const Context& context,
                                          const std::vector<claims::SlotRequest>& slots,
                                          const ledger::Claim& claim);
  bool is_filling(const std::vector<claims::SlotRequest>& slots) const;
  bool is_worth_waiting(const std::vector<claims::SlotRequest>& slots, Duration waited) const;

  claims::Claimer& claimer_;
  lb::Forwarder& forwarder_;
  const StateOfPool state_of_pool_;
  const MakeToken make_token_;
};

Result<kube::AdmissionAnswer> validate_port_pool(const kube::AdmissionRequest& request);

}  // namespace berth::admission
