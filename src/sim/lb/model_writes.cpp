// What one entry of a write does to what is there, and why it may be refused.
#include <algorithm>

#include "sim/lb/model_provider.h"

namespace berth::sim::lb {
namespace {

using berth::lb::ListenerChange;
using berth::lb::NewRule;
using berth::lb::ObservedListener;
using berth::lb::RuleChange;
using berth::lb::RuleRef;
using berth::lb::TargetChange;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;
using model::Rule;
using model::RuleKey;
using model::Transport;

Failure unknown(const LoadBalancerRef& lb) {
  return fail(Code::not_found, "load balancer {} does not exist", to_string(lb));
}

bool ends_tls(Protocol protocol) {
  return protocol == Protocol::tls || protocol == Protocol::quic || protocol == Protocol::https;
}

bool has_certificate(const Boxed<model::Tls>& tls) { return tls && !tls->certificates.empty(); }

// Whoever connects is shown a certificate: the listener's, or one of each rule.
Result<> check_certificates(const ListenerSpec& spec) {
  if (!ends_tls(spec.protocol) || has_certificate(spec.attributes.tls)) return {};
  if (!spec.attributes.by_server_name) {
    return fail(Code::invalid, "a listener of {} needs a certificate", to_string(spec.protocol));
  }
  for (const Rule& rule : spec.rules) {
    if (has_certificate(rule.attributes.tls)) continue;
    return fail(Code::invalid, "rule '{}' needs a certificate", to_string(rule.key));
  }
  return {};
}

Result<> check_key(Protocol protocol, const RuleKey& key) {
  if (is_layer7(protocol) != key.empty()) return {};
  if (key.empty()) {
    return fail(Code::invalid, "a rule of {} needs a domain or a path", to_string(protocol));
  }
  return fail(Code::invalid, "{} has no rule '{}'", to_string(protocol), to_string(key));
}

Result<> check_rules(const ListenerSpec& spec) {
  for (const Rule& rule : spec.rules) {
    if (auto good = check_key(spec.protocol, rule.key); !good) return good;
  }
  if (is_layer7(spec.protocol) || spec.rules.size() == 1) return {};
  return fail(Code::invalid, "a listener of {} has one rule", to_string(spec.protocol));
}

// Rules of layer 4 come and go with their listener.
Result<> check_layer7(Protocol protocol, const RuleKey& key) {
  if (is_layer7(protocol)) return check_key(protocol, key);
  return fail(Code::invalid, "a listener of {} has one rule", to_string(protocol));
}

Result<Rule*> rule_of(ListenerSpec& spec, const RuleKey& key) {
  if (auto good = check_key(spec.protocol, key); !good) return pass(good);
  if (Rule* rule = find_rule(spec, key)) return rule;
  return fail(Code::not_found, "rule '{}' does not exist", to_string(key));
}

Failure cannot_be_changed(std::string_view what) {
  return fail(Code::unsupported, "{} cannot be changed in this way", what);
}

void change_targets_of(Rule& rule, const TargetChange& change) {
  auto& targets = rule.targets;
  const auto drop = [&](const model::Target& target) {
    std::erase_if(targets, [&](const auto& there) { return there.target == target; });
  };
  for (const model::WeightedTarget& added : change.add) {
    drop(added.target);
    targets.push_back(added);
  }
  for (const model::Target& removed : change.remove) drop(removed);
  std::ranges::sort(targets);
}

}  // namespace

bool ModelProvider::can_change(const model::ListenerAttributes& there,
                               const model::ListenerAttributes& wished) const {
  return !options_.fixed_tls || there.tls == wished.tls;
}

bool ModelProvider::can_change(const model::RuleAttributes& there,
                               const model::RuleAttributes& wished) const {
  return (!options_.fixed_tls || there.tls == wished.tls) &&
         (!options_.fixed_scheduler || there.scheduler == wished.scheduler);
}

// --- Listeners.

const ListenerId* ModelProvider::holder(const Balancer& balancer, Transport transport,
                                        model::PortRange ports) {
  auto it = balancer.by_first_port.upper_bound({transport, ports.last});
  if (it == balancer.by_first_port.begin()) return nullptr;
  --it;  // listeners are disjoint: the last one that begins early enough decides
  if (it->first.first != transport) return nullptr;
  return balancer.listeners.at(it->second).spec.ports.overlaps(ports) ? &it->second : nullptr;
}

const ListenerId* ModelProvider::in_the_way(const Balancer& balancer,
                                            const ListenerSpec& spec) const {
  for (const Transport transport : {Transport::tcp, Transport::udp}) {
    if (options_.limits.has_both_protocols && !takes(spec.protocol, transport)) continue;
    if (const ListenerId* taken = holder(balancer, transport, spec.ports)) return taken;
  }
  return nullptr;
}

void ModelProvider::insert(const LoadBalancerRef& lb, Balancer& balancer,
                           ObservedListener listener) {
  for (const Transport transport : transports_of(listener.spec.protocol)) {
    balancer.by_first_port[{transport, listener.spec.ports.first}] = listener.id;
  }
  balancer.listeners.insert_or_assign(listener.id, listener);
  changed({lb, std::nullopt, std::move(listener)});
}

Result<> ModelProvider::check_new(const ListenerSpec& spec) const {
  if (!options_.limits.protocols.has(spec.protocol)) {
    return fail(Code::unsupported, "there are no listeners of {}", to_string(spec.protocol));
  }
  if (spec.ports.size() > 1 && !options_.limits.has_ranges) {
    return fail(Code::unsupported, "a listener has one port");
  }
  return check_rules(spec);
}

Result<ListenerId> ModelProvider::create_one(const LoadBalancerRef& lb, const ListenerSpec& spec) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return unknown(lb);
  if (auto good = check_new(spec); !good) return pass(good);
  ListenerSpec fresh = without_targets(spec);
  if (is_layer7(fresh.protocol)) fresh.rules.clear();  // they are made by calls of their own
  if (auto good = check_certificates(fresh); !good) return pass(good);
  if (const ListenerId* taken = in_the_way(*balancer, fresh)) {
    return fail(Code::already_exists, "port {} is taken by {}", fresh.ports.first, *taken);
  }
  if (quota_ != 0 && balancer->listeners.size() >= quota_) {
    return fail(Code::exhausted, "the quota of {} listeners is reached", quota_);
  }
  ListenerId id(fmt::format("lbl-{}", next_id_++));
  if (options_.groups && !is_layer7(fresh.protocol)) {
    const auto group = balancer->groups.find(
        find_group(*balancer, {fresh.name, fresh.protocol, fresh.ports, {}, {}}));
    if (group == balancer->groups.end()) {
      return fail(Code::conflict, "listener {} has no group for its targets", fresh.name);
    }
    group->second.user = id;
  }
  insert(lb, *balancer, {id, std::move(fresh)});
  return id;
}

Result<ListenerId> ModelProvider::remove_one(const LoadBalancerRef& lb, const ListenerId& id) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return unknown(lb);
  const auto it = balancer->listeners.find(id);
  if (it == balancer->listeners.end()) return ListenerId{};
  for (const Transport transport : transports_of(it->second.spec.protocol)) {
    balancer->by_first_port.erase({transport, it->second.spec.ports.first});
  }
  changed({lb, std::move(it->second), std::nullopt});
  balancer->listeners.erase(it);
  free_groups(*balancer, id, nullptr);
  return ListenerId{};
}

Result<ListenerId> ModelProvider::change_one(const LoadBalancerRef& lb, const ListenerId& id,
                                             const Edit& edit) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return unknown(lb);
  const auto it = balancer->listeners.find(id);
  if (it == balancer->listeners.end()) {
    return fail(Code::not_found, "listener {} does not exist", id);
  }
  ListenerSpec spec = it->second.spec;
  if (auto done = edit(spec); !done) return pass(done);
  std::swap(spec, it->second.spec);
  if (observer_) changed({lb, ObservedListener{id, std::move(spec)}, it->second});
  return ListenerId{};
}

// --- What changes do to a listener.

Result<> ModelProvider::edit(ListenerSpec& spec, const ListenerChange& change) const {
  if (!can_change(spec.attributes, change.attributes)) return cannot_be_changed("the listener");
  spec.attributes = change.attributes;
  return check_certificates(spec);
}

Result<> ModelProvider::edit(ListenerSpec& spec, const NewRule& wanted) const {
  const RuleKey& key = wanted.rule.key;
  if (auto good = check_layer7(spec.protocol, key); !good) return good;
  if (find_rule(spec, key)) return edit(spec, RuleChange{wanted.rule, wanted.attributes});
  if (options_.rule_quota != 0 && spec.rules.size() >= options_.rule_quota) {
    return fail(Code::exhausted, "the quota of {} rules is reached", options_.rule_quota);
  }
  const auto place = std::ranges::upper_bound(spec.rules, key, {}, &Rule::key);
  spec.rules.insert(place, {.key = key, .attributes = wanted.attributes});
  return check_certificates(spec);
}

Result<> ModelProvider::edit(ListenerSpec& spec, const RuleChange& change) const {
  auto rule = rule_of(spec, change.rule.key);
  if (!rule) return pass(rule);
  if (!can_change((*rule)->attributes, change.attributes)) return cannot_be_changed("the rule");
  (*rule)->attributes = change.attributes;
  return check_certificates(spec);
}

Result<> ModelProvider::edit(ListenerSpec& spec, const TargetChange& change) const {
  auto rule = rule_of(spec, change.rule.key);
  if (!rule) return pass(rule);
  change_targets_of(**rule, change);
  return {};
}

// One whose listener is gone is gone too.
Result<ListenerId> ModelProvider::remove_one(const LoadBalancerRef& lb, const RuleRef& rule) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return unknown(lb);
  const auto it = balancer->listeners.find(rule.listener);
  if (it == balancer->listeners.end()) return ListenerId{};
  const ListenerSpec& spec = it->second.spec;
  if (auto good = check_layer7(spec.protocol, rule.key); !good) return pass(good);
  if (!find_rule(spec, rule.key)) return ListenerId{};
  free_groups(*balancer, rule.listener, &rule.key);
  return change_one(lb, rule.listener, [&](ListenerSpec& edited) -> Result<> {
    std::erase_if(edited.rules, [&](const Rule& there) { return there.key == rule.key; });
    return {};
  });
}

}  // namespace berth::sim::lb
