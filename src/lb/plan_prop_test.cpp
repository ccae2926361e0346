#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lb/plan.h"

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Transport;
using model::WeightedTarget;

// A small world, so that things meet: few ports, few names, few targets.
constexpr int kPorts = 12;
constexpr std::string_view kOurs = "berth-";

int pick(int bound) { return *rc::gen::inRange(0, bound); }

std::vector<WeightedTarget> generated_targets() {
  std::vector<WeightedTarget> out;
  for (int i = 0; i < 6; ++i) {
    if (pick(2))
      out.push_back({{fmt::format("10.0.0.{}", i), 80}, *rc::gen::element(0u, 10u, 50u)});
  }
  return out;
}

model::PortRange generated_ports(bool ranges) {
  const int first = 1 + pick(kPorts);
  const int last = ranges && pick(3) == 0 ? std::min(first + pick(4), kPorts) : first;
  return {static_cast<model::Port>(first), static_cast<model::Port>(std::max(first, last))};
}

model::ListenerAttributes generated_attributes() {
  model::ListenerAttributes out;
  out.session_seconds = pick(2) ? 30 : 0;
  if (pick(3) == 0) out.health_check = model::HealthCheck{.timeout_seconds = pick(2) ? 3u : 0u};
  return out;
}

model::Abilities generated_limits() {
  return {.serial_writes = true,
          .create_batch = static_cast<std::size_t>(1 + pick(5)),
          .remove_batch = static_cast<std::size_t>(1 + pick(5)),
          .target_batch = static_cast<std::size_t>(1 + pick(7)),
          .has_ranges = pick(3) != 0,
          .has_both_protocols = pick(3) != 0};
}

bool collide(const ListenerSpec& a, const ListenerSpec& b, const model::Abilities& limits) {
  return a.ports.overlaps(b.ports) && (a.protocol == b.protocol || !limits.has_both_protocols);
}

// What a provider has: by id, no two on one port.
using World = std::map<std::string, ListenerSpec>;

World generated_world(const model::Abilities& limits) {
  World world;
  const int count = pick(10);
  for (int i = 0; i < count; ++i) {
    ListenerSpec spec{.protocol = pick(2) ? Transport::tcp : Transport::udp,
                      .ports = generated_ports(limits.has_ranges),
                      .name = {},
                      .attributes = generated_attributes(),
                      .targets = generated_targets()};
    // Ours (of some wish, or left over), or somebody else's.
    spec.name = pick(3) ? fmt::format("{}{}", kOurs, pick(8)) : fmt::format("theirs-{}", i);
    const bool taken = std::any_of(world.begin(), world.end(), [&](const auto& there) {
      return collide(there.second, spec, limits) || there.second.name == spec.name;
    });
    if (!taken) world.emplace(fmt::format("lbl-{}", i), std::move(spec));
  }
  return world;
}

struct GeneratedWish {
  std::optional<ListenerSpec> spec{};
  std::string name{};
  std::string known_id{};
  Transport protocol = Transport::tcp;
  model::PortRange own{1, kPorts};
};

std::vector<GeneratedWish> generated_wishes(const World& world, const model::Abilities& limits) {
  std::vector<GeneratedWish> out;
  for (int i = 0; i < 8; ++i) {
    if (pick(3) == 0) continue;
    GeneratedWish wish{.name = fmt::format("{}{}", kOurs, i),
                       .protocol = pick(2) ? Transport::tcp : Transport::udp};
    for (const auto& [id, there] : world) {
      if (there.name == wish.name && pick(2)) wish.known_id = id;
    }
    if (pick(4)) {
      wish.spec = ListenerSpec{.protocol = wish.protocol,
                               .ports = generated_ports(limits.has_ranges || pick(10) == 0),
                               .name = wish.name,
                               .attributes = generated_attributes(),
                               .targets = generated_targets()};
    }
    out.push_back(std::move(wish));
  }
  return out;
}

Inventory known_of(const World& world) {
  std::vector<ObservedListener> listed;
  for (const auto& [id, spec] : world) listed.push_back({id, spec});
  Inventory out;
  out.replace(std::move(listed));
  return out;
}

std::vector<Desired> views(const std::vector<GeneratedWish>& wishes) {
  std::vector<Desired> out;
  for (const GeneratedWish& wish : wishes) {
    out.push_back({.spec = wish.spec ? &*wish.spec : nullptr,
                   .name = wish.name,
                   .known_id = wish.known_id,
                   .protocol = wish.protocol,
                   .own = wish.own});
  }
  return out;
}

void apply(const TargetChange& change, ListenerSpec& listener) {
  for (const WeightedTarget& added : change.add) {
    std::erase_if(listener.targets, [&](const auto& t) { return t.target == added.target; });
    listener.targets.push_back(added);
  }
  for (const model::Target& removed : change.remove) {
    std::erase_if(listener.targets, [&](const auto& t) { return t.target == removed; });
  }
  std::sort(listener.targets.begin(), listener.targets.end());
}

// Applies the calls in order, as a provider would, and refuses what one would refuse.
void apply(const Batches& calls, const std::vector<GeneratedWish>& wishes,
           const model::Abilities& limits, World& world) {
  std::map<std::size_t, std::string> created;
  for (const auto& call : calls.removals) {
    RC_ASSERT(call.size() <= limits.remove_batch);
    for (const Removal& step : call) RC_ASSERT(world.erase(step.id) == 1u);
  }
  for (const auto& call : calls.creations) {
    RC_ASSERT(call.size() <= limits.create_batch);
    for (const Creation& step : call) {
      ListenerSpec spec = *wishes[step.wish].spec;
      spec.targets.clear();
      RC_ASSERT(spec.ports.size() == 1 || limits.has_ranges);
      for (const auto& [id, there] : world) RC_ASSERT(!collide(there, spec, limits));
      created[step.wish] = fmt::format("new-{}", step.wish);
      world.emplace(created[step.wish], std::move(spec));
    }
  }
  for (const auto& call : calls.attributes) {
    for (const AttributeStep& step : call) {
      world.at(step.change.listener_id).attributes = step.change.attributes;
    }
  }
  std::set<std::size_t> removing;
  for (const auto& call : calls.targets) {
    std::size_t load = 0;
    for (const TargetStep& step : call) {
      load += step.change.add.size() + step.change.remove.size();
      RC_ASSERT(step.change.add.empty() || !removing.contains(step.wish));
      if (!step.change.remove.empty()) removing.insert(step.wish);
      const std::string& id =
          step.change.listener_id.empty() ? created.at(step.wish) : step.change.listener_id;
      apply(step.change, world.at(id));
    }
    RC_ASSERT(load <= limits.target_batch);
  }
}

bool is_theirs(const ListenerSpec& spec) { return !spec.name.starts_with(kOurs); }

struct Case {
  model::Abilities limits = generated_limits();
  World world = generated_world(limits);
  std::vector<GeneratedWish> wishes = generated_wishes(world, limits);
  std::set<std::string> wished_elsewhere{};

  Case() {
    for (const auto& [id, there] : world) {
      const bool named = std::any_of(wishes.begin(), wishes.end(), [&](const auto& wish) {
        return wish.name == there.name || wish.known_id == id;
      });
      if (!named && !is_theirs(there) && pick(2)) wished_elsewhere.insert(id);
    }
  }
  Plan plan() const { return plan_of(world); }
  Plan plan_of(const World& now) const {
    const Inventory known = known_of(now);
    return lb::plan(views(wishes), known, {limits, kOurs, [this](const KnownListener& there) {
                                             return wished_elsewhere.contains(there.id);
                                           }});
  }
};

RC_GTEST_PROP(PlanProperties, ApplyingThePlanGivesWhatIsWished, ()) {
  const Case given;
  const Plan plan = given.plan();
  World after = given.world;
  apply(cut(plan, given.limits), given.wishes, given.limits, after);

  for (std::size_t i = 0; i < given.wishes.size(); ++i) {
    const GeneratedWish& wish = given.wishes[i];
    const Finding& finding = plan.findings[i];
    const bool served = finding.verdict == Verdict::as_wished || finding.verdict == Verdict::change;
    const auto there = std::find_if(after.begin(), after.end(), [&](const auto& listener) {
      return listener.second.name == wish.name && listener.second.protocol == wish.protocol;
    });
    if (!wish.spec || !served) {
      RC_ASSERT(there == after.end());
      continue;
    }
    RC_ASSERT(there != after.end());
    RC_ASSERT(there->second.ports == wish.spec->ports);
    RC_ASSERT(there->second.protocol == wish.spec->protocol);
    RC_ASSERT(there->second.targets == wish.spec->targets);
    RC_ASSERT(agrees(wish.spec->attributes, there->second.attributes));
  }
}

RC_GTEST_PROP(PlanProperties, WhatIsNotOursStaysAsItWas, ()) {
  const Case given;
  World after = given.world;
  apply(cut(given.plan(), given.limits), given.wishes, given.limits, after);
  for (const auto& [id, before] : given.world) {
    if (!is_theirs(before) && !given.wished_elsewhere.contains(id)) continue;
    RC_ASSERT(after.contains(id));
    RC_ASSERT(after.at(id) == before);
  }
}

// Names and ids may be forged: they reach no further than the ports that the wish's owner has.
RC_GTEST_PROP(PlanProperties, WhatNoOwnerHasStaysAsItWas, ()) {
  Case given;
  for (GeneratedWish& wish : given.wishes) {
    const auto first = static_cast<model::Port>(1 + pick(kPorts));
    wish.own = wish.spec ? wish.spec->ports : model::PortRange{first, first};
  }
  World after = given.world;
  apply(cut(given.plan(), given.limits), given.wishes, given.limits, after);
  for (const auto& [id, before] : given.world) {
    const bool reached = std::ranges::any_of(given.wishes, [&](const GeneratedWish& wish) {
      return wish.protocol == before.protocol && wish.own.contains(before.ports);
    });
    if (reached) continue;
    RC_ASSERT(after.contains(id));
    RC_ASSERT(after.at(id) == before);
  }
}

RC_GTEST_PROP(PlanProperties, AfterThePlanThereIsNothingLeftToDo, ()) {
  const Case given;
  World after = given.world;
  apply(cut(given.plan(), given.limits), given.wishes, given.limits, after);
  RC_ASSERT(given.plan_of(after).empty());
}

RC_GTEST_PROP(PlanProperties, AWishIsRefusedOnlyForAReason, ()) {
  const Case given;
  const Plan plan = given.plan();
  for (std::size_t i = 0; i < given.wishes.size(); ++i) {
    const GeneratedWish& wish = given.wishes[i];
    if (!wish.spec) RC_ASSERT(plan.findings[i].verdict != Verdict::foreign);
    const auto theirs_in_the_way = [&](const auto& there) {
      return is_theirs(there.second) && collide(there.second, *wish.spec, given.limits);
    };
    if (plan.findings[i].verdict == Verdict::foreign) {
      RC_ASSERT(std::any_of(given.world.begin(), given.world.end(), theirs_in_the_way));
    }
  }
}

}  // namespace
}  // namespace berth::lb
