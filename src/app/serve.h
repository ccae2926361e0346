// Runs an App as a process: with its webhook server and its health and metrics endpoints. Not used
// in simulation.
#pragma once

#include <functional>

#include "app/app.h"

namespace berth::app {

struct Endpoints {
  std::string webhooks;  // "https://127.0.0.1:9443"
  std::string ops;       // "http://127.0.0.1:8080"
};

// Blocks until the stop, or until another replica leads. Without an API server it waits; /livez is
// well and /readyz says why not meanwhile. `on_health` hears where they are, before anything else,
// and `on_listening` where all the servers are.
Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening = {},
               const std::function<void(const std::string& ops)>& on_health = {});

}  // namespace berth::app
