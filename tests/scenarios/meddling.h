// What planted defects are made of: things that a test puts between a replica and its surroundings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crypto/key_ring.h"
#include "lb/driver.h"
#include "net/transport.h"
#include "pool_trouble.h"

namespace berth::scenario {

// Nothing: the request is not sent, and answered with the object that it was about.
using Rewrite = std::function<std::optional<net::Request>(const net::Request& request)>;

// Changes requests on their way to the API server.
Plant meddle(Rewrite rewrite);
// Lets `change` work on the operations of a JSON Patch of this resource; other requests pass.
net::Request with_operations(net::Request request, std::string_view resource,
                             const std::function<void(wire::Array& operations)>& change);
// The same, with the number of the replica.
Plant meddle_with_each(
    std::function<net::Request(const net::Request& request, int replica)> change);

// Changes an object of the API server on its way to a replica. The ring is that with which replicas
// seal: whoever has it can make what is forged look as if it were not.
using Reread = std::function<void(wire::Value& object, const crypto::KeyRing& seals)>;

// Changes what a replica reads of one resource ("listeners"), by lists, watches and answers, and
// what it writes.
struct ReadMeddler {
  std::string resource{};
  Reread reads{};
  Rewrite writes = [](const net::Request& request) { return std::optional(request); };
};
Plant meddle_with_reads(ReadMeddler meddler);

// Changes what a replica asks a load balancer for; what is left out is confirmed all the same.
struct DriverMeddler {
  std::function<void(const model::LoadBalancerRef& lb, lb::TargetChange& change)> changes =
      [](const auto&, auto&) {};
  // Listeners that are removed at a write, by id, next to those that are meant to be.
  std::function<std::vector<model::ListenerId>(std::span<const lb::ObservedListener> all,
                                               std::span<const model::ListenerId> meant)>
      also_removes{};
};
Plant meddle_with_driver(DriverMeddler meddler);

}  // namespace berth::scenario
