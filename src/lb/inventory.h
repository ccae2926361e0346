// Inventory: what is known of the listeners of one load balancer, from the provider's list and from
// our own confirmed changes since. Found by id, by name and by port.
//
// Owned by whoever serves the load balancer; not thread-safe. Listeners of one protocol share no
// port: no provider lets them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lb/driver.h"
#include "model/listener.h"

namespace berth::lb {

struct KnownListener {
  std::string id{};
  model::ListenerSpec spec{};
  // The attributes are those that we asked for, not those that the provider reported, where
  // defaults are filled in.
  bool asked = false;
};

// Whether a listener that reports these attributes has what is wished. What the wish leaves to the
// provider's default agrees with every value.
bool agrees(const model::ListenerAttributes& wished, const model::ListenerAttributes& reported);

class Inventory {
 public:
  Inventory() = default;
  // Its indexes point into it: moving keeps them, copying would not.
  Inventory(Inventory&&) = default;
  Inventory& operator=(Inventory&&) = default;

  // What the provider lists now. Attributes that we asked for are remembered while the report
  // agrees with them.
  void replace(std::vector<ObservedListener> reported);

  // A confirmed change of ours. Targets may come in any order.
  void put(KnownListener listener);
  void erase(std::string_view id);
  void change(const TargetChange& change);
  void change(const AttributeChange& change);

  // Null when not there. What is returned lives until the next change.
  const KnownListener* by_id(std::string_view id) const;
  std::vector<const KnownListener*> by_name(std::string_view name) const;
  // Those that take a port of the range for this protocol, lowest first.
  std::vector<const KnownListener*> overlapping(model::Transport protocol,
                                                model::PortRange ports) const;

  std::size_t size() const { return by_id_.size(); }
  bool empty() const { return by_id_.empty(); }
  // By id.
  const std::map<std::string, KnownListener, std::less<>>& all() const { return by_id_; }

 private:
  using Slot = std::pair<model::Transport, model::Port>;
  static Slot slot_of(const KnownListener& listener) {
    return {listener.spec.protocol, listener.spec.ports.first};
  }
  void unindex(const KnownListener& listener);

  std::map<std::string, KnownListener, std::less<>> by_id_;
  std::multimap<Slot, const KnownListener*> by_slot_;
  // The views point into the listeners, which do not move.
  std::unordered_multimap<std::string_view, const KnownListener*> by_name_;
};

}  // namespace berth::lb
