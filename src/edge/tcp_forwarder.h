// The edge load balancer behind the older seam `lb::Forwarder`: TCP ports on loopback addresses.
// Everything is done by EdgeDriver; this goes when nobody uses the seam any more.
//
// Thread-safe, but calls for one port must follow each other. Owned by the composition root.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "edge/driver.h"
#include "lb/forwarder.h"

namespace berth::edge {

class TcpForwarder final : public lb::Forwarder {
 public:
  static Result<std::unique_ptr<TcpForwarder>> start();

  std::string address_of(const std::string& load_balancer_id) override;
  Result<> apply(const Context& context, const lb::Forwarding& wanted) override;

 private:
  explicit TcpForwarder(std::unique_ptr<EdgeDriver> driver) : driver_(std::move(driver)) {}

  const std::unique_ptr<EdgeDriver> driver_;
  Mutex mu_;
  std::map<model::Target, std::vector<model::Target>> targets_ GUARDED_BY(mu_);
};

}  // namespace berth::edge
