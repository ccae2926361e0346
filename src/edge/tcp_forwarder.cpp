#include "edge/tcp_forwarder.h"

#include <algorithm>

namespace berth::edge {

Result<std::unique_ptr<TcpForwarder>> TcpForwarder::start() {
  // Here load balancers are named by their address, and ports are what they are.
  EdgeOptions options{
      .addresses = [](const model::LoadBalancerRef& lb) -> Result<std::vector<std::string>> {
        return std::vector{lb.id};
      },
      .low_ports = LowPorts{}};
  Result<std::unique_ptr<EdgeDriver>> driver = EdgeDriver::start(std::move(options));
  if (!driver) return pass(driver);
  return std::unique_ptr<TcpForwarder>(new TcpForwarder(std::move(*driver)));
}

std::string TcpForwarder::address_of(const std::string& load_balancer_id) {
  return loopback_address(load_balancer_id);
}

Result<> TcpForwarder::apply(const Context& context, const lb::Forwarding& wanted) {
  const model::Target at{wanted.address, wanted.port};
  const model::LoadBalancerRef lb{.id = wanted.address};
  std::vector<model::Target> before;
  {
    const MutexLock lock(mu_);
    if (const auto it = targets_.find(at); it != targets_.end()) before = it->second;
  }
  if (wanted.targets.empty() && before.empty()) return {};
  if (wanted.protocol != model::Protocol::tcp) {
    return fail(error_of(Code::unsupported, "the edge load balancer forwards TCP, not {}",
                         model::to_string(wanted.protocol))
                    .about(model::to_string(at)));
  }
  const model::ListenerSpec spec{.ports = {wanted.port, wanted.port}, .name = "berth"};
  Result<std::string> id = driver_->create(context, lb, {&spec, 1}).front();
  if (!id) return pass(id);
  lb::TargetChange change{.listener_id = *id};
  for (const model::Target& target : wanted.targets) change.add.push_back({target});
  for (const model::Target& target : before)
    if (!std::ranges::count(wanted.targets, target)) change.remove.push_back(target);
  Result<> changed = driver_->change_targets(context, lb, {&change, 1}).front();
  if (changed) {
    const MutexLock lock(mu_);
    targets_[at] = wanted.targets;
  } else if (changed.error().code == Code::already_exists) {
    changed.error().code = Code::conflict;
  }
  return changed;
}

}  // namespace berth::edge
