// Groups of targets, where a listener or a rule needs one before it: what may stay half made.
#include <algorithm>

#include "sim/lb/model_provider.h"

namespace berth::sim::lb {
namespace {

using berth::lb::NewRule;
using berth::lb::ObservedListener;
using berth::lb::Place;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::RuleKey;

bool is_same_place(const Group& a, const Group& b) {
  return a.protocol == b.protocol && a.ports == b.ports;
}

}  // namespace

// --- The test's side.

ListenerId ModelProvider::add_half_made(const LoadBalancerRef& lb, const ListenerSpec& spec) {
  const MutexLock lock(mu_);
  ListenerId id(fmt::format("tg-{}", next_id_++));
  const RuleKey key = spec.rules.empty() ? RuleKey{} : spec.rules.front().key;
  find_balancer(lb)->groups.emplace(id, Group{spec.name, spec.protocol, spec.ports, key, {}});
  return id;
}

std::vector<ObservedListener> ModelProvider::half_made(const LoadBalancerRef& lb) const {
  const MutexLock lock(mu_);
  std::vector<ObservedListener> out;
  const auto it = balancers_.find(lb);
  if (it == balancers_.end()) return out;
  for (const auto& [id, group] : it->second.groups)
    if (group.user.empty()) out.push_back(half_of(id, group));
  return out;
}

// --- The driver's side.

Result<std::map<ListenerId, Group>> ModelProvider::list_groups(const Place& place, Instant now) {
  advance(now);
  const MutexLock lock(mu_);
  count(Call::list_groups, 1);
  count(place);
  if (auto error = next_read_error(Call::list_groups)) return fail(std::move(*error));
  const Result<Balancer*> balancer = reach(place);
  if (!balancer) return fail(balancer.error());
  return (*balancer)->groups;
}

Reply ModelProvider::create_groups(const Place& place, std::vector<Group> wanted, Instant now) {
  const Batch batch{wanted.size(), wanted.size()};
  return write(Call::create_groups, place, batch, now,
               [this, lb = place.lb, wanted = std::move(wanted)](std::size_t i)
                   REQUIRES(mu_) { return create_group(lb, wanted[i]); });
}

Reply ModelProvider::remove_groups(const Place& place, std::vector<ListenerId> ids, Instant now) {
  const Batch batch{ids.size(), ids.size()};
  return write(Call::remove_groups, place, batch, now,
               [this, lb = place.lb, ids = std::move(ids)](std::size_t i)
                   REQUIRES(mu_) { return remove_group(lb, ids[i]); });
}

// --- What is there.

ObservedListener ModelProvider::half_of(const ListenerId& id, const Group& group) {
  return {.id = id,
          .spec = {.protocol = group.protocol,
                   .ports = group.ports,
                   .name = group.name,
                   .rules = {{.key = group.key}}},
          .half_made = true};
}

// Of one rule, or of all.
void ModelProvider::free_groups(Balancer& balancer, const ListenerId& user, const RuleKey* key) {
  for (auto& [id, group] : balancer.groups)
    if (group.user == user && (!key || group.key == *key)) group.user = {};
}

// The one that its user has, or one that nobody uses and that fits. Empty: none.
ListenerId ModelProvider::find_group(const Balancer& balancer, const Group& wanted) const {
  ListenerId free;
  for (const auto& [id, group] : balancer.groups) {
    if (group.name != wanted.name || group.key != wanted.key) continue;
    if (!group.user.empty() && group.user == wanted.user) return id;
    if (group.user.empty() && is_same_place(group, wanted)) free = id;
  }
  return free;
}

// A group of a rule is known by the listener that has the rule.
Result<Group> ModelProvider::filled(const Balancer& balancer, Group wanted) const {
  if (wanted.user.empty()) return wanted;
  const auto it = balancer.listeners.find(wanted.user);
  if (it == balancer.listeners.end()) {
    return fail(Code::not_found, "listener {} does not exist", wanted.user);
  }
  const ListenerSpec& spec = it->second.spec;
  if (!is_layer7(spec.protocol) || wanted.key.empty()) {
    return fail(Code::invalid, "{} has no rule '{}'", to_string(spec.protocol),
                to_string(wanted.key));
  }
  wanted.name = spec.name;
  wanted.protocol = spec.protocol;
  wanted.ports = spec.ports;
  return wanted;
}

Result<ListenerId> ModelProvider::create_group(const LoadBalancerRef& lb, const Group& wanted) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return fail(Code::not_found, "load balancer {} does not exist", to_string(lb));
  Result<Group> group = filled(*balancer, wanted);
  if (!group) return pass(group);
  if (ListenerId there = find_group(*balancer, *group); !there.empty()) return there;
  std::erase_if(balancer->groups, [&](const auto& other) {
    return other.second.user.empty() && other.second.name == group->name &&
           other.second.key == group->key;
  });
  group->user = {};
  ListenerId id(fmt::format("tg-{}", next_id_++));
  balancer->groups.emplace(id, std::move(*group));
  return id;
}

Result<ListenerId> ModelProvider::remove_group(const LoadBalancerRef& lb, const ListenerId& id) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return fail(Code::not_found, "load balancer {} does not exist", to_string(lb));
  const auto it = balancer->groups.find(id);
  if (it != balancer->groups.end() && it->second.user.empty()) balancer->groups.erase(it);
  return ListenerId{};
}

Result<ListenerId> ModelProvider::create_rule(const LoadBalancerRef& lb, const NewRule& wanted) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return fail(Code::not_found, "load balancer {} does not exist", to_string(lb));
  const auto make = [&]() REQUIRES(mu_) {
    return change_one(lb, wanted.rule.listener,
                      [&](ListenerSpec& spec) { return edit(spec, wanted); });
  };
  const auto listener = balancer->listeners.find(wanted.rule.listener);
  const bool is_there = listener != balancer->listeners.end() &&
                        find_rule(listener->second.spec, wanted.rule.key) != nullptr;
  if (!options_.groups || is_there) return make();
  const Result<Group> group =
      filled(*balancer, {.key = wanted.rule.key, .user = wanted.rule.listener});
  if (!group) return fail(group.error());
  const auto free = balancer->groups.find(find_group(*balancer, *group));
  if (free == balancer->groups.end()) {
    return fail(Code::conflict, "rule '{}' has no group for its targets",
                to_string(wanted.rule.key));
  }
  Result<ListenerId> made = make();
  if (made) free->second.user = wanted.rule.listener;
  return made;
}

}  // namespace berth::sim::lb
