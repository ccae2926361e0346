// From a wanted Listener to the object: its identity, what it belongs to, and how it is made. Pure.
#pragma once

#include "claims/claimer.h"
#include "claims/seal.h"
#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend {

// What it is for as long as it lives.
claims::Identity identity_of(const Owner& owner, const WantedListener& wanted);
// Its labels, and its owner.
claims::ListenerChange::Belonging belonging_of(const Owner& owner, const WantedListener& wanted);
// The object to create: sealed, labelled as users know it, and free if it is a slot.
wire::Value new_listener(const Owner& owner, const WantedListener& wanted,
                         const claims::Marks& marks);

// Somebody changed what never changes while a Listener lives.
bool is_another(const api::Listener& a, const api::Listener& b);

}  // namespace berth::frontend
