// The cluster that a command speaks to: the flags that name it, and the way there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "command.h"
#include "kube/client/client.h"

namespace berth::cmd {

struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
};
void add_cluster_options(CLI::App& command, ClusterFlags& flags);

Result<std::shared_ptr<const kube::ClusterConfig>> load_cluster(const ClusterFlags& flags);

// For commands that a person waits for: only errors are logged, and a signal stops the work.
using ClusterWork = std::function<Result<>(const Context& context, kube::Client& client)>;
Result<> with_cluster(const ClusterFlags& flags, const ClusterWork& work);

}  // namespace berth::cmd
