// How a reply looks on the wire: status line, headers, chunk framing. Private to net; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/server.h"

namespace berth::net {

// How the body of a reply is delimited.
enum class Framing {
  length,   // Content-Length
  chunked,  // until the empty chunk
  none,     // the status has no body (204, 304)
  raw,      // what follows is not HTTP, and ends with the connection (101)
};

// With `keep_alive` false the head says that the connection ends. Headers must be valid.
std::string reply_head(const Reply& reply, Framing framing, bool keep_alive, WallTime now);
Framing framing_of(const Reply& reply);

// Bytes as one chunk of a chunked body. Not for empty bytes: that would be the end.
std::string chunk_of(std::string bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// A plain-text answer for what the server refuses by itself.
Reply refusal(int status, std::string_view why);

}  // namespace berth::net
