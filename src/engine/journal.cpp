#include "engine/journal.h"

#include <algorithm>

namespace berth::engine {

void Journal::add(const lb::AttributeStep& step) {
  attributes_[step.change.listener_id] = step.change.attributes;
}

void Journal::add(const lb::TargetStep& step) {
  Targets& targets = targets_[step.change.listener_id];
  targets.added.insert(step.change.add.begin(), step.change.add.end());
  targets.removed.insert(step.change.remove.begin(), step.change.remove.end());
}

bool Journal::has(const lb::AttributeStep& step) const {
  const auto it = attributes_.find(step.change.listener_id);
  return it != attributes_.end() && it->second == step.change.attributes;
}

bool Journal::has(const lb::TargetStep& step) const {
  const auto it = targets_.find(step.change.listener_id);
  if (it == targets_.end()) return false;
  const auto among = [](const auto& confirmed) {
    return [&confirmed](const auto& target) { return confirmed.contains(target); };
  };
  return std::ranges::any_of(step.change.add, among(it->second.added)) ||
         std::ranges::any_of(step.change.remove, among(it->second.removed));
}

}  // namespace berth::engine
