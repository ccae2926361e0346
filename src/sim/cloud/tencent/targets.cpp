// Targets: describe, register, deregister, weights; one rule at a time or in batches.
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "sim/cloud/tencent/encode.h"
#include "sim/cloud/tencent/operations.h"
#include "sim/cloud/tencent/places.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

constexpr std::int64_t kLastPort = 65535;

// Where targets go, by ids: what is there when the task ends may be another object.
struct RulePlace {
  std::string listener{};
  std::string rule{};

  friend auto operator<=>(const RulePlace&, const RulePlace&) = default;
};
using Placed = std::map<RulePlace, std::vector<Target>>;

Rule* rule_at(State& state, const std::string& lb, const RulePlace& place) {
  const auto there = state.load_balancers.find(lb);
  if (there == state.load_balancers.end()) return nullptr;
  const auto listener = there->second.listeners.find(place.listener);
  return listener == there->second.listeners.end() ? nullptr
                                                   : find_rule(listener->second, place.rule);
}

Target* find_target(Rule& rule, const Target& target) {
  const auto it =
      std::ranges::find_if(rule.targets, [&](const Target& one) { return one.same_place(target); });
  return it == rule.targets.end() ? nullptr : &*it;
}

// The one that is meant by who changes or removes it.
bool is_meant(const Settings& settings, const Target& there, const Target& named) {
  return settings.unsure.targets_go_by_what_bound_them ? there.same_name(named)
                                                       : there.same_place(named);
}

Target* find_meant(const Settings& settings, Rule& rule, const Target& named) {
  Target* const there = find_target(rule, named);
  return there != nullptr && is_meant(settings, *there, named) ? there : nullptr;
}

void put(Rule& rule, Target target, WallTime at) {
  if (Target* there = find_target(rule, target)) {
    there->weight = target.weight;
    return;
  }
  target.registered = at;
  rule.targets.push_back(std::move(target));
}

Effect putting(const std::string& lb, Placed targets) {
  return [lb, targets = std::move(targets)](State& state, WallTime at) {
    for (const auto& [place, list] : targets) {
      Rule* rule = rule_at(state, lb, place);
      if (rule == nullptr) continue;
      for (const Target& target : list) put(*rule, target, at);
    }
  };
}

Effect taking(const std::string& lb, Placed targets) {
  return [lb, targets = std::move(targets)](State& state, WallTime) {
    for (const auto& [place, list] : targets) {
      Rule* rule = rule_at(state, lb, place);
      if (rule == nullptr) continue;
      for (const Target& target : list)
        std::erase_if(rule->targets,
                      [&](const Target& one) { return is_meant(state.settings, one, target); });
    }
  };
}

Effect weighing(const std::string& lb, Placed targets) {
  return [lb, targets = std::move(targets)](State& state, WallTime) {
    for (const auto& [place, list] : targets) {
      Rule* rule = rule_at(state, lb, place);
      if (rule == nullptr) continue;
      for (const Target& target : list) {
        if (Target* there = find_meant(state.settings, *rule, target))
          there->weight = target.weight;
      }
    }
  };
}

Outcome<> check_registering(const Call& call, const Listener& listener, Rule& rule,
                            const std::vector<Target>& targets) {
  std::size_t more = 0;
  for (const Target& target : targets) {
    if (target.port + listener.last_port() - listener.port > kLastPort) {
      return refuse("InvalidParameterValue", "Port {} of a target of {} ends beyond {}",
                    target.port, listener.id, kLastPort);
    }
    const bool there = find_target(rule, target) != nullptr;
    if (there && call.settings().unsure.registering_again_is_refused) {
      return refuse("InvalidParameterValue.Duplicate", "Target {}:{} is bound to {} already",
                    target.ip, target.port, listener.id);
    }
    if (!there) ++more;
  }
  const auto quota = call.settings().limits.targets_per_rule;
  if (static_cast<std::int64_t>(rule.targets.size() + more) <= quota) return {};
  return refuse("LimitExceeded", "The number of targets of {} exceeds the quota {}", listener.id,
                quota);
}

Outcome<> check_there(const Call& call, Rule& rule, const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    if (find_meant(call.settings(), rule, target) != nullptr) continue;
    return refuse("InvalidParameterValue", "Target {}:{} is not bound", target.ip, target.port);
  }
  return {};
}

// --- one rule ----------------------------------------------------------------------------------

struct OneRule {
  LoadBalancer* lb = nullptr;
  Listener* listener = nullptr;
  Rule* rule = nullptr;

  Placed placed(std::vector<Target> targets) const {
    return {{RulePlace{listener->id, rule->id}, std::move(targets)}};
  }
};

Outcome<OneRule> one_rule(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto there = listener(**lb, call.in.text("ListenerId"));
  if (!there) return pass(there);
  auto found = rule(**there, call.in);
  if (!found) return pass(found);
  return OneRule{*lb, *there, *found};
}

Outcome<std::vector<Target>> named_targets(const Call& call, const Params& in) {
  std::vector<Target> out;
  for (const Params& one : in.objects("Targets")) {
    auto target = name_target(call, one);
    if (!target) return pass(target);
    if (!one.has("Weight")) target->weight = in.number("Weight").value_or(target->weight);
    out.push_back(std::move(*target));
  }
  return out;
}

// --- batches -----------------------------------------------------------------------------------

struct Batch {
  Placed targets{};
  std::set<std::string> failed{};  // listeners
  std::string why{};               // of the first of them

  void fail(const std::string& listener, const ApiError& error) {
    failed.insert(listener);
    if (why.empty()) why = error.message;
  }
  void drop_failed() {
    std::erase_if(targets, [&](const auto& one) { return failed.contains(one.first.listener); });
  }
};

Outcome<Batch> read_batch(Call& call, LoadBalancer& lb, bool placing) {
  Batch out;
  for (const Params& one : call.in.objects("Targets")) {
    auto target = placing ? place_target(call, lb, one) : name_target(call, one);
    if (!target) return pass(target);
    const std::string id = one.text("ListenerId");
    auto there = listener(lb, id);
    auto found = there ? rule(**there, one) : Outcome<Rule*>(pass(there));
    if (!found) {
      if (call.settings().unsure.batch_fails_whole_on_unknown_listener) return pass(found);
      out.fail(id, found.error());
      continue;
    }
    out.targets[{id, (*found)->id}].push_back(std::move(*target));
  }
  return out;
}

void take_listener_faults(Call& call, const LoadBalancer& lb, Batch& batch) {
  const auto fault = call.faults.take(FaultKind::fail_listeners, call.action, lb.id);
  if (!fault) return;
  for (const std::string& id : fault->listeners) batch.fail(id, fault->error);
  if (fault->listeners.empty() && !batch.targets.empty())
    batch.fail(batch.targets.begin()->first.listener, fault->error);
}

Object batch_answer(const Batch& batch) {
  return {{"FailListenerIdSet", texts_to_json(batch.failed)}, {"Message", batch.why}};
}

void run_batch(Call& call, const std::string& lb, Effect effect) {
  if (call.settings().unsure.batch_targets_are_tasks) {
    begin_task(call, {lb}, std::move(effect));
  } else {
    do_at_once(call, {lb}, std::move(effect));
  }
}

// Refusals that concern one listener alone.
void check_batch(Call& call, LoadBalancer& lb, Batch& batch, bool placing) {
  for (const auto& [place, list] : batch.targets) {
    Listener& there = lb.listeners.at(place.listener);
    Rule& at = *find_rule(there, place.rule);
    const bool strict = placing || call.settings().unsure.deregistering_missing_is_refused;
    if (!strict) continue;
    auto good = placing ? check_registering(call, there, at, list) : check_there(call, at, list);
    if (!good) batch.fail(place.listener, good.error());
  }
}

Answered batch_call(Call& call, bool placing) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  auto batch = read_batch(call, **lb, placing);
  if (!batch) return pass(batch);
  check_batch(call, **lb, *batch, placing);
  take_listener_faults(call, **lb, *batch);
  batch->drop_failed();
  Object answer = batch_answer(*batch);
  const std::string& id = (*lb)->id;
  run_batch(
      call, id,
      placing ? putting(id, std::move(batch->targets)) : taking(id, std::move(batch->targets)));
  return answer;
}

// --- describing --------------------------------------------------------------------------------

bool passes(const std::vector<Params>& filters, const Rule& rule, const Target& target) {
  return std::ranges::all_of(filters, [&](const Params& filter) {
    const auto values = filter.texts("Values");
    const std::string name = filter.text("Name");
    const std::string& own = name == "location-id"          ? rule.id
                             : name == "private-ip-address" ? target.ip
                                                            : target.tag;
    return std::ranges::find(values, own) != values.end();
  });
}

Array backends(const std::vector<Params>& filters, const Rule& rule) {
  Array out;
  for (const Target& target : rule.targets) {
    if (passes(filters, rule, target)) out.push_back(encode_backend(target));
  }
  return out;
}

// Whether DescribeTargets shows it at all.
bool is_shown(const Settings& settings, const Rule& rule) {
  return !settings.unsure.untargeted_are_left_out || !rule.targets.empty();
}

bool is_shown(const Settings& settings, const Listener& listener) {
  if (!settings.unsure.untargeted_are_left_out) return true;
  return std::ranges::any_of(listener.rules,
                             [&](const Rule& rule) { return is_shown(settings, rule); });
}

Object encode_targets(const Settings& settings, const std::vector<Params>& filters,
                      const Listener& listener) {
  Object out{{"ListenerId", listener.id},
             {"Protocol", listener.protocol},
             {"Port", listener.port},
             {"EndPort", listener.end_port}};
  if (!is_layer7(listener.protocol)) {
    out["Targets"] = backends(filters, listener.rules.front());
    out["Rules"] = nullptr;
    return out;
  }
  Array rules;
  for (const Rule& rule : listener.rules) {
    if (!is_shown(settings, rule)) continue;
    rules.push_back(Object{{"LocationId", rule.id},
                           {"Domain", rule.domain()},
                           {"Url", rule.url},
                           {"Targets", backends(filters, rule)}});
  }
  out["Rules"] = std::move(rules);
  out["Targets"] = nullptr;
  return out;
}

Outcome<> check_filters(const std::vector<Params>& filters) {
  for (const Params& filter : filters) {
    const std::string name = filter.text("Name");
    if (name != "location-id" && name != "private-ip-address" && name != "tag")
      return refuse("InvalidParameterValue.InvalidFilter", "Filter `{}` is not known", name);
  }
  return {};
}

}  // namespace

Answered describe_targets(Call& call) {
  auto lb = load_balancer(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  const auto filters = call.in.objects("Filters");
  if (auto good = check_filters(filters); !good) return pass(good);
  const auto ids = call.in.texts("ListenerIds");
  Array out;
  for (const auto& [id, listener] : (*lb)->listeners) {
    if (!ids.empty() && std::ranges::find(ids, id) == ids.end()) continue;
    if (call.in.has("Protocol") && call.in.text("Protocol") != listener.protocol) continue;
    if (call.in.has("Port") && call.in.number("Port") != listener.port) continue;
    if (!is_shown(call.settings(), listener)) continue;
    out.push_back(encode_targets(call.settings(), filters, listener));
  }
  return Object{{"Listeners", std::move(out)}};
}

Answered register_targets(Call& call) {
  auto where = one_rule(call);
  if (!where) return pass(where);
  std::vector<Target> targets;
  for (const Params& one : call.in.objects("Targets")) {
    auto target = place_target(call, *where->lb, one);
    if (!target) return pass(target);
    targets.push_back(std::move(*target));
  }
  if (auto good = check_registering(call, *where->listener, *where->rule, targets); !good)
    return pass(good);
  begin_task(call, {where->lb->id}, putting(where->lb->id, where->placed(std::move(targets))));
  return Object{};
}

Answered deregister_targets(Call& call) {
  auto where = one_rule(call);
  if (!where) return pass(where);
  auto targets = named_targets(call, call.in);
  if (!targets) return pass(targets);
  if (call.settings().unsure.deregistering_missing_is_refused) {
    if (auto good = check_there(call, *where->rule, *targets); !good) return pass(good);
  }
  begin_task(call, {where->lb->id}, taking(where->lb->id, where->placed(std::move(*targets))));
  return Object{};
}

Answered modify_target_weight(Call& call) {
  auto where = one_rule(call);
  if (!where) return pass(where);
  auto targets = named_targets(call, call.in);
  if (!targets) return pass(targets);
  if (auto good = check_there(call, *where->rule, *targets); !good) return pass(good);
  begin_task(call, {where->lb->id}, weighing(where->lb->id, where->placed(std::move(*targets))));
  return Object{};
}

Answered batch_register_targets(Call& call) { return batch_call(call, true); }

Answered batch_deregister_targets(Call& call) { return batch_call(call, false); }

// All of it or nothing: it has no set of failed listeners.
Answered batch_modify_target_weight(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  Placed all;
  std::size_t count = 0;
  for (const Params& one : call.in.objects("ModifyList")) {
    auto there = listener(**lb, one.text("ListenerId"));
    if (!there) return pass(there);
    auto found = rule(**there, one);
    if (!found) return pass(found);
    auto targets = named_targets(call, one);
    if (!targets) return pass(targets);
    if (auto good = check_there(call, **found, *targets); !good) return pass(good);
    count += targets->size();
    std::vector<Target>& list = all[{(*there)->id, (*found)->id}];
    list.insert(list.end(), targets->begin(), targets->end());
  }
  if (count > call.settings().limits.weight_targets) {
    return refuse("InvalidParameterValue.Length", "Targets of `ModifyList` should be less than {}",
                  call.settings().limits.weight_targets + 1);
  }
  begin_task(call, {(*lb)->id}, weighing((*lb)->id, std::move(all)));
  return Object{};
}

}  // namespace berth::sim::tencent
