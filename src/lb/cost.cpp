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
using model::Rule;
using model::RuleAttributes;

std::string name_of(Provider provider, Action action) {
  if (provider != Provider::tencent) return std::string(to_string(action));
  switch (action) {
    case Action::create_listeners: return "CreateListener";
    case Action::remove_listeners: return "DeleteLoadBalancerListeners";
    case Action::change_listeners: return "ModifyListener";
    case Action::create_rules: return "CreateRule";
    case Action::remove_rules: return "DeleteRule";
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

const Rule* rule_in(const Inventory& known, const RuleRef& rule) {
  const KnownListener* const listener = known.by_id(rule.listener);
  return listener ? model::find_rule(listener->spec, rule.key) : nullptr;
}

// Of one call that changes weights.
constexpr std::size_t kRulesPerWeights = 100;

struct TargetKinds {
  bool registers = false;
  bool removes = false;
  std::size_t weighed_rules = 0;
};

// Targets that are there already only get another weight.
TargetKinds kinds_of(const std::vector<TargetStep>& batch, const Inventory& known) {
  TargetKinds out;
  for (const TargetStep& step : batch) {
    const Rule* const rule = rule_in(known, step.change.rule);
    const auto is_there = [&](const model::WeightedTarget& one) {
      return rule && std::ranges::find(rule->targets, one.target, &model::WeightedTarget::target) !=
                         rule->targets.end();
    };
    if (std::ranges::any_of(step.change.add, is_there)) ++out.weighed_rules;
    out.registers = out.registers || !std::ranges::all_of(step.change.add, is_there);
    out.removes = out.removes || !step.change.remove.empty();
  }
  return out;
}

void add_targets(const std::vector<TargetStep>& batch, const Inventory& known, Provider provider,
                 Calls& out) {
  const TargetKinds kinds = kinds_of(batch, known);
  if (provider != Provider::tencent) {
    if (kinds.registers || kinds.removes || kinds.weighed_rules > 0)
      ++out[std::string(to_string(Action::change_targets))];
    return;
  }
  if (kinds.registers) ++out["BatchRegisterTargets"];
  if (kinds.weighed_rules > 0)
    out["BatchModifyTargetWeight"] += (kinds.weighed_rules - 1) / kRulesPerWeights + 1;
  if (kinds.removes) ++out["BatchDeregisterTargets"];
}

// What all rules of a domain share, of HTTPS alone: certificate by server name, HTTP/2, QUIC.
bool changes_domain(const KnownListener& listener, const RuleAttributes& there,
                    const RuleAttributes& wished) {
  if (listener.spec.protocol != model::Protocol::https) return false;
  const bool needs_http2 =
      there.to_targets != wished.to_targets && wished.to_targets == model::TargetProtocol::grpc;
  return needs_http2 || there.over_quic != wished.over_quic ||
         (listener.spec.attributes.by_server_name && wished.tls && there.tls != wished.tls);
}

bool changes_rule(const KnownListener& listener, const RuleStep& step,
                  const RuleAttributes& there) {
  RuleAttributes before = there;
  RuleAttributes after = step.change.attributes;
  for (RuleAttributes* const one : {&before, &after}) {
    one->tls = {};
    one->over_quic = false;
  }
  return listener.is_asked(step.change.rule.key) ? after != before : !agrees(after, before);
}

void add_rule_changes(const std::vector<RuleStep>& batch, const Inventory& known, Provider provider,
                      Calls& out) {
  if (provider != Provider::tencent) {
    if (!batch.empty())
      out[std::string(to_string(Action::change_rules))] +=
          model::pace_of(provider).changes_alone ? batch.size() : 1;
    return;
  }
  for (const RuleStep& step : batch) {
    const KnownListener* const listener = known.by_id(step.change.rule.listener);
    const Rule* const rule = rule_in(known, step.change.rule);
    if (!rule) {
      ++out["ModifyRule"];
    } else if (!model::is_layer7(listener->spec.protocol)) {
      ++out["ModifyListener"];
    } else {
      if (changes_rule(*listener, step, rule->attributes)) ++out["ModifyRule"];
      if (changes_domain(*listener, rule->attributes, step.change.attributes))
        ++out["ModifyDomainAttributes"];
    }
  }
}

}  // namespace

Calls calls_of(const Plan& plan, std::span<const Desired> wishes, const Inventory& known,
               Provider provider) {
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
  for (const auto& batch : batches.rules) add_rule_changes(batch, known, provider, out);
  for (const auto& batch : batches.targets) add_targets(batch, known, provider, out);
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
