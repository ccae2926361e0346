// An HTTP server of a module's own, beside those of webhooks and health. A plain value.
#pragma once

#include <cstdint>
#include <string>

#include "net/server.h"

namespace berth::module {

struct HttpServer {
  std::string name{};
  std::uint16_t port = 0;
  net::Handler handler{};
  // Others say when to come again. (To hand requests on they must know where the leader is, and
  // nobody publishes that yet.)
  bool leader_only = false;
};

}  // namespace berth::module
