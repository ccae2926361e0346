// Planted defects of the class "trust": each takes one protection against people away.
//
// What decides sits inside the process, so a plant sits at its seams and makes the effect. One that
// lets a seal pass signs whatever the replica reads with the replicas' own key; one that grants
// wrongly changes the write in which the decision shows.
#pragma once

#include "meddling.h"

namespace berth::scenario {

// One after the other.
Plant both(const Plant& first, const Plant& second);

// Whatever says that it is a Listener of ours has a good seal.
Plant unchecked_listener_seals();
// Whatever a Pod says that it was told has a good seal.
Plant unchecked_pod_seals();
// Grants are what pools ask for now, wherever their Listeners are.
Plant grants_that_move();
// A LoadBalancer object that is made anew has what pools ask for, the oldest first.
Plant grants_without_listeners();
// With a Listener goes what has its name at the provider, but for the digest.
Plant removal_by_name();
// With a listener at the provider goes what the status of its Listener called its id.
Plant removal_by_id();
// A claim that cannot be read looks free, and is taken.
Plant unreadable_claims_are_free();
// What an admission claimed for a name is kept for it, Pod or no Pod.
Plant keeping_what_was_no_pod();
// The annotation that asks for ports cannot be taken off.
Plant asking_for_ever();
// Of a Lease that was made a second time: it is renewed in the mind of its holder alone.
Plant renewals_that_are_never_sent();
// Webhooks answer also without the secret segment of their path.
Plant paths_without_a_secret();

}  // namespace berth::scenario
