// Who wants a listener as it is: looked up only when one is in the way, because it goes through all
// wishes of the load balancer. Lives for one plan; not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "engine/engine.h"
#include "lb/inventory.h"

namespace berth::engine {

class StandingIndex {
 public:
  using Visit = std::function<void(const Wish&)>;
  // `all` hands every wish to the visitor.
  explicit StandingIndex(std::function<void(const Visit&)> all) : all_(std::move(all)) {}

  bool wants(const lb::KnownListener& listener);

 private:
  struct Place {
    model::Protocol protocol;
    model::PortRange ports;
  };
  static bool is_at(const lb::KnownListener& listener, const Place& place) {
    return listener.spec.protocol == place.protocol && listener.spec.ports == place.ports;
  }
  void add(const Wish& wish);

  std::function<void(const Visit&)> all_;
  bool loaded_ = false;
  std::unordered_map<model::ListenerId, Place> by_id_;
  std::unordered_multimap<std::string, Place> by_name_;
};

}  // namespace berth::engine
