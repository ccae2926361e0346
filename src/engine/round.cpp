#include "engine/round.h"

#include <algorithm>
#include <unordered_set>

namespace berth::engine {
namespace {

using Kind = Round::Kind;

// Calls at one time to a load balancer whose writes need not follow each other.
constexpr std::size_t kParallelCalls = 4;

// A wish whose steps need two calls gets the first of them.
template <class Step>
std::vector<std::vector<Step>> independent(std::vector<std::vector<Step>> batches,
                                           const model::Abilities& limits) {
  const std::size_t bound = limits.serial_writes ? 1 : kParallelCalls;
  std::unordered_set<std::size_t> seen;
  std::vector<std::vector<Step>> out;
  for (auto& batch : batches) {
    if (out.size() == bound) break;
    const bool fresh = std::none_of(batch.begin(), batch.end(),
                                    [&](const Step& step) { return seen.contains(step.wish); });
    for (const Step& step : batch) seen.insert(step.wish);
    if (fresh) out.push_back(std::move(batch));
  }
  return out;
}

Kind after(Kind kind) {
  switch (kind) {
    case Kind::removals: return Kind::creations;
    case Kind::creations: return Kind::attributes;
    default: return Kind::removals;
  }
}

bool has(const lb::Plan& plan, Kind kind) {
  switch (kind) {
    case Kind::removals: return !plan.removals.empty();
    case Kind::creations: return !plan.creations.empty();
    case Kind::attributes: return !plan.attributes.empty();
    default: return false;
  }
}

// The next kind, other than targets, that has something to do.
Kind next_other(const lb::Plan& plan, Kind last) {
  Kind kind = last;
  for (int i = 0; i < 3; ++i) {
    kind = after(kind);
    if (has(plan, kind)) return kind;
  }
  return Kind::none;
}

}  // namespace

Round Rounds::next(const lb::Plan& ready, const model::Abilities& limits, bool pressing) {
  lb::Batches batches = lb::cut(ready, limits);
  const Kind other = next_other(ready, last_other_);
  const bool due = pressing || batches.targets.size() > 1;
  targets_last_ = !batches.targets.empty() && (other == Kind::none || (due && !targets_last_));

  Round round;
  round.kind = targets_last_ ? Kind::targets : other;
  switch (round.kind) {
    case Kind::none: return round;
    case Kind::removals: round.removals = independent(std::move(batches.removals), limits); break;
    case Kind::creations:
      round.creations = independent(std::move(batches.creations), limits);
      break;
    case Kind::attributes:
      round.attributes = independent(std::move(batches.attributes), limits);
      break;
    case Kind::targets: round.targets = independent(std::move(batches.targets), limits); break;
  }
  if (!targets_last_) last_other_ = other;
  return round;
}

}  // namespace berth::engine
