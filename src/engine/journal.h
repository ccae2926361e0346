// Journal: which steps of one wish a provider has confirmed. A wish does not change, so each step
// of it is needed once: one that is planned again after it was confirmed was not kept, by the
// provider or by somebody else. Belongs to an open wish; not thread-safe.
//
// Bounded by what the wish is made of: its targets, and the listeners that were in its way.
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
  void add(const lb::AttributeStep& step);
  void add(const lb::TargetStep& step);

  // Whether this step, or a part of it, was confirmed.
  bool has(const lb::Removal& step) const { return removed_.contains(step.id); }
  bool has(const lb::Creation&) const { return created_; }
  bool has(const lb::AttributeStep& step) const;
  bool has(const lb::TargetStep& step) const;

 private:
  struct Targets {
    std::set<model::WeightedTarget> added{};
    std::set<model::Target> removed{};
  };

  bool created_ = false;
  std::set<std::string> removed_{};
  std::map<std::string, model::ListenerAttributes> attributes_{};  // by listener
  std::map<std::string, Targets> targets_{};                       // by listener
};

}  // namespace berth::engine
