// What a pool needs, and what becomes of a slot: pure decisions of the port pool controllers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/listener.h"
#include "api/pod_ports.h"
#include "api/port_pool.h"
#include "kube/cache/pod.h"
#include "ledger/claim.h"

namespace berth::controllers::portpool {

// The Listeners that a pool must have: one per item, load balancer, protocol and port.
struct WantedSlot {
  std::string name;
  std::string item;
  api::ListenerSpec spec;
};
Result<std::vector<WantedSlot>> wanted_slots(const api::PortPool& pool);
// The object to create: free, labelled as the pool's, with the pool as its owner.
wire::Value new_listener(const api::PortPool& pool, const WantedSlot& slot);

// The status of a pool whose Listeners are these.
api::PortPoolStatus pool_status(const api::PortPool& pool,
                                const std::vector<std::shared_ptr<const api::Listener>>& listeners);

// What to do about a slot. At most one of the members is set.
struct SlotStep {
  // Replace the claim (empty text: free the slot) and the spec.
  struct Swap {
    std::string claim;
    api::ListenerSpec spec;
  };
  std::optional<Swap> swap{};
  // The slot leads to its Pod, which was not told yet. It is told when all of its slots do: see
  // `all_lead_to`.
  bool announce_ready = false;
  // Nothing yet; look again then.
  std::optional<Duration> wait{};
  // The cache knows no such Pod, which may be because it is behind: ask the server before freeing.
  bool check_pod_is_gone = false;
};

// What is known of the Pod of a claim: from the cache, or from the server after
// `check_pod_is_gone`.
struct PodView {
  std::shared_ptr<const kube::Pod> pod{};  // null: not there
  bool certain = false;                    // asked the server: not there means gone
};

// `claim` is null for a free slot.
Result<SlotStep> next_step(const api::Listener& listener, const ledger::Claim* claim,
                           const PodView& view, WallTime now);

// Whether every port that the Pod was told of leads to it; `slots` are those that it has claimed.
bool all_lead_to(const kube::Pod& pod,
                 const std::vector<std::shared_ptr<const api::Listener>>& slots);

}  // namespace berth::controllers::portpool
