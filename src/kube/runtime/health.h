// /livez, /readyz and /metrics of a process, as a handler for net::Server. Thread-safe after
// set-up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "metrics/registry.h"
#include "net/server.h"

namespace berth::kube {

class Health {
 public:
  // Empty: well. Otherwise what is wrong, for the person who asks.
  using Check = std::function<std::string()>;

  explicit Health(metrics::Registry& registry) : registry_(registry) {}

  // Before the server starts.
  void live_when(std::string name, Check check) {
    live_.push_back({std::move(name), std::move(check)});
  }
  void ready_when(std::string name, Check check) {
    ready_.push_back({std::move(name), std::move(check)});
  }

  // Answers the three paths (and controller-runtime's /healthz); 404 for others. `?verbose` lists
  // every check.
  net::Reply handle(const net::Request& request) const;

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static net::Reply report(std::string_view what, const std::vector<Named>& checks, bool verbose);

  metrics::Registry& registry_;
  std::vector<Named> live_;
  std::vector<Named> ready_;
};

}  // namespace berth::kube
