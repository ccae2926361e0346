// What planted defects are made of: things that a test puts between a replica and its surroundings.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "lb/driver.h"
#include "net/transport.h"
#include "pool_trouble.h"

namespace berth::scenario {

// Nothing: the request is not sent, and answered with the object that it was about.
using Rewrite = std::function<std::optional<net::Request>(const net::Request& request)>;

// Changes requests on their way to the API server.
Plant meddle(Rewrite rewrite);
// The same, with the number of the replica.
Plant meddle_with_each(
    std::function<net::Request(const net::Request& request, int replica)> change);

// Changes what a replica asks a load balancer for; what is left out is confirmed all the same.
struct DriverMeddler {
  std::function<void(const model::LoadBalancerRef& lb, lb::TargetChange& change)> changes =
      [](const auto&, auto&) {};
};
Plant meddle_with_driver(DriverMeddler meddler);

}  // namespace berth::scenario
