// Who else has ports that an object under admission wants: owners by their grants, and controllers
// before us by their Listeners. Read from caches; any thread.
#pragma once

#include <optional>
#include <string>

#include "claims/grant_book.h"
#include "claims/slot.h"

namespace berth::admission {

// Whoever is written.
struct Self {
  std::string_view kind{};
  kube::ObjectKey key{};
};

// Ports of a load balancer for one transport.
struct WantedPorts {
  model::LoadBalancerRef lb{};
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
};

class Neighbours {
 public:
  Neighbours(const claims::GrantBook& book, const claims::ListenerStore& listeners)
      : book_(book), listeners_(listeners) {}

  // "TCP ports 80-80 of edge:demo are granted to PortPool games/rooms, item1". Nothing: they are
  // its own, or free.
  std::optional<std::string> granted(const Self& self, const WantedPorts& wanted) const;
  // The same of a Listener that another controller made. Anybody can write one: it is no proof, and
  // no reason to refuse.
  std::optional<std::string> foreign(const Self& self, const WantedPorts& wanted) const;

  // "OPEN", "INTERNAL"; empty where it was not described yet.
  std::string type_of(const model::LoadBalancerRef& lb) const;

 private:
  const claims::GrantBook book_;
  const claims::ListenerStore& listeners_;
};

}  // namespace berth::admission
