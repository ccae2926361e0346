#include "model/listener.h"

#include <algorithm>

namespace berth::model {

std::string to_string(const RuleKey& key) { return key.text(); }

ListenerSpec plain_listener(Protocol protocol, PortRange ports, std::string name,
                            std::vector<WeightedTarget> targets, RuleAttributes attributes) {
  return {.protocol = protocol,
          .ports = ports,
          .name = std::move(name),
          .rules = {{.attributes = std::move(attributes), .targets = std::move(targets)}}};
}

const Rule* find_rule(const ListenerSpec& spec, const RuleKey& key) {
  const auto it = std::ranges::find(spec.rules, key, &Rule::key);
  return it == spec.rules.end() ? nullptr : &*it;
}

Rule* find_rule(ListenerSpec& spec, const RuleKey& key) {
  const auto it = std::ranges::find(spec.rules, key, &Rule::key);
  return it == spec.rules.end() ? nullptr : &*it;
}

Leads leads_of(const ListenerSpec& spec) {
  Leads out;
  for (const Rule& rule : spec.rules)
    if (!rule.targets.empty()) out.emplace_back(rule.key, rule.targets);
  return out;
}

std::vector<WeightedTarget> targets_of(const ListenerSpec& spec) {
  std::vector<WeightedTarget> out;
  for (const Rule& rule : spec.rules)
    out.insert(out.end(), rule.targets.begin(), rule.targets.end());
  return out;
}

bool leads_somewhere(const ListenerSpec& spec) {
  return std::ranges::any_of(spec.rules, [](const Rule& rule) { return !rule.targets.empty(); });
}

ListenerSpec without_targets(ListenerSpec spec) {
  for (Rule& rule : spec.rules) rule.targets.clear();
  return spec;
}

void sort(ListenerSpec& spec) {
  std::ranges::sort(spec.rules, {}, &Rule::key);
  for (Rule& rule : spec.rules) std::ranges::sort(rule.targets);
}

}  // namespace berth::model
