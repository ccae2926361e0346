#include "lb/plan.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::Rule;
using model::Transport;
using model::WeightedTarget;

bool is_at(const KnownListener& listener, const ListenerSpec& spec) {
  return listener.spec.protocol == spec.protocol && listener.spec.ports == spec.ports;
}

// Those that the wish names, by id or by name.
std::vector<const KnownListener*> named_by(const Desired& wish, const Inventory& known) {
  std::vector<const KnownListener*> out;
  if (wish.known_id && !wish.known_id->empty()) {
    if (const KnownListener* listener = known.by_id(*wish.known_id)) out.push_back(listener);
  }
  if (wish.name.empty()) return out;
  for (const KnownListener* listener : known.by_name(wish.name)) {
    if (out.empty() || out.front() != listener) out.push_back(listener);
  }
  return out;
}

bool same_attributes(const ListenerSpec& wished, const KnownListener& known) {
  return known.asked ? wished.attributes == known.spec.attributes
                     : agrees(wished.attributes, known.spec.attributes);
}

bool same_attributes(const Rule& wished, const Rule& there, const KnownListener& known) {
  return known.is_asked(there.key) ? wished.attributes == there.attributes
                                   : agrees(wished.attributes, there.attributes);
}

std::string describe(const KnownListener& listener) {
  return listener.spec.name.empty() ? listener.id.value
                                    : fmt::format("{} ({})", listener.spec.name, listener.id);
}

class Planner {
 public:
  Planner(std::span<const Desired> wishes, const Inventory& known, const PlanRules& rules)
      : wishes_(wishes), known_(known), rules_(rules) {
    out_.findings.resize(wishes.size());
  }

  Plan run() {
    for (std::size_t i = 0; i < wishes_.size(); ++i) keep(i);
    for (std::size_t i = 0; i < wishes_.size(); ++i) remove_outdated(i);
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (wishes_[i].spec) serve(i);
    }
    if (known_.has_half_made()) tidy();
    return std::move(out_);
  }

 private:
  // A listener that one wish keeps is removed for no other.
  void keep(std::size_t index) {
    const Desired& wish = wishes_[index];
    if (!wish.spec) return;
    for (const KnownListener* listener : named_by(wish, known_)) {
      const bool is_free =
          !listener->half_made && !kept_.contains(listener->id) && !removed_.contains(listener->id);
      if (!is_free || !is_at(*listener, *wish.spec) || !is_ours(wish, *listener)) continue;
      // Whoever else wants it keeps it where it is: this one is its own.
      if (!can_become(*listener, *wish.spec)) {
        if (has_right(wish, *listener)) remove(index, *listener);
        continue;
      }
      kept_.insert(listener->id);
      out_.findings[index].listener_id = listener->id;
      return;
    }
  }

  void remove_outdated(std::size_t index) {
    for (const KnownListener* listener : named_by(wishes_[index], known_)) {
      if (listener->half_made) continue;
      if (verdict_on(wishes_[index], *listener) == Verdict::change) remove(index, *listener);
    }
  }

  void remove(std::size_t index, const KnownListener& listener) {
    out_.findings[index].verdict = Verdict::change;
    if (removed_.insert(listener.id).second) out_.removals.push_back({index, listener.id});
  }

  // What is half made and will not be finished. Last, so that traffic waits for none of it.
  void tidy() {
    std::unordered_map<std::string_view, std::size_t> wanted;  // whose creations finish it
    for (std::size_t i = 0; i < wishes_.size(); ++i)
      if (wishes_[i].spec) wanted.emplace(wishes_[i].name, i);
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto first = wanted.find(wishes_[i].name);
      const bool is_anothers = first != wanted.end() && first->second != i;
      const bool may_need_it = wishes_[i].spec && out_.findings[i].verdict != Verdict::as_wished;
      if (is_anothers || may_need_it) continue;
      for (const KnownListener* half : known_.half_made(wishes_[i].name))
        if (may_discard(wishes_[i], *half)) remove(i, *half);
    }
  }

  bool may_discard(const Desired& wish, const KnownListener& half) const {
    // Where the wish itself is at its place, it is the one that seems to want it.
    const bool is_own = wish.spec && is_at(half, *wish.spec);
    if (!is_own && rules_.wished_elsewhere && rules_.wished_elsewhere(half)) return false;
    return is_ours(wish, half) && has_right(wish, half);
  }

  void serve(std::size_t index) {
    Finding& finding = out_.findings[index];
    if (finding.listener_id.empty()) {
      create(index);
    } else {
      adjust(index, *known_.by_id(finding.listener_id));
    }
  }

  void adjust(std::size_t index, const KnownListener& listener) {
    const ListenerSpec& spec = *wishes_[index].spec;
    if (!same_attributes(spec, listener)) {
      out_.listeners.push_back({index, {listener.id, spec.attributes}});
      out_.findings[index].verdict = Verdict::change;
    }
    auto want = spec.rules.begin();
    auto have = listener.spec.rules.begin();
    while (want != spec.rules.end() || have != listener.spec.rules.end()) {
      const bool only_wanted =
          have == listener.spec.rules.end() || (want != spec.rules.end() && want->key < have->key);
      const bool only_there =
          want == spec.rules.end() || (have != listener.spec.rules.end() && have->key < want->key);
      if (only_wanted) {
        create_rule(index, listener.id, *want++, false);
      } else if (only_there) {
        remove_rule(index, {listener.id, (have++)->key});
      } else {
        adjust_rule(index, listener, *want++, *have++);
      }
    }
  }

  void adjust_rule(std::size_t index, const KnownListener& listener, const Rule& wished,
                   const Rule& there) {
    const RuleRef rule{listener.id, there.key};
    if (!same_attributes(wished, there, listener)) {
      out_.findings[index].verdict = Verdict::change;
      if (!can_become(there, wished)) {
        remove_rule(index, rule);
        return create_rule(index, listener.id, wished, true);
      }
      out_.rules.push_back({index, {rule, wished.attributes}});
    }
    change_targets(index, target_change(rule, wished.targets, there.targets), false);
  }

  void remove_rule(std::size_t index, RuleRef rule) {
    out_.rule_removals.push_back({index, std::move(rule)});
    out_.findings[index].verdict = Verdict::change;
  }

  void create_rule(std::size_t index, const ListenerId& listener, const Rule& wished, bool later) {
    const RuleRef rule{listener, wished.key};
    out_.rule_creations.push_back({index, {rule, wished.attributes}, later});
    out_.findings[index].verdict = Verdict::change;
    change_targets(index, target_change(rule, wished.targets, {}), true);
  }

  void change_targets(std::size_t index, TargetChange change, bool later) {
    if (change.add.empty() && change.remove.empty()) return;
    out_.targets.push_back({index, std::move(change), later});
    out_.findings[index].verdict = Verdict::change;
  }

  void create(std::size_t index) {
    const ListenerSpec& spec = *wishes_[index].spec;
    Finding& finding = out_.findings[index];
    if (const std::string_view what = beyond_provider(spec); !what.empty()) {
      finding.verdict = Verdict::unsupported;
      finding.holder = what;
      return;
    }
    if (is_promised(spec)) {
      finding.verdict = Verdict::held;
      finding.holder = "a wish that came earlier";
      return;
    }
    Creation step{.wish = index};
    std::vector<const KnownListener*> leftovers;
    for (const KnownListener* listener : in_the_way(spec)) {
      step.later = true;
      if (removed_.contains(listener->id)) continue;
      const Verdict verdict = verdict_on(wishes_[index], *listener);
      if (verdict == Verdict::change) {
        leftovers.push_back(listener);
        continue;
      }
      finding.verdict = verdict;
      finding.holder = describe(*listener);
      return;
    }
    for (const KnownListener* listener : leftovers) remove(index, *listener);
    finding.verdict = Verdict::change;
    out_.creations.push_back(step);
    for (const Transport transport : taken_by(spec))
      promised_.emplace(Slot{transport, spec.ports.first}, spec.ports);
    make_rules(index);
  }

  // Of the listener that was just planned.
  void make_rules(std::size_t index) {
    const ListenerSpec& spec = *wishes_[index].spec;
    for (const Rule& rule : spec.rules) {
      if (model::is_layer7(spec.protocol)) {
        create_rule(index, {}, rule, true);
      } else {
        change_targets(index, target_change({}, rule.targets, {}), true);
      }
    }
  }

  // Of a listener or rule that stays where it is. The rule of a listener that is not of layer 7
  // comes and goes with it.
  bool can_become(const KnownListener& there, const ListenerSpec& wished) const {
    if (!same_attributes(wished, there) && rules_.can_change &&
        !rules_.can_change(there.spec.attributes, wished.attributes))
      return false;
    if (model::is_layer7(wished.protocol)) return true;
    return std::ranges::all_of(wished.rules, [&](const Rule& rule) {
      const Rule* const now = model::find_rule(there.spec, rule.key);
      return !now || same_attributes(rule, *now, there) || can_become(*now, rule);
    });
  }
  bool can_become(const Rule& there, const Rule& wished) const {
    return !rules_.can_change_rule || rules_.can_change_rule(there.attributes, wished.attributes);
  }

  // What the provider has not; empty: it has all that the listener needs.
  std::string_view beyond_provider(const ListenerSpec& spec) const {
    if (spec.ports.size() > 1 && !rules_.limits.has_ranges)
      return "listeners of more than one port";
    if (!rules_.limits.protocols.has(spec.protocol)) return model::to_string(spec.protocol);
    return {};
  }

  bool is_ours(const Desired& wish, const KnownListener& listener) const {
    return rules_.name_prefix.empty() ? listener.spec.name == wish.name
                                      : listener.spec.name.starts_with(rules_.name_prefix);
  }

  // `change`: a leftover of ours that nobody wishes any more, and that the wish may remove.
  Verdict verdict_on(const Desired& wish, const KnownListener& listener) const {
    if (kept_.contains(listener.id)) return Verdict::held;
    if (rules_.wished_elsewhere && rules_.wished_elsewhere(listener)) return Verdict::held;
    if (!is_ours(wish, listener)) return Verdict::foreign;
    return has_right(wish, listener) ? Verdict::change : Verdict::held;
  }

  // Of its own listener all of it, also a transport that it wishes no more.
  static bool has_right(const Desired& wish, const KnownListener& listener) {
    if (!wish.own.contains(listener.spec.ports)) return false;
    return listener.spec.name == wish.name ||
           std::ranges::all_of(model::transports_of(listener.spec.protocol),
                               [&](Transport one) { return model::takes(wish.protocol, one); });
  }

  // The transports of its ports that nobody else may have.
  std::span<const Transport> taken_by(const ListenerSpec& spec) const {
    return model::transports_of(rules_.limits.has_both_protocols ? spec.protocol
                                                                 : model::Protocol::tcp_udp);
  }

  std::vector<const KnownListener*> in_the_way(const ListenerSpec& spec) const {
    std::vector<const KnownListener*> out;
    for (const Transport transport : taken_by(spec)) {
      for (const KnownListener* listener : known_.overlapping(transport, spec.ports))
        if (std::ranges::find(out, listener) == out.end()) out.push_back(listener);
    }
    return out;
  }

  // A port that a creation of this plan takes.
  bool is_promised(const ListenerSpec& spec) const {
    return std::ranges::any_of(
        taken_by(spec), [&](Transport transport) { return is_promised(transport, spec.ports); });
  }
  bool is_promised(Transport transport, model::PortRange ports) const {
    auto it = promised_.upper_bound({transport, ports.last});
    if (it == promised_.begin()) return false;
    --it;  // promises of one transport are disjoint: the last one that begins early enough decides
    return it->first.first == transport && it->second.overlaps(ports);
  }

  using Slot = std::pair<Transport, model::Port>;

  std::span<const Desired> wishes_;
  const Inventory& known_;
  const PlanRules& rules_;
  Plan out_{};
  std::unordered_set<ListenerId> kept_{};
  std::unordered_set<ListenerId> removed_{};
  std::map<Slot, model::PortRange> promised_{};
};

template <class Step>
std::vector<std::vector<Step>> cut_evenly(const std::vector<Step>& steps, std::size_t size) {
  std::vector<std::vector<Step>> out;
  size = std::max<std::size_t>(size, 1);
  for (std::size_t i = 0; i < steps.size(); i += size) {
    const std::size_t end = std::min(i + size, steps.size());
    out.emplace_back(steps.begin() + static_cast<std::ptrdiff_t>(i),
                     steps.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return out;
}

// Fills calls with targets up to the bound.
class TargetCutter {
 public:
  explicit TargetCutter(std::size_t bound) : bound_(std::max<std::size_t>(bound, 1)) {}

  void add(const TargetStep& step) {
    for (const WeightedTarget& target : step.change.add) part_of(step).add.push_back(target);
    for (const model::Target& target : step.change.remove) part_of(step).remove.push_back(target);
  }
  std::vector<std::vector<TargetStep>> take() { return std::move(out_); }

 private:
  TargetChange& part_of(const TargetStep& step) {
    if (out_.empty() || used_ == bound_) {
      out_.emplace_back();
      used_ = 0;
    }
    ++used_;
    auto& call = out_.back();
    if (call.empty() || call.back().wish != step.wish ||
        call.back().change.rule != step.change.rule)
      call.push_back({step.wish, {.rule = step.change.rule}, step.later});
    return call.back().change;
  }

  std::size_t bound_;
  std::size_t used_ = 0;
  std::vector<std::vector<TargetStep>> out_;
};

}  // namespace

TargetChange target_change(const RuleRef& rule, const std::vector<WeightedTarget>& wished,
                           const std::vector<WeightedTarget>& there) {
  TargetChange out{.rule = rule};
  auto want = wished.begin();
  auto have = there.begin();
  while (want != wished.end() || have != there.end()) {
    const bool only_wanted =
        have == there.end() || (want != wished.end() && want->target < have->target);
    const bool only_there =
        want == wished.end() || (have != there.end() && have->target < want->target);
    if (only_wanted) {
      out.add.push_back(*want++);
    } else if (only_there) {
      out.remove.push_back((have++)->target);
    } else {
      if (want->weight != have->weight) out.add.push_back(*want);
      ++want;
      ++have;
    }
  }
  return out;
}

Plan plan(std::span<const Desired> wishes, const Inventory& known, const PlanRules& rules) {
  return Planner(wishes, known, rules).run();
}

Batches cut(const Plan& plan, const model::Abilities& limits) {
  TargetCutter targets(limits.target_batch);
  for (const TargetStep& step : plan.targets) targets.add(step);
  return {.removals = cut_evenly(plan.removals, limits.remove_batch),
          .creations = cut_evenly(plan.creations, limits.create_batch),
          .listeners = cut_evenly(plan.listeners, limits.create_batch),
          .rule_removals = cut_evenly(plan.rule_removals, limits.rule_batch),
          .rule_creations = cut_evenly(plan.rule_creations, limits.rule_batch),
          .rules = cut_evenly(plan.rules, limits.rule_batch),
          .targets = targets.take()};
}

}  // namespace berth::lb
