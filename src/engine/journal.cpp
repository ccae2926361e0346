#include "engine/journal.h"

#include <algorithm>

namespace berth::engine {

void Journal::add(const lb::ListenerStep& step) {
  listeners_[step.change.listener] = step.change.attributes;
}

void Journal::add(const lb::RuleStep& step) { rules_[step.change.rule] = step.change.attributes; }

void Journal::add(const lb::TargetStep& step) {
  Targets& targets = targets_[step.change.rule];
  targets.added.insert(step.change.add.begin(), step.change.add.end());
  targets.removed.insert(step.change.remove.begin(), step.change.remove.end());
}

bool Journal::has(const lb::ListenerStep& step) const {
  const auto it = listeners_.find(step.change.listener);
  return it != listeners_.end() && it->second == step.change.attributes;
}

bool Journal::has(const lb::RuleStep& step) const {
  const auto it = rules_.find(step.change.rule);
  return it != rules_.end() && it->second == step.change.attributes;
}

bool Journal::has(const lb::TargetStep& step) const {
  const auto it = targets_.find(step.change.rule);
  if (it == targets_.end()) return false;
  const auto among = [](const auto& confirmed) {
    return [&confirmed](const auto& target) { return confirmed.contains(target); };
  };
  return std::ranges::any_of(step.change.add, among(it->second.added)) ||
         std::ranges::any_of(step.change.remove, among(it->second.removed));
}

}  // namespace berth::engine
