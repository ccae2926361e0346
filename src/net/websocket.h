// The server's side of a WebSocket that only speaks: the handshake, and frames for the client.
// Pure.
//
// For answers that a client insists on reading as messages (`kubectl exec`). What the client sends
// after the handshake is not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/server.h"

namespace berth::net {

// The first of `protocols` (best first) that the request offers; nullopt when it is no WebSocket
// handshake or offers none of them.
std::optional<std::string> offered_protocol(const Request& request,
                                            std::initializer_list<std::string_view> protocols);

// One binary message, in one frame.
void append_message(std::string& out, std::string_view payload);
// The end: the client closes when it has read it.
void append_close(std::string& out);

// Accepts the handshake, sends these frames and ends the connection.
Reply websocket_reply(const Request& request, std::string protocol, std::string frames);

}  // namespace berth::net
