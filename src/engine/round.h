// Which calls come next: the steps of a plan that are possible now, in rounds of calls of one kind.
//
// Kinds take turns, so that none waits for all of another. Changes of targets go in between all the
// time, because Pods wait for them. Belongs to a reconciler; pure but for whose turn it is.
#pragma once

#include <cstdint>
#include <vector>

#include "lb/plan.h"

namespace berth::engine {

// Calls that are made at one time; no wish is in two of them.
struct Round {
  enum class Kind : std::uint8_t {
    none,
    removals,
    creations,
    listeners,
    rule_removals,
    rule_creations,
    rules,
    targets
  };
  Kind kind = Kind::none;
  lb::Batches calls{};  // those of that kind count
};

class Rounds {
 public:
  // `pressing`: somebody waits for a change of targets. Otherwise such changes are collected while
  // there are others to make, because one call takes many.
  Round next(const lb::Plan& ready, const model::Abilities& limits, bool pressing);

 private:
  bool targets_last_ = false;
  Round::Kind last_other_ = Round::Kind::none;
};

}  // namespace berth::engine
