#include "lb/cost.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lb/alike.h"
#include "model/load_balancer.h"

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Pace;
using model::Provider;

std::string name_of(Provider provider, Action action) {
  if (provider != Provider::tencent) return std::string(to_string(action));
  switch (action) {
    case Action::create_listeners: return "CreateListener";
    case Action::remove_listeners: return "DeleteLoadBalancerListeners";
    case Action::change_listeners: return "ModifyListener";
    case Action::create_rules: return "CreateRule";
    case Action::remove_rules: return "DeleteRule";
    case Action::change_rules: return "ModifyRule";
    default: return std::string(to_string(action));
  }
}

std::size_t creations(const std::vector<Creation>& batch, std::span<const Desired> wishes,
                      const Pace& pace) {
  if (!pace.makes_alike) return 1;
  std::vector<const ListenerSpec*> groups;  // the first of each
  for (const Creation& one : batch) {
    const ListenerSpec* const spec = wishes[one.wish].spec;
    if (std::ranges::none_of(groups,
                             [&](const ListenerSpec* other) { return are_alike(*other, *spec); }))
      groups.push_back(spec);
  }
  return groups.size();
}

template <class Steps, class ListenerOf>
std::size_t rule_calls(const Steps& batch, const Pace& pace, const ListenerOf& listener_of) {
  if (!pace.rules_by_listener) return 1;
  std::set<std::pair<std::size_t, std::string>> listeners;
  // One that is made in the same plan has no id yet, and its wish tells it apart.
  for (const auto& step : batch) listeners.emplace(step.wish, listener_of(step).value);
  return listeners.size();
}

void add_targets(const std::vector<TargetStep>& batch, Provider provider, Calls& out) {
  const bool adds =
      std::ranges::any_of(batch, [](const TargetStep& step) { return !step.change.add.empty(); });
  const bool removes = std::ranges::any_of(
      batch, [](const TargetStep& step) { return !step.change.remove.empty(); });
  if (provider != Provider::tencent) {
    if (adds || removes) ++out[std::string(to_string(Action::change_targets))];
    return;
  }
  if (adds) ++out["BatchRegisterTargets"];
  if (removes) ++out["BatchDeregisterTargets"];
}

}  // namespace

Calls calls_of(const Plan& plan, std::span<const Desired> wishes, Provider provider) {
  const Pace pace = model::pace_of(provider);
  const Batches batches = cut(plan, model::traits_of(provider).abilities);
  Calls out;
  const auto add = [&](Action action, std::size_t calls) {
    if (calls > 0) out[name_of(provider, action)] += calls;
  };
  add(Action::remove_listeners, batches.removals.size());
  for (const auto& batch : batches.creations)
    add(Action::create_listeners, creations(batch, wishes, pace));
  for (const auto& batch : batches.listeners)
    add(Action::change_listeners, pace.changes_alone ? batch.size() : 1);
  for (const auto& batch : batches.rule_removals)
    add(Action::remove_rules,
        rule_calls(batch, pace, [](const RuleRemoval& one) { return one.rule.listener; }));
  for (const auto& batch : batches.rule_creations)
    add(Action::create_rules,
        rule_calls(batch, pace, [](const RuleCreation& one) { return one.rule.rule.listener; }));
  for (const auto& batch : batches.rules)
    add(Action::change_rules, pace.changes_alone ? batch.size() : 1);
  for (const auto& batch : batches.targets) add_targets(batch, provider, out);
  return out;
}

std::size_t sum_of(const Calls& calls) {
  std::size_t out = 0;
  for (const auto& [operation, count] : calls) out += count;
  return out;
}

double seconds_at_least(std::span<const Calls> on_each, Provider provider) {
  const Pace pace = model::pace_of(provider);
  Calls all;
  std::size_t longest = 0;
  for (const Calls& calls : on_each) {
    for (const auto& [operation, count] : calls) all[operation] += count;
    longest = std::max(longest, sum_of(calls));
  }
  double out = 0;
  if (pace.calls_per_second > 0) {
    std::size_t most = pace.has_tasks ? sum_of(all) : 0;  // each write is asked about once
    for (const auto& [operation, count] : all) most = std::max(most, count);
    out = static_cast<double>(most) / pace.calls_per_second;
  }
  if (model::traits_of(provider).abilities.serial_writes)
    out = std::max(out, static_cast<double>(longest) * pace.write_seconds);
  return out;
}

}  // namespace berth::lb
