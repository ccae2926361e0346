// The plan for one load balancer: what must be done so that what is known of it becomes what is
// wished. Pure: reads no clock and does no I/O.
//
// Order: remove listeners, create, change; the same for rules; then change targets. Within a rule
// targets are added before others are removed. What cannot be changed is removed and made anew. A
// listener that is not ours is reported and never touched. Ours is one whose name begins with our
// prefix: ids and names in a wish come from objects that people can write, and only say which of
// ours is meant. A wish removes nothing outside of the ports that its owner has, and nothing that
// another wish wants.
//
// What is half made is in nobody's way and no wish's listener. Creations of its name make it whole;
// for a wish that has all it wants without it, or wants nothing, it is removed like a listener.
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
  const model::ListenerSpec* spec = nullptr;    // null: shall not exist
  std::string_view name{};                      // at the provider
  const model::ListenerId* known_id = nullptr;  // null or empty: not known
  // The ports of the load balancer that the wish's owner has, for the transports of this protocol:
  // nothing else is removed for it.
  model::Protocol protocol = model::Protocol::tcp;
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
  model::ListenerId listener_id{};  // of the listener that serves the wish, if it exists
  std::string holder{};             // foreign, held: who has the port, for people
};

// Steps. `later`: only after other steps of this plan, and perhaps of a listener that has no id
// before them.
struct Removal {
  std::size_t wish = 0;
  model::ListenerId id{};
};
struct Creation {
  std::size_t wish = 0;
  bool later = false;
};
struct ListenerStep {
  std::size_t wish = 0;
  ListenerChange change{};
};
struct RuleRemoval {
  std::size_t wish = 0;
  RuleRef rule{};
};
struct RuleCreation {
  std::size_t wish = 0;
  NewRule rule{};
  bool later = false;
};
struct RuleStep {
  std::size_t wish = 0;
  RuleChange change{};
};
struct TargetStep {
  std::size_t wish = 0;
  TargetChange change{};
  bool later = false;
};

// Hands the steps of each kind, of a Plan or of Batches, to the visitor, in the order of a plan.
template <class Steps, class Visit>
void for_each_kind(Steps& steps, Visit visit) {
  visit(steps.removals);
  visit(steps.creations);
  visit(steps.listeners);
  visit(steps.rule_removals);
  visit(steps.rule_creations);
  visit(steps.rules);
  visit(steps.targets);
}

struct Plan {
  std::vector<Finding> findings{};  // one per wish
  std::vector<Removal> removals{};  // no id twice
  std::vector<Creation> creations{};
  std::vector<ListenerStep> listeners{};
  std::vector<RuleRemoval> rule_removals{};
  std::vector<RuleCreation> rule_creations{};
  std::vector<RuleStep> rules{};
  std::vector<TargetStep> targets{};

  bool empty() const {
    bool none = true;
    for_each_kind(*this, [&](const auto& steps) { none = none && steps.empty(); });
    return none;
  }
};

struct PlanRules {
  model::Abilities limits{};
  std::string_view name_prefix{};  // of our listeners; empty: ours has the name of its wish
  // Whether some wish beyond those that are planned wants this listener as it is. Asked only about
  // listeners that are in the way or shall go.
  std::function<bool(const KnownListener&)> wished_elsewhere{};
  // Whether the provider can change the first into the second. Empty: always.
  std::function<bool(const model::ListenerAttributes&, const model::ListenerAttributes&)>
      can_change{};
  std::function<bool(const model::RuleAttributes&, const model::RuleAttributes&)> can_change_rule{};
};

// Of two wishes for one port, the earlier is served. Cost: for each wish one look by id, by name
// and by port, and one walk over its rules and targets beside those that are there; nothing of what
// is known beyond. Merges of sorted lists.
Plan plan(std::span<const Desired> wishes, const Inventory& known, const PlanRules& rules);

// What makes of the targets that are there those that are wished. Both are sorted.
TargetChange target_change(const RuleRef& rule, const std::vector<model::WeightedTarget>& wished,
                           const std::vector<model::WeightedTarget>& there);

// The steps in calls that the provider takes, in order. A change of more targets than fit one call
// is cut; its additions come before its removals. Cost of `cut`: the steps and their targets.
struct Batches {
  std::vector<std::vector<Removal>> removals{};
  std::vector<std::vector<Creation>> creations{};
  std::vector<std::vector<ListenerStep>> listeners{};
  std::vector<std::vector<RuleRemoval>> rule_removals{};
  std::vector<std::vector<RuleCreation>> rule_creations{};
  std::vector<std::vector<RuleStep>> rules{};
  std::vector<std::vector<TargetStep>> targets{};
};
Batches cut(const Plan& plan, const model::Abilities& limits);

}  // namespace berth::lb
