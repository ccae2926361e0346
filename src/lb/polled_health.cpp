#include "lb/polled_health.h"

#include <algorithm>

#include "base/log.h"
#include "base/parallel.h"

namespace berth::lb {
namespace {

bool is_well(const std::vector<TargetHealth>& targets) {
  return !targets.empty() && std::ranges::all_of(targets, [](const TargetHealth& one) {
    return one.health == Health::healthy;
  });
}

bool is_same(const std::vector<TargetHealth>& a, const std::vector<TargetHealth>& b) {
  return std::ranges::equal(a, b, [](const TargetHealth& x, const TargetHealth& y) {
    return x.target == y.target && x.health == y.health;
  });
}

}  // namespace

PolledHealth::PolledHealth(Tasks& tasks, Ask ask, PolledHealthOptions options)
    : tasks_(tasks),
      ask_(std::move(ask)),
      options_(options),
      followers_([this](const Place& place, const RuleRef& rule) {
        const MutexLock lock(mu_);
        const auto balancer = balancers_.find(place.lb);
        if (balancer == balancers_.end()) return std::vector<TargetHealth>{};
        const auto it = balancer->second.rules.find(rule);
        return it == balancer->second.rules.end() ? std::vector<TargetHealth>{}
                                                  : it->second.targets;
      }),
      wake_(tasks.signal()) {}

std::vector<TargetHealth> PolledHealth::last(const model::LoadBalancerRef& lb) const {
  std::vector<TargetHealth> out;
  const MutexLock lock(mu_);
  const auto it = balancers_.find(lb);
  if (it == balancers_.end()) return out;
  for (const auto& [ref, rule] : it->second.rules)
    out.insert(out.end(), rule.targets.begin(), rule.targets.end());
  return out;
}

std::unique_ptr<Following> PolledHealth::follow(const Place& place, const RuleRef& rule,
                                                OnHealth on_health) {
  hurry(place.lb, rule);
  return followers_.follow(place, rule, std::move(on_health));
}

void PolledHealth::hurry(const model::LoadBalancerRef& lb, const RuleRef& rule) {
  {
    const Instant now = tasks_.now();
    const MutexLock lock(mu_);
    Rule& known = balancers_[lb].rules[rule];
    known.due = std::min(known.due, now);
    known.interesting_until = saturating_add(now, options_.interest);
  }
  wake_->notify();
}

void PolledHealth::run(const Context& context, const Places& places) {
  while (!context.expired()) {
    const std::vector<Turn> turns = due_turns(places);
    (void)for_each_parallel(context, turns.size(), options_.lbs_at_once,
                            [&](const Context& own, std::size_t i) -> Result<> {
                              take(own, turns[i]);
                              return {};
                            });
    (void)tasks_.wait(*wake_, std::min(context.deadline, next_look(places)), context.stop);
  }
}

std::vector<PolledHealth::Turn> PolledHealth::due_turns(const Places& places) {
  const auto followed = followers_.followed();
  std::set<Place> known;
  for (Place& place : places()) known.insert(std::move(place));
  const Instant now = tasks_.now();
  std::map<Place, Turn> turns;
  const MutexLock lock(mu_);
  forget_strangers(followed, known);
  for (const Place& place : known) {
    Balancer& balancer = balancers_[place.lb];
    if (balancer.all_due <= now && balancer.not_before <= now)
      turns[place] = {.place = place, .all = true};
  }
  for (const auto& [place, rules] : followed) {
    Balancer& balancer = balancers_[place.lb];
    if (balancer.not_before > now) continue;
    std::vector<std::pair<Instant, RuleRef>> due;
    for (const RuleRef& rule : rules)
      if (balancer.rules[rule].due <= now) due.emplace_back(balancer.rules[rule].due, rule);
    if (due.empty()) continue;
    std::ranges::sort(due);
    Turn& turn = turns.try_emplace(place, Turn{.place = place}).first->second;
    due.resize(std::min(due.size(), options_.rules_per_call * options_.calls_per_round));
    for (auto& [at, rule] : due) turn.rules.push_back(std::move(rule));
  }
  std::vector<Turn> out;
  for (auto& [place, turn] : turns) out.push_back(std::move(turn));
  return out;
}

// What nobody follows and nobody has any more.
void PolledHealth::forget_strangers(const std::map<Place, std::set<RuleRef>>& followed,
                                    const std::set<Place>& known) {
  std::set<model::LoadBalancerRef> stay;
  for (const auto& [place, rules] : followed) stay.insert(place.lb);
  for (const Place& place : known) stay.insert(place.lb);
  std::erase_if(balancers_, [&](const auto& one) { return !stay.contains(one.first); });
}

Instant PolledHealth::next_look(const Places& places) {
  const auto followed = followers_.followed();
  const std::vector<Place> known = places();
  // New load balancers are looked for then, if nothing else is due.
  Instant next = saturating_add(tasks_.now(), options_.slowly);
  const MutexLock lock(mu_);
  const auto at = [&](const Place& place, auto due_of) {
    const auto it = balancers_.find(place.lb);
    if (it != balancers_.end())
      next = std::min(next, std::max(due_of(it->second), it->second.not_before));
  };
  for (const Place& place : known)
    at(place, [](const Balancer& balancer) { return balancer.all_due; });
  for (const auto& [place, rules] : followed) {
    for (const RuleRef& rule : rules) {
      at(place, [&](const Balancer& balancer) {
        const auto it = balancer.rules.find(rule);
        return it == balancer.rules.end() ? Instant::min() : it->second.due;
      });
    }
  }
  return next;
}

void PolledHealth::take(const Context& context, const Turn& turn) {
  // Who asks for all has asked for each.
  if (turn.all) {
    (void)ask_for(context, turn.place, {});
    return;
  }
  for (std::size_t begin = 0; begin < turn.rules.size(); begin += options_.rules_per_call) {
    const std::size_t count = std::min(options_.rules_per_call, turn.rules.size() - begin);
    if (!ask_for(context, turn.place, std::span(turn.rules).subspan(begin, count))) return;
  }
}

bool PolledHealth::ask_for(const Context& context, const Place& place,
                           std::span<const RuleRef> rules) {
  Result<std::vector<TargetHealth>> answer =
      ask_(context.within(options_.answers_within), place, rules);
  if (context.stop.stop_requested()) return false;
  Rules changed;
  {
    const MutexLock lock(mu_);
    const auto it = balancers_.find(place.lb);
    if (it == balancers_.end()) return false;
    if (!answer) {
      back_off(it->second, answer.error());
    } else {
      it->second.pause = {};
      if (rules.empty()) it->second.all_due = saturating_add(tasks_.now(), options_.everything);
      note(place.lb, rules, std::move(*answer), changed);
    }
  }
  if (!answer) {
    log_warn("health of targets is not known",
             {{"object", model::to_string(place.lb)}, {"error", answer.error().to_string()}});
    return false;
  }
  for (const RuleRef& rule : changed) followers_.note_change(place.lb, rule);
  return true;
}

void PolledHealth::note(const model::LoadBalancerRef& lb, std::span<const RuleRef> asked,
                        std::vector<TargetHealth> answer, Rules& changed) {
  const Instant now = tasks_.now();
  auto& rules = balancers_[lb].rules;
  std::map<RuleRef, std::vector<TargetHealth>> heard;
  for (const RuleRef& rule : asked) heard[rule];
  if (asked.empty())
    for (const auto& [ref, rule] : rules) heard[ref];
  for (TargetHealth& one : answer) heard[one.rule].push_back(std::move(one));
  for (auto& [ref, targets] : heard) {
    std::ranges::sort(targets, {}, &TargetHealth::target);
    Rule& rule = rules[ref];
    if (!is_same(rule.targets, targets)) {
      changed.push_back(ref);
      rule.interesting_until = saturating_add(now, options_.interest);
    }
    rule.targets = std::move(targets);
    const bool often = now < rule.interesting_until && !is_well(rule.targets);
    rule.due = saturating_add(now, often ? options_.soon : options_.slowly);
  }
  // A rule that is gone is remembered only while somebody follows it, who asks for it by name.
  if (asked.empty())
    std::erase_if(rules, [&](const auto& one) {
      return one.second.targets.empty() && one.second.interesting_until <= now;
    });
}

// Twice as long each time, and as long as the provider says.
void PolledHealth::back_off(Balancer& balancer, const Error& error) {
  balancer.pause = std::clamp(balancer.pause * 2, options_.soon, options_.slowly);
  const Duration asked = error.retry_after ? Duration(*error.retry_after) : Duration{};
  balancer.not_before = saturating_add(tasks_.now(), std::max(balancer.pause, asked));
}

}  // namespace berth::lb
