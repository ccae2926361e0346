// Listeners that a provider which takes lists of ports makes in one call.
#pragma once

#include "model/listener.h"

namespace berth::lb {

// They differ in port and name alone. A range is like no other: its end belongs to one port.
bool are_alike(const model::ListenerSpec& a, const model::ListenerSpec& b);

}  // namespace berth::lb
