// What a Pod was told of its ports. It lies in an annotation, which is the tenant's to edit: where
// its seal says that somebody did, the PortBinding has it as it was; before there is one, the Pod's
// claims do. None of these gives it a port that no claim says is its own.
#pragma once

#include <memory>

#include "controllers/portpool/binding_plan.h"
#include "crypto/key_ring.h"

namespace berth::controllers::portpool {

// What the seal of a Pod's ports says of what it was told.
claims::PortsProof proof_of(const kube::Pod& pod, const crypto::KeyRing& ring);

// Fills `told`, `proof`, `is_in_doubt` and `seal` of a view that has its Pod, slots and
// PortBinding. The ring may be null.
void add_told(BindingView& view, const std::shared_ptr<const crypto::KeyRing>& ring);

}  // namespace berth::controllers::portpool
