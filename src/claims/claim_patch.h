// The JSON Patches that change claims and Listeners: each tests what it relies on. Pure.
#pragma once

#include "claims/claimer.h"
#include "claims/listener_write.h"
#include "wire/value.h"

namespace berth::claims {

// From this text to that one, on the Listener of this uid, unless it is being deleted.
wire::Array claim_patch(std::string_view uid, std::string_view expected, std::string_view claim);
// Not tested: that the object is not being deleted. It may still be freed then.
ListenerPatch change_patch(const api::Listener& listener, const ListenerChange& change);

}  // namespace berth::claims
