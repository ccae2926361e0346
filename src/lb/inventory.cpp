#include "lb/inventory.h"

#include <algorithm>

namespace berth::lb {
namespace {

void sort_targets(std::vector<model::WeightedTarget>& targets) {
  std::sort(targets.begin(), targets.end());
}

template <class Index, class Key>
void drop(Index& index, const Key& key, const KnownListener& listener) {
  const auto [first, last] = index.equal_range(key);
  const auto it =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &listener; });
  if (it != last) index.erase(it);
}

bool agrees(std::uint32_t wished, std::uint32_t reported) {
  return wished == 0 || wished == reported;
}

bool agrees(const model::HealthCheck& wished, const model::HealthCheck& reported) {
  if (wished.enabled != reported.enabled) return false;
  // What is switched off has no further properties.
  if (!wished.enabled) return true;
  return agrees(wished.timeout_seconds, reported.timeout_seconds) &&
         agrees(wished.interval_seconds, reported.interval_seconds) &&
         agrees(wished.healthy_count, reported.healthy_count) &&
         agrees(wished.unhealthy_count, reported.unhealthy_count) &&
         agrees(wished.port, reported.port);
}

}  // namespace

bool agrees(const model::ListenerAttributes& wished, const model::ListenerAttributes& reported) {
  if (wished.scheduler != reported.scheduler) return false;
  if (wished.session_seconds != reported.session_seconds) return false;
  if (!wished.health_check) return true;
  // A provider that reports none has its default, which is switched on.
  return agrees(*wished.health_check, reported.health_check.value_or(model::HealthCheck{}));
}

void Inventory::replace(std::vector<ObservedListener> reported) {
  const auto before = std::move(by_id_);
  by_id_.clear();
  by_slot_.clear();
  by_name_.clear();
  for (ObservedListener& listener : reported) {
    KnownListener known{.id = std::move(listener.id), .spec = std::move(listener.spec)};
    const auto old = before.find(known.id);
    if (old != before.end() && old->second.asked &&
        agrees(old->second.spec.attributes, known.spec.attributes)) {
      known.spec.attributes = old->second.spec.attributes;
      known.asked = true;
    }
    put(std::move(known));
  }
}

void Inventory::unindex(const KnownListener& listener) {
  drop(by_slot_, slot_of(listener), listener);
  drop(by_name_, std::string_view(listener.spec.name), listener);
}

void Inventory::put(KnownListener listener) {
  sort_targets(listener.spec.targets);
  const std::string id = listener.id;
  const auto [it, fresh] = by_id_.try_emplace(id);
  if (!fresh) unindex(it->second);
  it->second = std::move(listener);
  const KnownListener& known = it->second;
  by_slot_.emplace(slot_of(known), &known);
  if (!known.spec.name.empty()) by_name_.emplace(known.spec.name, &known);
}

void Inventory::erase(std::string_view id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  unindex(it->second);
  by_id_.erase(it);
}

void Inventory::change(const TargetChange& change) {
  const auto it = by_id_.find(change.listener_id);
  if (it == by_id_.end()) return;
  auto& targets = it->second.spec.targets;
  const auto named = [&](const model::WeightedTarget& there) {
    const auto same = [&](const model::WeightedTarget& added) {
      return added.target == there.target;
    };
    return std::any_of(change.add.begin(), change.add.end(), same) ||
           std::find(change.remove.begin(), change.remove.end(), there.target) !=
               change.remove.end();
  };
  std::erase_if(targets, named);
  targets.insert(targets.end(), change.add.begin(), change.add.end());
  sort_targets(targets);
}

void Inventory::change(const AttributeChange& change) {
  const auto it = by_id_.find(change.listener_id);
  if (it == by_id_.end()) return;
  it->second.spec.attributes = change.attributes;
  it->second.asked = true;
}

const KnownListener* Inventory::by_id(std::string_view id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

std::vector<const KnownListener*> Inventory::by_name(std::string_view name) const {
  std::vector<const KnownListener*> out;
  const auto [first, last] = by_name_.equal_range(name);
  for (auto it = first; it != last; ++it) out.push_back(it->second);
  std::sort(out.begin(), out.end(),
            [](const KnownListener* a, const KnownListener* b) { return a->id < b->id; });
  return out;
}

std::vector<const KnownListener*> Inventory::overlapping(model::Transport protocol,
                                                         model::PortRange ports) const {
  std::vector<const KnownListener*> out;
  // Ranges of one protocol are disjoint, so from the last one that begins early enough, those that
  // overlap follow each other.
  for (auto it = by_slot_.upper_bound({protocol, ports.last}); it != by_slot_.begin();) {
    const KnownListener& listener = *(--it)->second;
    if (listener.spec.protocol != protocol || !listener.spec.ports.overlaps(ports)) break;
    out.push_back(&listener);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace berth::lb
