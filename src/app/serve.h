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

// Blocks until the stop, or until leadership is lost. `on_listening` hears where the servers are.
Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening = {});

}  // namespace berth::app
