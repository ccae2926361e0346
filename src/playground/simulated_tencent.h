// A Tencent Cloud for the playground: its API over HTTPS on loopback, a key that nobody else knows,
// a few load balancers in two regions, and traffic that is really carried.
//
// Owned by the playground, and ended after the controller that uses it. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/tasks.h"
#include "cloud/tencent/options.h"
#include "edge/target_rules.h"
#include "playground/overview.h"
#include "sim/cloud/tencent/https_frontend.h"
#include "sim/cloud/traffic/carrier.h"

namespace berth::playground {

struct SimulatedTencentOptions {
  std::optional<edge::LowPorts> low_ports{};  // none: what this process may open
  // Beside its own. Account, network and addresses are filled in where they are left out.
  std::vector<sim::tencent::LoadBalancer> load_balancers{};
  sim::tencent::Policy policy{"*:*"};  // of the key
};

class SimulatedTencent {
 public:
  // `tasks` outlives it.
  static Result<std::unique_ptr<SimulatedTencent>> start(Tasks& tasks, Random random,
                                                         SimulatedTencentOptions options);

  // Its state, for people and programs: "https://127.0.0.1:41234".
  std::string url() const { return frontend_->url(); }
  // How a driver reaches it.
  cloud::tencent::Settings settings() const;
  // Where ports are open that this process may not open.
  void add_low_ports(LowPortsByVip& out) const;
  // Nobody is led there.
  void avoid(std::vector<edge::Endpoint> own) { carrier_->avoid(std::move(own)); }

 private:
  SimulatedTencent() = default;

  std::unique_ptr<sim::tencent::Cloud> cloud_;
  crypto::CloudCredentials credentials_;
  std::unique_ptr<sim::traffic::Carrier> carrier_;
  std::unique_ptr<sim::tencent::HttpsFrontend> frontend_;  // last: it asks the others
};

}  // namespace berth::playground
