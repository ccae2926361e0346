#include "cluster.h"

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "environment.h"
#include "net/curl_transport.h"

namespace berth::cmd {

void add_cluster_options(CLI::App& command, ClusterFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig,
                     "Kubeconfig file; by default where kubectl looks.");
  command.add_option("--context", flags.context, "Context of the kubeconfig.");
}

Result<std::shared_ptr<const kube::ClusterConfig>> load_cluster(const ClusterFlags& flags) {
  return kube::load_config(config_source(flags.kubeconfig, flags.context));
}

Result<> with_cluster(const ClusterFlags& flags, const ClusterWork& work) {
  set_log_level(LogLevel::error);
  Foreground foreground;
  Result<std::shared_ptr<const kube::ClusterConfig>> cluster = load_cluster(flags);
  if (!cluster) return pass(cluster);
  net::CurlTransport transport;
  kube::Client client(transport, *cluster);
  return work(foreground.context(), client);
}

}  // namespace berth::cmd
