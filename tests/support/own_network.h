#pragma once

// A network of this process alone: its loopback is nobody else's, and addresses of simulated Pods
// are its own, so that somebody can answer at them.
//
// Call it before the first thread is started; threads and child processes that are made later are
// in it too.

#include <string>

namespace berth::testing {

// Nothing but loopback is there. Empty when done; otherwise why this machine does not allow it.
std::string enter_own_network();

// Everything below `address`/`bits` is local from then on. Empty when done; otherwise why this
// machine does not allow it.
std::string enter_own_network(const std::string& address, int bits);

}  // namespace berth::testing
