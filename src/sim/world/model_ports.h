// What carries traffic, as a map: what a player would reach. Outlives every replica, as a real load
// balancer does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lb/forwarder.h"
#include "sim/kernel/kernel.h"

namespace berth::world {

class ModelPorts {
 public:
  using Key = std::tuple<std::string, model::Protocol, model::Port>;
  using Targets = std::vector<model::Target>;

  // Null when nothing was ever said about the port.
  const Targets* find(const std::string& address, model::Protocol protocol, model::Port port) const;
  const std::map<Key, Targets>& all() const { return ports_; }
  void set(const lb::Forwarding& wanted);
  // Called after each change. It must not wait.
  void observe(std::function<void(const lb::Forwarding&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  std::map<Key, Targets> ports_;
  std::function<void(const lb::Forwarding&)> observer_;
};

// A replica's way to it: a seam like any other, so a crash can strike on both sides of it.
class ModelForwarder final : public lb::Forwarder {
 public:
  ModelForwarder(sim::Process& process, ModelPorts& ports) : process_(process), ports_(ports) {}

  std::string address_of(const std::string& load_balancer_id) override;
  Result<> apply(const Context& context, const lb::Forwarding& wanted) override;

 private:
  sim::Process& process_;
  ModelPorts& ports_;
};

}  // namespace berth::world
