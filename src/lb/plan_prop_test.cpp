#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lb/plan.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::Rule;
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

model::RuleAttributes generated_attributes() {
  model::RuleAttributes out;
  out.session_seconds = pick(2) ? 30 : 0;
  if (pick(3) == 0) out.health_check = model::HealthCheck{.timeout_seconds = pick(2) ? 3u : 0u};
  return out;
}

Protocol generated_protocol() {
  return *rc::gen::element(Protocol::tcp, Protocol::udp, Protocol::tcp_udp, Protocol::tls,
                           Protocol::quic, Protocol::http, Protocol::https);
}

std::vector<Rule> generated_rules(Protocol protocol) {
  if (!model::is_layer7(protocol)) return {{{}, generated_attributes(), generated_targets()}};
  std::vector<Rule> out;
  for (int i = 0; i < 4; ++i) {
    if (pick(2))
      out.push_back({{fmt::format("{}.com", i / 2), i % 2 ? "/a" : "/"},
                     generated_attributes(),
                     generated_targets()});
  }
  std::ranges::sort(out, {}, &Rule::key);
  return out;
}

ListenerSpec generated_listener(Protocol protocol, model::PortRange ports, std::string name) {
  ListenerSpec out{.protocol = protocol,
                   .ports = ports,
                   .name = std::move(name),
                   .rules = generated_rules(protocol)};
  out.attributes.keep_alive = pick(4) == 0;
  return out;
}

model::Abilities generated_limits() {
  return {.serial_writes = true,
          .create_batch = static_cast<std::size_t>(1 + pick(5)),
          .remove_batch = static_cast<std::size_t>(1 + pick(5)),
          .rule_batch = static_cast<std::size_t>(1 + pick(4)),
          .target_batch = static_cast<std::size_t>(1 + pick(7)),
          .has_ranges = pick(3) != 0,
          .has_both_protocols = pick(3) != 0};
}

bool share_transport(Protocol a, Protocol b) {
  return std::ranges::any_of(model::transports_of(a),
                             [&](Transport one) { return model::takes(b, one); });
}

bool collide(const ListenerSpec& a, const ListenerSpec& b, const model::Abilities& limits) {
  return a.ports.overlaps(b.ports) &&
         (share_transport(a.protocol, b.protocol) || !limits.has_both_protocols);
}

// What a provider has: by id, no two on one port.
using World = std::map<ListenerId, ListenerSpec>;

World generated_world(const model::Abilities& limits) {
  World world;
  const int count = pick(10);
  for (int i = 0; i < count; ++i) {
    // Ours (of some wish, or left over), or somebody else's.
    std::string name = pick(3) ? fmt::format("{}{}", kOurs, pick(8)) : fmt::format("theirs-{}", i);
    ListenerSpec spec = generated_listener(generated_protocol(), generated_ports(limits.has_ranges),
                                           std::move(name));
    const bool taken = std::any_of(world.begin(), world.end(), [&](const auto& there) {
      return collide(there.second, spec, limits) || there.second.name == spec.name;
    });
    if (!taken) world.emplace(ListenerId(fmt::format("lbl-{}", i)), std::move(spec));
  }
  return world;
}

// What is half made: of listeners and of rules, ours or somebody else's, anywhere.
World generated_halves() {
  World halves;
  const int count = pick(3) ? pick(5) : 0;
  for (int i = 0; i < count; ++i) {
    std::string name = pick(4) ? fmt::format("{}{}", kOurs, pick(8)) : fmt::format("theirs-{}", i);
    const Protocol protocol = generated_protocol();
    ListenerSpec spec = model::without_targets(
        generated_listener(protocol, generated_ports(true), std::move(name)));
    if (model::is_layer7(protocol) && spec.rules.size() > 1) spec.rules.resize(1);
    halves.emplace(ListenerId(fmt::format("half-{}", i)), std::move(spec));
  }
  return halves;
}

struct GeneratedWish {
  std::optional<ListenerSpec> spec{};
  std::string name{};
  ListenerId known_id{};
  Protocol protocol = Protocol::tcp;
  model::PortRange own{1, kPorts};
};

std::vector<GeneratedWish> generated_wishes(const World& world, const World& halves,
                                            const model::Abilities& limits) {
  std::vector<GeneratedWish> out;
  for (int i = 0; i < 8; ++i) {
    if (pick(3) == 0) continue;
    GeneratedWish wish{.name = fmt::format("{}{}", kOurs, i), .protocol = generated_protocol()};
    for (const auto& [id, there] : world) {
      if (there.name == wish.name && pick(2)) wish.known_id = id;
    }
    for (const auto& [id, there] : halves) {
      if (pick(6) == 0) wish.known_id = id;
    }
    if (pick(4)) {
      wish.spec = generated_listener(
          wish.protocol, generated_ports(limits.has_ranges || pick(10) == 0), wish.name);
    }
    out.push_back(std::move(wish));
  }
  return out;
}

Inventory known_of(const World& world, const World& halves) {
  std::vector<ObservedListener> listed;
  for (const auto& [id, spec] : world) listed.push_back({id, spec});
  for (const auto& [id, spec] : halves) listed.push_back({id, spec, true});
  Inventory out;
  out.replace(std::move(listed));
  return out;
}

std::vector<Desired> views(const std::vector<GeneratedWish>& wishes) {
  std::vector<Desired> out;
  for (const GeneratedWish& wish : wishes) {
    out.push_back({.spec = wish.spec ? &*wish.spec : nullptr,
                   .name = wish.name,
                   .known_id = &wish.known_id,
                   .protocol = wish.protocol,
                   .own = wish.own});
  }
  return out;
}

// A provider that takes calls in order, and refuses what one would refuse.
class Provider {
 public:
  Provider(const std::vector<GeneratedWish>& wishes, const model::Abilities& limits, World& world,
           World& halves)
      : wishes_(wishes), limits_(limits), world_(world), halves_(halves) {}

  void take(const Batches& calls) {
    take(calls.removals, limits_.remove_batch);
    take(calls.creations, limits_.create_batch);
    take(calls.listeners, limits_.create_batch);
    take(calls.rule_removals, limits_.rule_batch);
    take(calls.rule_creations, limits_.rule_batch);
    take(calls.rules, limits_.rule_batch);
    for (const auto& call : calls.targets) {
      std::size_t load = 0;
      for (const TargetStep& step : call) {
        load += step.change.add.size() + step.change.remove.size();
        apply(step);
      }
      RC_ASSERT(load <= limits_.target_batch);
    }
  }

 private:
  template <class Step>
  void take(const std::vector<std::vector<Step>>& calls, std::size_t bound) {
    for (const auto& call : calls) {
      RC_ASSERT(call.size() <= bound);
      for (const Step& step : call) apply(step);
    }
  }

  ListenerSpec& listener_of(std::size_t wish, const ListenerId& id) {
    return world_.at(id.empty() ? created_.at(wish) : id);
  }
  Rule& rule_of(std::size_t wish, const RuleRef& ref) {
    Rule* const rule = model::find_rule(listener_of(wish, ref.listener), ref.key);
    RC_ASSERT(rule != nullptr);
    return *rule;
  }

  // What is half made is finished with the creation of its name, and of its rule if it has one.
  void finish(const std::string& name, const model::RuleKey& key) {
    std::erase_if(halves_, [&](const auto& half) {
      const auto& rules = half.second.rules;
      const bool of_rule = !rules.empty() && !rules.front().key.empty();
      return half.second.name == name && (of_rule ? rules.front().key == key : key.empty());
    });
  }

  void apply(const Removal& step) {
    RC_ASSERT(world_.erase(step.id) + halves_.erase(step.id) == 1u);
  }
  void apply(const Creation& step) {
    ListenerSpec spec = model::without_targets(*wishes_[step.wish].spec);
    if (model::is_layer7(spec.protocol)) spec.rules.clear();
    RC_ASSERT(spec.ports.size() == 1 || limits_.has_ranges);
    for (const auto& [id, there] : world_) RC_ASSERT(!collide(there, spec, limits_));
    created_[step.wish] = ListenerId(fmt::format("new-{}", step.wish));
    finish(spec.name, {});
    world_.emplace(created_[step.wish], std::move(spec));
  }
  void apply(const ListenerStep& step) {
    RC_ASSERT(!fixed(world_.at(step.change.listener).attributes, step.change.attributes));
    world_.at(step.change.listener).attributes = step.change.attributes;
  }
  void apply(const RuleRemoval& step) {
    ListenerSpec& listener = listener_of(step.wish, step.rule.listener);
    RC_ASSERT(model::is_layer7(listener.protocol));
    RC_ASSERT(std::erase_if(listener.rules,
                            [&](const Rule& rule) { return rule.key == step.rule.key; }) == 1u);
  }
  void apply(const RuleCreation& step) {
    ListenerSpec& listener = listener_of(step.wish, step.rule.rule.listener);
    RC_ASSERT(model::is_layer7(listener.protocol));
    RC_ASSERT(model::find_rule(listener, step.rule.rule.key) == nullptr);
    listener.rules.push_back({.key = step.rule.rule.key, .attributes = step.rule.attributes});
    model::sort(listener);
    finish(listener.name, step.rule.rule.key);
  }
  void apply(const RuleStep& step) {
    Rule& rule = rule_of(step.wish, step.change.rule);
    RC_ASSERT(!fixed(rule.attributes, step.change.attributes));
    rule.attributes = step.change.attributes;
  }
  void apply(const TargetStep& step) {
    const RuleRef& ref = step.change.rule;
    RC_ASSERT(step.change.add.empty() || !removing_.contains({step.wish, ref.key}));
    if (!step.change.remove.empty()) removing_.insert({step.wish, ref.key});
    Rule& rule = rule_of(step.wish, ref);
    for (const WeightedTarget& added : step.change.add) {
      std::erase_if(rule.targets, [&](const auto& t) { return t.target == added.target; });
      rule.targets.push_back(added);
    }
    for (const model::Target& removed : step.change.remove)
      std::erase_if(rule.targets, [&](const auto& t) { return t.target == removed; });
    std::ranges::sort(rule.targets);
  }

 public:
  // What this provider cannot change.
  static bool fixed(const model::ListenerAttributes& there, const model::ListenerAttributes& next) {
    return there.keep_alive && !next.keep_alive;
  }
  static bool fixed(const model::RuleAttributes& there, const model::RuleAttributes& next) {
    return there.session_seconds != 0 && next.session_seconds == 0;
  }

 private:
  const std::vector<GeneratedWish>& wishes_;
  const model::Abilities& limits_;
  World& world_;
  World& halves_;
  std::map<std::size_t, ListenerId> created_{};
  std::set<std::pair<std::size_t, model::RuleKey>> removing_{};
};

bool is_theirs(const ListenerSpec& spec) { return !spec.name.starts_with(kOurs); }

struct Case {
  model::Abilities limits = generated_limits();
  World world = generated_world(limits);
  World halves = generated_halves();
  std::vector<GeneratedWish> wishes = generated_wishes(world, halves, limits);
  std::set<ListenerId> wished_elsewhere{};

  Case() {
    World all = world;
    all.insert(halves.begin(), halves.end());
    for (const auto& [id, there] : all) {
      const bool named = std::any_of(wishes.begin(), wishes.end(), [&](const auto& wish) {
        return wish.name == there.name || wish.known_id == id;
      });
      if (!named && !is_theirs(there) && pick(2)) wished_elsewhere.insert(id);
    }
  }
  Plan plan() const { return plan_of(world, halves); }
  Plan plan_of(const World& now, const World& half_made) const {
    const Inventory known = known_of(now, half_made);
    const PlanRules rules{
        .limits = limits,
        .name_prefix = kOurs,
        .wished_elsewhere =
            [this](const KnownListener& there) { return wished_elsewhere.contains(there.id); },
        .can_change = [](const auto& there,
                         const auto& next) { return !Provider::fixed(there, next); },
        .can_change_rule = [](const auto& there,
                              const auto& next) { return !Provider::fixed(there, next); }};
    return lb::plan(views(wishes), known, rules);
  }
  // One plan done.
  void apply(World& now, World& half_made) const {
    Provider(wishes, limits, now, half_made).take(cut(plan_of(now, half_made), limits));
  }
};

RC_GTEST_PROP(PlanProperties, ApplyingThePlanGivesWhatIsWished, ()) {
  const Case given;
  const Plan plan = given.plan();
  World after = given.world;
  World halves = given.halves;
  given.apply(after, halves);

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
    RC_ASSERT(agrees(wish.spec->attributes, there->second.attributes));
    RC_ASSERT(there->second.rules.size() == wish.spec->rules.size());
    for (std::size_t k = 0; k < wish.spec->rules.size(); ++k) {
      RC_ASSERT(there->second.rules[k].key == wish.spec->rules[k].key);
      RC_ASSERT(there->second.rules[k].targets == wish.spec->rules[k].targets);
      RC_ASSERT(agrees(wish.spec->rules[k].attributes, there->second.rules[k].attributes));
    }
  }
}

RC_GTEST_PROP(PlanProperties, WhatIsNotOursStaysAsItWas, ()) {
  const Case given;
  World after = given.world;
  World halves = given.halves;
  given.apply(after, halves);
  for (const auto& [id, before] : given.world) {
    if (!is_theirs(before) && !given.wished_elsewhere.contains(id)) continue;
    RC_ASSERT(after.contains(id));
    RC_ASSERT(after.at(id) == before);
  }
  for (const auto& [id, before] : given.halves) {
    const bool named = std::ranges::any_of(
        given.wishes, [&](const GeneratedWish& wish) { return wish.name == before.name; });
    if (!named || is_theirs(before)) RC_ASSERT(halves.contains(id));
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
  World halves = given.halves;
  given.apply(after, halves);
  for (const auto& [id, before] : given.world) {
    const bool reached = std::ranges::any_of(given.wishes, [&](const GeneratedWish& wish) {
      if (wish.own.contains(before.ports) && wish.name == before.name) return true;
      return wish.own.contains(before.ports) &&
             std::ranges::all_of(model::transports_of(before.protocol),
                                 [&](Transport one) { return model::takes(wish.protocol, one); });
    });
    if (reached) continue;
    RC_ASSERT(after.contains(id));
    RC_ASSERT(after.at(id) == before);
  }
  for (const Removal& step : given.plan().removals) {
    const auto half = given.halves.find(step.id);
    if (half == given.halves.end()) continue;
    RC_ASSERT(given.wishes[step.wish].name == half->second.name);
    RC_ASSERT(given.wishes[step.wish].own.contains(half->second.ports));
  }
}

// A leftover that one wish may not remove, another may: then the first is served by the next plan.
RC_GTEST_PROP(PlanProperties, AfterAFewPlansThereIsNothingLeftToDo, ()) {
  const Case given;
  World after = given.world;
  World halves = given.halves;
  // One more for what is half made, which goes when all else is done.
  for (std::size_t i = 0; i <= given.wishes.size() + 1; ++i) given.apply(after, halves);
  const Plan last = given.plan_of(after, halves);
  RC_ASSERT(last.empty());
  // Finished or removed; only a wish that cannot be met leaves it where it is.
  for (const auto& [id, half] : halves) {
    for (std::size_t i = 0; i < given.wishes.size(); ++i)
      RC_ASSERT(given.wishes[i].name != half.name ||
                (given.wishes[i].spec && last.findings[i].verdict != Verdict::as_wished));
  }
}

RC_GTEST_PROP(PlanProperties, WhatIsHalfMadeIsInNobodysWay, ()) {
  const Case given;
  const Plan with = given.plan();
  const Plan without = given.plan_of(given.world, {});
  for (std::size_t i = 0; i < given.wishes.size(); ++i) {
    RC_ASSERT(with.findings[i].listener_id == without.findings[i].listener_id);
    if (with.findings[i].verdict == Verdict::change) continue;  // perhaps to remove it
    RC_ASSERT(with.findings[i].verdict == without.findings[i].verdict);
  }
  RC_ASSERT(with.creations.size() == without.creations.size());
  RC_ASSERT(with.rule_creations.size() == without.rule_creations.size());
  RC_ASSERT(with.targets.size() == without.targets.size());
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
