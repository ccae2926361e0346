#include "edge/listener.h"

#include <algorithm>

namespace berth::edge {

Tally ListenerCounters::read() const {
  const auto value = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const auto values = [&](const CountedByReason& counters) {
    ByReason out{};
    std::ranges::transform(counters, out.begin(), value);
    return out;
  };
  return {.connections = value(connections),
          .active = value(active),
          .bytes_in = value(bytes_in),
          .bytes_out = value(bytes_out),
          .datagrams_in = value(datagrams_in),
          .datagrams_out = value(datagrams_out),
          .refused_by = values(refused_by),
          .displaced_by = values(displaced_by),
          .dropped = value(dropped),
          .connect_failures = value(connect_failures)};
}

Listener::~Listener() {
  if (options_.on_end) options_.on_end(counters.read());
}

void Listener::set_attributes(const model::RuleAttributes& attributes) {
  const MutexLock lock(mu_);
  balancer_.set_rules(attributes.scheduler, attributes.session_seconds * options_.second);
}

Result<std::vector<BackendPtr>> Listener::set_targets(
    const std::vector<model::WeightedTarget>& targets) {
  const MutexLock lock(mu_);
  std::map<model::Target, BackendPtr> next;
  std::vector<BackendPtr> in_order;
  for (const model::WeightedTarget& wanted : targets) {
    const auto known = backends_.find(wanted.target);
    BackendPtr backend = known == backends_.end() ? nullptr : known->second;
    if (!backend) {
      const Result<SocketAddress> address = SocketAddress::of(wanted.target);
      if (!address) return fail(address.error());
      backend = std::make_shared<Backend>(wanted.target, *address, options_.workers);
      backend->weight = wanted.weight;
    }
    next.emplace(wanted.target, backend);
    in_order.push_back(std::move(backend));
  }
  for (const model::WeightedTarget& wanted : targets)
    next.at(wanted.target)->weight = wanted.weight;
  std::vector<BackendPtr> gone;
  for (auto& [target, backend] : backends_) {
    if (next.contains(target)) continue;
    backend->removed = true;
    gone.push_back(backend);
  }
  backends_ = std::move(next);
  balancer_.set_backends(in_order);
  return gone;
}

BackendLease Listener::choose(const IpBytes& client, Instant now,
                              std::span<const BackendPtr> tried) {
  const MutexLock lock(mu_);
  return BackendLease(balancer_.choose(client, now, tried));
}

std::vector<BackendPtr> Listener::backends() const {
  const MutexLock lock(mu_);
  std::vector<BackendPtr> out;
  for (const auto& [target, backend] : backends_) out.push_back(backend);
  return out;
}

}  // namespace berth::edge
