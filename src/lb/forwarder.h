// The seam to whatever carries traffic for a port. The edge load balancer implements it; simulation
// has its own.
#pragma once

#include <string>
#include <vector>

#include "base/context.h"
#include "model/port.h"

namespace berth::lb {

// One port of one address, and where its traffic goes. Without targets nothing listens.
struct Forwarding {
  std::string address;
  model::Protocol protocol = model::Protocol::tcp;
  model::Port port = 0;
  std::vector<model::Target> targets{};
};

class Forwarder {
 public:
  virtual ~Forwarder() = default;
  // The address on which a load balancer of that id is reached.
  virtual std::string address_of(const std::string& load_balancer_id) = 0;
  // Makes the port look like this; returns when it does. Connections to targets that went away are
  // closed. Idempotent.
  virtual Result<> apply(const Context& context, const Forwarding& wanted) = 0;
};

}  // namespace berth::lb
