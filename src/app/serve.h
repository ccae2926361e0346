// Runs an App as a process: with its webhook server, its health and metrics endpoints and the
// servers of modules. Not used in simulation.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "app/app.h"
#include "app/driver_set.h"

namespace berth::app {

struct Endpoints {
  std::string webhooks{};  // "https://127.0.0.1:9443"
  std::string ops{};       // "http://127.0.0.1:8080"
  // Of modules, by their names: "http://127.0.0.1:8090". And where requests for the leader arrive
  // that other replicas hand on; empty without a module that has some.
  std::map<std::string, std::string> servers{};
  std::string forwarded{};
};

// Where nobody's room is.
OwnServers own_servers(std::string api_server, const Endpoints& endpoints);

// Blocks until the stop, or until another replica leads. Without an API server it waits; /livez is
// well and /readyz says why not meanwhile. `on_health` hears where they are, before anything else,
// and `on_listening` where all the servers are.
Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening = {},
               const std::function<void(const std::string& ops)>& on_health = {});

}  // namespace berth::app
