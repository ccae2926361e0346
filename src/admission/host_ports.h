// Gives a Pod random host ports while it is being created: the least used ones of the range.
//
// Runs on every replica and writes nothing: what is in use is told by the Pod cache, so that a
// restart knows it and a Pod that is refused later on its way leaves nothing behind. Two replicas
// may give the same port; then the scheduler puts the Pods on different nodes, which is what a host
// port needs. Thread-safe after `follow`.
#pragma once

#include <functional>

#include "admission/host_port_injection.h"
#include "base/context.h"
#include "base/mutex.h"
#include "kube/admission/review.h"
#include "kube/cache/pod.h"
#include "kube/cache/store.h"
#include "ledger/host_ports.h"

namespace berth::admission {

class HostPorts {
 public:
  HostPorts(model::PortRange range, Random random) : use_(range), random_(random) {}

  // Counts the Pods of this store from now on, all that have a host port in the range: also those
  // of others stand in the way on their node. Before the store's first write; it outlives us.
  void follow(kube::Store<kube::Pod>& pods);

  Result<kube::AdmissionAnswer> admit(const Context& context,
                                      const kube::AdmissionRequest& request);

 private:
  void see(const kube::Change<kube::Pod>& change);
  Result<> wait_for_cache(const Context& context) const;
  struct Wish {
    std::vector<WantedHostPort> wanted;
    HostPortMap carried;
    std::vector<model::Port> fixed;
  };
  Result<std::vector<GivenHostPort>> give(const kube::AdmissionRequest& request, Wish wish,
                                          Instant now);

  const kube::Store<kube::Pod>* pods_ = nullptr;
  Mutex mu_;
  ledger::HostPortUse use_ GUARDED_BY(mu_);
  Random random_ GUARDED_BY(mu_);
};

}  // namespace berth::admission
