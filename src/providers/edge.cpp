#include "providers/edge.h"

#include "edge/edge_metrics.h"

namespace berth::providers {

Result<app::DriverPart> start_edge(edge::EdgeOptions options, std::vector<model::Provider> serves) {
  Result<std::unique_ptr<edge::EdgeDriver>> started = edge::EdgeDriver::start(std::move(options));
  if (!started) return pass(started);
  const std::shared_ptr<edge::EdgeDriver> driver = std::move(*started);
  return app::DriverPart{
      .serves = std::move(serves),
      .seams = driver->seams(),
      .owner = driver,
      .measure = [driver](metrics::Registry& registry) -> std::shared_ptr<void> {
        return std::make_shared<edge::EdgeMetrics>(registry, *driver);
      },
      .drain = [driver](const Context& context) { return driver->drain(context); },
      .avoid =
          [driver](const app::OwnServers& servers) {
            driver->set_own_endpoints(edge::own_endpoints({.api_server = servers.api_server,
                                                           .webhooks = servers.webhooks,
                                                           .ops = servers.ops}));
          }};
}

}  // namespace berth::providers
