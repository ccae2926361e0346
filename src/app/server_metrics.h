// The numbers of an HTTP server, for /metrics. docs/metrics.md lists them.
#pragma once

#include <string>

#include "metrics/registry.h"
#include "net/server.h"

namespace berth::app {

// Shows them under the label `server` while the hook lives. The server outlives it.
metrics::ScrapeHook show_server(metrics::Registry& registry, const std::string& name,
                                const net::Server& server);

}  // namespace berth::app
