// The one configuration of a controller process. `cmd` fills it from flags; everything else takes
// it from here.
#pragma once

#include <cstdint>
#include <string>

#include "api/host_ports.h"
#include "controllers/install/plan.h"
#include "kube/client/resource.h"

namespace berth::app {

struct Config {
  // Where the lease and the Secret of the webhook's certificate live.
  std::string ns = "default";
  std::string identity;  // unique per process
  bool elect_leader = true;

  // Where we listen for the API server, and how it finds us there.
  std::string webhook_address = "127.0.0.1";
  std::uint16_t webhook_port = 0;  // 0: any free one
  // With a name, the API server calls this Service of our namespace; without one, the address
  // above.
  std::string webhook_service;

  std::string ops_address = "127.0.0.1";  // /livez, /readyz, /metrics
  std::uint16_t ops_port = 0;

  // The ports of nodes that Pods are given when they ask for random host ports.
  model::PortRange host_ports = api::kDefaultHostPorts;

  controllers::install::OurUser user;
};

}  // namespace berth::app
