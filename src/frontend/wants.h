// What a front end wants of load balancers for one of its objects: what a pure function of its own
// computes, and all that the kit needs to know of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/listener.h"
#include "ledger/grants.h"
#include "model/load_balancer.h"

namespace berth::frontend {

using Labels = std::map<std::string, std::string>;

// Who says where a Listener leads.
enum class Leads : std::uint8_t {
  by_spec,   // its owner, in the spec that it wants
  by_claim,  // whoever claims it: it is a slot, or a peer of one
};

// A Listener that must exist.
struct WantedListener {
  std::string name{};  // as users of upstream know it
  // Where another Listener of the same load balancer has that name: of the other transport. Empty:
  // there is none like it.
  std::string other_name{};
  std::string part{};  // of its owner
  model::LoadBalancerRef lb{};
  api::ListenerSpec spec{};
  // Many Listeners have the same. Those of its owner and of its load balancer are the kit's.
  std::shared_ptr<const Labels> labels{};
  Leads leads = Leads::by_spec;
  std::string lock{};      // of a peer
  std::string peers{};     // of a lock
  std::string found_by{};  // the name in its owner's text; empty where that has the id

  bool is_lock() const { return leads == Leads::by_claim && lock.empty(); }
};

// What a part must own before its Listeners may exist.
struct WantedGrant {
  model::LoadBalancerRef lb{};
  ledger::Grant grant{};
};

// A part of an owner, which gets all of its ports or none: an item of a pool, a rule.
struct WantedPart {
  std::string name{};
  std::vector<WantedGrant> grants{};
  std::vector<WantedListener> listeners{};
};

// How a part stands.
struct PartReport {
  std::size_t wanted = 0;
  std::size_t ready = 0;
  std::string problem{};  // why it cannot go on, or cannot be used
  bool refused = false;   // the problem is that it does not get its ports
  // What a load balancer says of the first of its Listeners that it did not make, or did not
  // change; and how many there are.
  std::string trouble{};
  std::size_t troubled = 0;
};

}  // namespace berth::frontend
