// The edge load balancer as a part of a process: its driver, its metrics, its draining, and where
// it leads nobody.
#pragma once

#include "app/driver_set.h"
#include "edge/driver.h"
#include "kube/client/client.h"
#include "net/transport.h"

namespace berth::providers {

// Certificates for its sites from Secrets, each of its Listener's own namespace. The transport
// outlives it.
std::shared_ptr<lb::CertificateSource> secret_certificates(
    net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster);

// `serves`: as in DriverPart.
Result<app::DriverPart> start_edge(edge::EdgeOptions options,
                                   std::vector<model::Provider> serves = {model::Provider::edge});

}  // namespace berth::providers
