// A connection to an API server, as each bench opens its own.
#pragma once

#include "base/threads.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "net/curl_transport.h"

namespace berth::bench {

struct Session {
  ThreadTasks tasks;
  net::CurlTransport transport;
  std::unique_ptr<kube::Client> client;

  Result<> open(const std::string& kubeconfig) {
    auto cluster = kube::load_kubeconfig({kubeconfig}, "");
    if (!cluster) return pass(cluster);
    client = std::make_unique<kube::Client>(transport, *cluster);
    // The first call pays for TLS: not what is measured.
    auto warm = client->raw_get({.tasks = tasks}, "/version");
    if (!warm) return pass(warm);
    return {};
  }
};

}  // namespace berth::bench
