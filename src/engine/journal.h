// Journal: which steps of one wish a provider has confirmed, or refused. A wish does not change, so
// each step of it is needed once: one that is planned again after it was confirmed was not kept, by
// the provider or by somebody else. Belongs to an open wish; not thread-safe.
//
// Bounded by what the wish is made of: its rules and targets, and the listeners that were in its
// way.
#pragma once

#include <map>
#include <set>
#include <string>

#include "lb/plan.h"

namespace berth::engine {

class Journal {
 public:
  void add(const lb::Removal& step) { removed_.insert(step.id); }
  void add(const lb::Creation&) { created_ = true; }
  void add(const lb::ListenerStep& step);
  void add(const lb::RuleRemoval& step) { removed_rules_.insert(step.rule); }
  void add(const lb::RuleCreation& step) { created_rules_.insert(step.rule.rule); }
  void add(const lb::RuleStep& step);
  void add(const lb::TargetStep& step);

  // Whether this step, or a part of it, is in it.
  bool has(const lb::Removal& step) const { return removed_.contains(step.id); }
  bool has(const lb::Creation&) const { return created_; }
  bool has(const lb::ListenerStep& step) const;
  bool has(const lb::RuleRemoval& step) const { return removed_rules_.contains(step.rule); }
  bool has(const lb::RuleCreation& step) const { return created_rules_.contains(step.rule.rule); }
  bool has(const lb::RuleStep& step) const;
  bool has(const lb::TargetStep& step) const;

 private:
  struct Targets {
    std::set<model::WeightedTarget> added{};
    std::set<model::Target> removed{};
  };

  bool created_ = false;
  std::set<model::ListenerId> removed_{};
  std::map<model::ListenerId, model::ListenerAttributes> listeners_{};
  std::set<lb::RuleRef> removed_rules_{};
  std::set<lb::RuleRef> created_rules_{};
  std::map<lb::RuleRef, model::RuleAttributes> rules_{};
  std::map<lb::RuleRef, Targets> targets_{};
};

}  // namespace berth::engine
