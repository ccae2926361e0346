#include "app/server_metrics.h"

namespace berth::app {
namespace {

// The server counts; the counter follows.
void follow(metrics::Counter& counter, std::uint64_t count) {
  counter.increment(static_cast<double>(count) - counter.value());
}

}  // namespace

metrics::ScrapeHook show_server(metrics::Registry& registry, const std::string& name,
                                const net::Server& server) {
  const metrics::Labels labels{{"server", name}};
  auto& open = registry.gauge("berth_http_connections_open", "Connections now.", labels);
  auto& bytes = registry.gauge("berth_http_request_bytes_in_flight",
                               "Bytes of requests that arrive or are being answered.", labels);
  auto& requests =
      registry.counter("berth_http_requests_total", "Whole requests that arrived.", labels);
  auto& refused =
      registry.counter("berth_http_connections_refused_total",
                       "Connections closed at once: all others were being answered.", labels);
  auto& evicted = registry.counter("berth_http_connections_evicted_total",
                                   "Idle or slow connections closed to make room.", labels);
  auto& shed =
      registry.counter("berth_http_requests_shed_total",
                       "Slow requests that were told to come again, to make room.", labels);
  return registry.before_scrape([&open, &bytes, &requests, &refused, &evicted, &shed, &server] {
    const net::ServerStatistics now = server.statistics();
    open.set(static_cast<double>(now.open));
    bytes.set(static_cast<double>(now.bytes_in_flight));
    follow(requests, now.requests);
    follow(refused, now.refused);
    follow(evicted, now.evicted);
    follow(shed, now.shed);
  });
}

}  // namespace berth::app
