#include "lb/plan.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Transport;
using model::WeightedTarget;

bool is_at(const KnownListener& listener, const ListenerSpec& spec) {
  return listener.spec.protocol == spec.protocol && listener.spec.ports == spec.ports;
}

// Those that the wish names, by id or by name.
std::vector<const KnownListener*> named_by(const Desired& wish, const Inventory& known) {
  std::vector<const KnownListener*> out;
  if (!wish.known_id.empty()) {
    if (const KnownListener* listener = known.by_id(wish.known_id)) out.push_back(listener);
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

// Both sides are sorted.
TargetChange target_change(const std::string& id, const std::vector<WeightedTarget>& wished,
                           const std::vector<WeightedTarget>& there) {
  TargetChange out{.listener_id = id};
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

std::string describe(const KnownListener& listener) {
  return listener.spec.name.empty() ? listener.id : listener.spec.name + " (" + listener.id + ")";
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
    return std::move(out_);
  }

 private:
  // A listener that one wish keeps is removed for no other.
  void keep(std::size_t index) {
    const Desired& wish = wishes_[index];
    if (!wish.spec) return;
    for (const KnownListener* listener : named_by(wish, known_)) {
      if (!is_at(*listener, *wish.spec) || !is_ours(wish, *listener) ||
          kept_.contains(listener->id))
        continue;
      kept_.insert(listener->id);
      out_.findings[index].listener_id = listener->id;
      return;
    }
  }

  void remove_outdated(std::size_t index) {
    for (const KnownListener* listener : named_by(wishes_[index], known_)) {
      if (verdict_on(wishes_[index], *listener) == Verdict::change) remove(index, *listener);
    }
  }

  void remove(std::size_t index, const KnownListener& listener) {
    out_.findings[index].verdict = Verdict::change;
    if (removed_.insert(listener.id).second) out_.removals.push_back({index, listener.id});
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
      out_.attributes.push_back({index, {listener.id, spec.attributes}});
      out_.findings[index].verdict = Verdict::change;
    }
    TargetChange change = target_change(listener.id, spec.targets, listener.spec.targets);
    if (change.add.empty() && change.remove.empty()) return;
    out_.targets.push_back({index, std::move(change)});
    out_.findings[index].verdict = Verdict::change;
  }

  void create(std::size_t index) {
    const ListenerSpec& spec = *wishes_[index].spec;
    Finding& finding = out_.findings[index];
    if (spec.ports.size() > 1 && !rules_.limits.has_ranges) {
      finding.verdict = Verdict::unsupported;
      finding.holder = "listeners of more than one port";
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
      step.after_removal = true;
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
    promised_.emplace(Slot{spec.protocol, spec.ports.first}, spec.ports);
    if (!spec.targets.empty()) out_.targets.push_back({index, target_change("", spec.targets, {})});
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
    const bool has_right =
        listener.spec.protocol == wish.protocol && wish.own.contains(listener.spec.ports);
    return has_right ? Verdict::change : Verdict::held;
  }

  std::vector<const KnownListener*> in_the_way(const ListenerSpec& spec) const {
    std::vector<const KnownListener*> out = known_.overlapping(spec.protocol, spec.ports);
    if (rules_.limits.has_both_protocols) return out;
    const Transport other = spec.protocol == Transport::tcp ? Transport::udp : Transport::tcp;
    const auto more = known_.overlapping(other, spec.ports);
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  // A port that a creation of this plan takes.
  bool is_promised(const ListenerSpec& spec) const {
    const Transport other = spec.protocol == Transport::tcp ? Transport::udp : Transport::tcp;
    return is_promised(spec.protocol, spec.ports) ||
           (!rules_.limits.has_both_protocols && is_promised(other, spec.ports));
  }
  bool is_promised(Transport protocol, model::PortRange ports) const {
    auto it = promised_.upper_bound({protocol, ports.last});
    if (it == promised_.begin()) return false;
    --it;  // promises of one protocol are disjoint: the last one that begins early enough decides
    return it->first.first == protocol && it->second.overlaps(ports);
  }

  using Slot = std::pair<Transport, model::Port>;

  std::span<const Desired> wishes_;
  const Inventory& known_;
  const PlanRules& rules_;
  Plan out_{};
  std::unordered_set<std::string_view> kept_{};
  std::unordered_set<std::string_view> removed_{};
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
    if (call.empty() || call.back().wish != step.wish) {
      call.push_back({step.wish, {.listener_id = step.change.listener_id}});
    }
    return call.back().change;
  }

  std::size_t bound_;
  std::size_t used_ = 0;
  std::vector<std::vector<TargetStep>> out_;
};

}  // namespace

Plan plan(std::span<const Desired> wishes, const Inventory& known, const PlanRules& rules) {
  return Planner(wishes, known, rules).run();
}

Batches cut(const Plan& plan, const model::Abilities& limits) {
  TargetCutter targets(limits.target_batch);
  for (const TargetStep& step : plan.targets) targets.add(step);
  return {.removals = cut_evenly(plan.removals, limits.remove_batch),
          .creations = cut_evenly(plan.creations, limits.create_batch),
          .attributes = cut_evenly(plan.attributes, limits.create_batch),
          .targets = targets.take()};
}

}  // namespace berth::lb
