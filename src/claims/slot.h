// A slot of a pool as it stands in its Listener: the typed view that claims, admission and
// controllers share.
#pragma once

#include <optional>
#include <string>

#include "api/listener.h"
#include "ledger/claim.h"
#include "model/port.h"

namespace berth::claims {

// Labels of a pool's Listeners, as upstream has them.
inline constexpr std::string_view kOwnerKindLabel = "owner-kind";
inline constexpr std::string_view kOwnerNameLabel = "owner-name";
inline constexpr std::string_view kPoolOwner = "PortPool";
// The item of the pool; ours, because upstream hides it in the key of a label.
inline constexpr std::string_view kItemAnnotation = "berth.dev/pool-item";
// Hash of the spec that the load balancer was last seen to have.
inline constexpr std::string_view kAppliedAnnotation = "berth.dev/applied";

// Names of the indexes on the Listener store.
inline constexpr std::string_view kFreeSlotIndex = "free-slots";  // by "namespace/pool/PROTOCOL"
inline constexpr std::string_view kTokenIndex = "claim-token";
inline constexpr std::string_view kPoolIndex = "pool";      // by "namespace/pool"
inline constexpr std::string_view kPodIndex = "bound-pod";  // by "namespace/pod"

bool belongs_to_pool(const api::Listener& listener);
kube::ObjectKey pool_of(const api::Listener& listener);
std::string free_slot_key(const kube::ObjectKey& pool, model::Protocol protocol);

// The text of the claim annotation; empty when the slot is free.
std::string_view claim_text(const api::Listener& listener);

// A hash of what the load balancer must look like: spec writes that change nothing there have the
// same one.
std::string spec_hash(const api::ListenerSpec& spec);
bool is_applied(const api::Listener& listener);

}  // namespace berth::claims
