#include "providers/edge.h"

#include "controllers/listener/secret_certificates.h"
#include "edge/edge_metrics.h"

namespace berth::providers {

std::shared_ptr<lb::CertificateSource> secret_certificates(
    net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster) {
  struct Parts {
    Parts(net::Transport& over, std::shared_ptr<const kube::ClusterConfig> to)
        : client(over, std::move(to)), certificates(client) {}
    kube::Client client;
    controllers::listener::SecretCertificates certificates;
  };
  const auto parts = std::make_shared<Parts>(transport, std::move(cluster));
  return {parts, &parts->certificates};
}

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
                                                           .ops = servers.ops,
                                                           .others = servers.others}));
          }};
}

}  // namespace berth::providers
