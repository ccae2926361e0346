// The plan for one load balancer: what must be done so that what is known of it becomes what is
// wished. Pure: reads no clock and does no I/O.
//
// Order: remove listeners, create, change attributes, change targets. Within a listener targets are
// added before others are removed. A listener that is not ours is reported and never touched. Ours
// is one whose name begins with our prefix: ids and names in a wish come from objects that people
// can write, and only say which of ours is meant. A wish removes nothing outside of the ports that
// its owner has, and nothing that another wish wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lb/driver.h"
#include "lb/inventory.h"

namespace berth::lb {

// A wish, as a view of what its owner keeps.
struct Desired {
  const model::ListenerSpec* spec = nullptr;  // null: shall not exist
  std::string_view name{};                    // at the provider
  std::string_view known_id{};                // empty: not known
  // The ports of the load balancer that the wish's owner has: nothing else is removed for it.
  model::Transport protocol = model::Transport::tcp;
  model::PortRange own{};
};

enum class Verdict : std::uint8_t {
  as_wished,
  change,       // the plan has steps for it
  foreign,      // a listener that is not ours has the port
  held,         // another of our wishes has the port
  unsupported,  // the provider cannot do it
};

struct Finding {
  Verdict verdict = Verdict::as_wished;
  std::string listener_id{};  // of the listener that serves the wish, if it exists
  std::string holder{};       // foreign, held: who has the port, for people
};

struct Removal {
  std::size_t wish = 0;
  std::string id{};
};
struct Creation {
  std::size_t wish = 0;
  bool after_removal = false;  // its port is free only after a removal of this plan
};
struct AttributeStep {
  std::size_t wish = 0;
  AttributeChange change{};
};
struct TargetStep {
  std::size_t wish = 0;
  TargetChange change{};  // without an id: of the listener that this plan creates
};

struct Plan {
  std::vector<Finding> findings{};  // one per wish
  std::vector<Removal> removals{};  // no id twice
  std::vector<Creation> creations{};
  std::vector<AttributeStep> attributes{};
  std::vector<TargetStep> targets{};

  bool empty() const {
    return removals.empty() && creations.empty() && attributes.empty() && targets.empty();
  }
};

struct PlanRules {
  model::Abilities limits{};
  std::string_view name_prefix{};  // of our listeners; empty: ours has the name of its wish
  // Whether some wish beyond those that are planned wants this listener as it is. Asked only about
  // listeners that are in the way or shall go.
  std::function<bool(const KnownListener&)> wished_elsewhere{};
};

// Of two wishes for one port, the earlier is served.
Plan plan(std::span<const Desired> wishes, const Inventory& known, const PlanRules& rules);

// The steps in calls that the provider takes, in order. A change of more targets than fit one call
// is cut; its additions come before its removals.
struct Batches {
  std::vector<std::vector<Removal>> removals{};
  std::vector<std::vector<Creation>> creations{};
  std::vector<std::vector<AttributeStep>> attributes{};
  std::vector<std::vector<TargetStep>> targets{};
};
Batches cut(const Plan& plan, const model::Abilities& limits);

}  // namespace berth::lb
