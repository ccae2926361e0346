// Whose keys Tencent is called with: those of the process out of the environment, a file or a
// Secret of our namespace, and those of namespaces out of a Secret in each of them.
//
// Secrets are read by their names, never listed. What is read is in no log and no error.
#pragma once

#include <memory>
#include <string>

#include "cloud/tencent/credentials.h"
#include "kube/client/client.h"
#include "module/config.h"
#include "net/transport.h"

namespace berth::providers {

struct TencentCredentials {
  crypto::CloudCredentials given{};  // of the process, where neither of the next two is said
  std::string file{};
  std::string secret{};        // its name
  std::string ns{};            // of that Secret: ours
  bool of_namespaces = false;  // each namespace's Secret `module::kNamespaceSecret`
};

// The transport outlives it.
std::shared_ptr<cloud::tencent::CredentialSource> tencent_credentials(
    net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
    TencentCredentials sources);

}  // namespace berth::providers
