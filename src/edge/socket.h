// File descriptors and addresses of TCP and UDP sockets, with errors as values. Not thread-safe
// beyond what the kernel gives.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "model/port.h"

namespace berth::edge {

// A non-blocking socket that listens there. Addresses are numeric; errors name the address.
Result<Fd> listen_tcp(const model::Target& at);
// A non-blocking socket whose connection is under way.
Result<Fd> connect_tcp(const model::Target& to);
// The next waiting connection, non-blocking; an invalid Fd when none waits.
Fd accept_tcp(const Fd& listener);
// A non-blocking UDP socket that is bound there.
Result<Fd> bind_udp(const model::Target& at);
// A non-blocking UDP socket that sends there, and hears what comes from there alone.
Result<Fd> connect_udp(const model::Target& to);
// The other side of a connection; empty when it is gone.
std::string peer_of(const Fd& fd);
// What became of a connection under way: 0, or the errno.
int pending_error(const Fd& fd);
// Makes the close of this socket a reset, so that the peer learns that the stream did not end well.
void close_with_reset(const Fd& fd);

}  // namespace berth::edge
