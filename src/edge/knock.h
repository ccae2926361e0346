// Whether anybody answers at an address: a TCP connection that is opened, listened to for a moment
// and closed. Nothing is sent.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "model/port.h"

namespace berth::edge {

// A load balancer that accepts and has nobody behind it ends the connection at once.
inline constexpr Duration kKnockLinger = std::chrono::milliseconds{300};

// Blocks for at most the timeout and the moment after it. `unavailable`: refused, or ended at once;
// `timeout`: nothing came back.
Result<> knock(const model::Target& at, Duration timeout);

}  // namespace berth::edge
