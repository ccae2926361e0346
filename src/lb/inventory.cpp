#include "lb/inventory.h"

#include <algorithm>

namespace berth::lb {
namespace {

using model::ListenerId;
using model::Rule;
using model::RuleKey;
using model::Transport;

template <class Index, class Key>
void drop(Index& index, const Key& key, const KnownListener& listener) {
  const auto [first, last] = index.equal_range(key);
  const auto it =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &listener; });
  if (it != last) index.erase(it);
}

template <class Value>
bool agrees_unless_left(const Value& wished, const Value& reported) {
  return wished == Value{} || wished == reported;
}

bool agrees(const model::HealthCheck& wished, const model::HealthCheck& reported) {
  if (wished.enabled != reported.enabled) return false;
  // What is switched off has no further properties.
  if (!wished.enabled) return true;
  return agrees_unless_left(wished.timeout_seconds, reported.timeout_seconds) &&
         agrees_unless_left(wished.interval_seconds, reported.interval_seconds) &&
         agrees_unless_left(wished.healthy_count, reported.healthy_count) &&
         agrees_unless_left(wished.unhealthy_count, reported.unhealthy_count) &&
         agrees_unless_left(wished.port, reported.port) &&
         agrees_unless_left(wished.http_path, reported.http_path) &&
         agrees_unless_left(wished.http_method, reported.http_method) &&
         agrees_unless_left(wished.http_codes, reported.http_codes);
}

bool agrees(const Boxed<model::Tls>& wished, const Boxed<model::Tls>& reported) {
  if (!wished) return true;
  if (!reported || wished->client_ca.has_value() != reported->client_ca.has_value()) return false;
  if (wished->client_ca && *wished->client_ca != *reported->client_ca) return false;
  return wished->certificates == reported->certificates;
}

// Any other half is of the listener itself.
bool is_of_rule(const KnownListener& half) {
  return std::ranges::any_of(half.spec.rules, [](const Rule& rule) { return !rule.key.empty(); });
}

// What we asked for stays known while the report agrees with it.
void keep_asked(const KnownListener& before, KnownListener& now) {
  if (before.asked && lb::agrees(before.spec.attributes, now.spec.attributes)) {
    now.spec.attributes = before.spec.attributes;
    now.asked = true;
  }
  std::erase_if(now.reported_rules, [&](const RuleKey& key) {
    const Rule* const old = model::find_rule(before.spec, key);
    Rule* const rule = model::find_rule(now.spec, key);
    if (!old || !before.is_asked(key) || !lb::agrees(old->attributes, rule->attributes))
      return false;
    rule->attributes = old->attributes;
    return true;
  });
}

KnownListener known_from(ObservedListener reported, const KnownListener* before) {
  KnownListener known{.id = std::move(reported.id),
                      .spec = std::move(reported.spec),
                      .half_made = reported.half_made};
  for (const Rule& rule : known.spec.rules)
    if (rule.attributes != model::RuleAttributes{}) known.reported_rules.push_back(rule.key);
  if (before) keep_asked(*before, known);
  return known;
}

}  // namespace

bool agrees(const model::ListenerAttributes& wished, const model::ListenerAttributes& reported) {
  return wished.by_server_name == reported.by_server_name &&
         wished.keep_alive == reported.keep_alive &&
         agrees_unless_left(wished.max_rate, reported.max_rate) && agrees(wished.tls, reported.tls);
}

bool agrees(const model::RuleAttributes& wished, const model::RuleAttributes& reported) {
  if (wished.scheduler != reported.scheduler) return false;
  if (wished.session_seconds != reported.session_seconds) return false;
  if (wished.session_by_quic_id != reported.session_by_quic_id) return false;
  if (wished.to_targets != reported.to_targets) return false;
  if (wished.over_quic != reported.over_quic) return false;
  if (!agrees(wished.tls, reported.tls)) return false;
  if (!wished.health_check) return true;
  // A provider that reports none has its default, which is switched on.
  return agrees(*wished.health_check,
                reported.health_check ? *reported.health_check : model::HealthCheck{});
}

bool KnownListener::is_asked(const RuleKey& rule) const {
  return std::ranges::find(reported_rules, rule) == reported_rules.end();
}

KnownListener newly_made(ListenerId id, const model::ListenerSpec& wanted) {
  KnownListener out{.id = std::move(id), .spec = model::without_targets(wanted), .asked = true};
  if (model::is_layer7(wanted.protocol)) out.spec.rules.clear();
  return out;
}

void Inventory::replace(std::vector<ObservedListener> reported) {
  const auto before = std::move(by_id_);
  by_id_.clear();
  by_slot_.clear();
  by_name_.clear();
  half_made_ = 0;
  for (ObservedListener& listener : reported) {
    const auto old = before.find(listener.id);
    insert(known_from(std::move(listener), old == before.end() ? nullptr : &old->second));
  }
}

void Inventory::update(std::span<const Question> questions,
                       std::vector<ObservedListener> reported) {
  std::vector<ListenerId> gone;
  const auto note = [&](const KnownListener* listener) {
    if (listener &&
        std::ranges::find(reported, listener->id, &ObservedListener::id) == reported.end())
      gone.push_back(listener->id);
  };
  for (const Question& question : questions) {
    note(by_id(question.id));
    if (!question.name.empty()) std::ranges::for_each(by_name(question.name), note);
    if (question.ports.first == 0) continue;
    for (const Transport transport : model::transports_of(model::Protocol::tcp_udp))
      std::ranges::for_each(overlapping(transport, question.ports), note);
  }
  for (const ListenerId& id : gone) erase(id);
  // Before any of them is put: they may have changed places.
  for (const ObservedListener& listener : reported) erase_others_at(listener);
  for (ObservedListener& listener : reported) {
    const KnownListener* const before = by_id(listener.id);
    insert(known_from(std::move(listener), before));
  }
}

// Its ports can be nobody else's.
void Inventory::erase_others_at(const ObservedListener& listener) {
  if (listener.half_made) return;
  for (const Transport transport : model::transports_of(listener.spec.protocol)) {
    for (const KnownListener* other : overlapping(transport, listener.spec.ports))
      if (other->id != listener.id) erase(ListenerId(other->id));
  }
}

void Inventory::index(const KnownListener& listener) {
  if (listener.half_made) {
    ++half_made_;
  } else {
    for (const Transport transport : model::transports_of(listener.spec.protocol))
      by_slot_.emplace(Slot{transport, listener.spec.ports.first}, &listener);
  }
  if (!listener.spec.name.empty()) by_name_.emplace(listener.spec.name, &listener);
}

void Inventory::unindex(const KnownListener& listener) {
  if (listener.half_made) {
    --half_made_;
  } else {
    for (const Transport transport : model::transports_of(listener.spec.protocol))
      drop(by_slot_, Slot{transport, listener.spec.ports.first}, listener);
  }
  drop(by_name_, std::string_view(listener.spec.name), listener);
}

void Inventory::put(KnownListener listener) {
  if (!listener.half_made) erase_half_made(listener.spec.name, {});
  insert(std::move(listener));
}

void Inventory::erase_half_made(std::string_view name, const RuleKey& key) {
  for (const KnownListener* const half : half_made(name)) {
    const bool fits =
        key.empty() ? !is_of_rule(*half) : model::find_rule(half->spec, key) != nullptr;
    if (fits) erase(ListenerId(half->id));
  }
}

void Inventory::insert(KnownListener listener) {
  model::sort(listener.spec);
  const auto [it, fresh] = by_id_.try_emplace(listener.id);
  if (!fresh) unindex(it->second);
  it->second = std::move(listener);
  index(it->second);
}

void Inventory::erase(const ListenerId& id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  unindex(it->second);
  by_id_.erase(it);
}

KnownListener* Inventory::find(const ListenerId& id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

Rule* Inventory::find(const RuleRef& rule) {
  KnownListener* const listener = find(rule.listener);
  return listener ? model::find_rule(listener->spec, rule.key) : nullptr;
}

void Inventory::change(const ListenerChange& change) {
  KnownListener* const listener = find(change.listener);
  if (!listener) return;
  listener->spec.attributes = change.attributes;
  listener->asked = true;
}

void Inventory::put(const NewRule& made) {
  KnownListener* const listener = find(made.rule.listener);
  if (!listener) return;
  if (!model::find_rule(listener->spec, made.rule.key)) {
    listener->spec.rules.push_back({.key = made.rule.key});
    model::sort(listener->spec);
  }
  change(RuleChange{made.rule, made.attributes});
  if (!made.rule.key.empty()) erase_half_made(listener->spec.name, made.rule.key);
}

void Inventory::erase(const RuleRef& rule) {
  KnownListener* const listener = find(rule.listener);
  if (!listener) return;
  std::erase_if(listener->spec.rules, [&](const Rule& one) { return one.key == rule.key; });
  std::erase(listener->reported_rules, rule.key);
}

void Inventory::change(const RuleChange& change) {
  Rule* const rule = find(change.rule);
  if (!rule) return;
  rule->attributes = change.attributes;
  std::erase(find(change.rule.listener)->reported_rules, change.rule.key);
}

void Inventory::change(const TargetChange& change) {
  Rule* const rule = find(change.rule);
  if (!rule) return;
  const auto named = [&](const model::WeightedTarget& there) {
    return std::ranges::find(change.add, there.target, &model::WeightedTarget::target) !=
               change.add.end() ||
           std::ranges::find(change.remove, there.target) != change.remove.end();
  };
  std::erase_if(rule->targets, named);
  rule->targets.insert(rule->targets.end(), change.add.begin(), change.add.end());
  std::ranges::sort(rule->targets);
}

const KnownListener* Inventory::by_id(const ListenerId& id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

std::vector<const KnownListener*> Inventory::by_name(std::string_view name) const {
  std::vector<const KnownListener*> out;
  const auto [first, last] = by_name_.equal_range(name);
  for (auto it = first; it != last; ++it) out.push_back(it->second);
  std::ranges::sort(out, {}, [](const KnownListener* one) { return one->id; });
  return out;
}

std::vector<const KnownListener*> Inventory::half_made(std::string_view name) const {
  if (half_made_ == 0) return {};
  std::vector<const KnownListener*> out = by_name(name);
  std::erase_if(out, [](const KnownListener* one) { return !one->half_made; });
  return out;
}

std::vector<const KnownListener*> Inventory::overlapping(Transport transport,
                                                         model::PortRange ports) const {
  std::vector<const KnownListener*> out;
  // Ranges of one transport are disjoint, so from the last one that begins early enough, those that
  // overlap follow each other.
  for (auto it = by_slot_.upper_bound({transport, ports.last}); it != by_slot_.begin();) {
    --it;
    if (it->first.first != transport || !it->second->spec.ports.overlaps(ports)) break;
    out.push_back(it->second);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace berth::lb
