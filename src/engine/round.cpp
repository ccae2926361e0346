#include "engine/round.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace berth::engine {
namespace {

using Kind = Round::Kind;

// Calls at one time to a load balancer whose writes need not follow each other.
constexpr std::size_t kParallelCalls = 4;

// The kinds that take turns.
constexpr std::array kOthers{Kind::removals,      Kind::creations,      Kind::listeners,
                             Kind::rule_removals, Kind::rule_creations, Kind::rules};

// A wish whose steps need two calls gets the first of them.
template <class Step>
void keep_independent(std::vector<std::vector<Step>>& batches, const model::Abilities& limits) {
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
  batches = std::move(out);
}

// Hands the calls of a kind to the visitor.
template <class Visit>
auto calls_of(Kind kind, lb::Batches& batches, Visit visit) {
  switch (kind) {
    case Kind::removals: return visit(batches.removals);
    case Kind::creations: return visit(batches.creations);
    case Kind::listeners: return visit(batches.listeners);
    case Kind::rule_removals: return visit(batches.rule_removals);
    case Kind::rule_creations: return visit(batches.rule_creations);
    case Kind::rules: return visit(batches.rules);
    case Kind::none:
    case Kind::targets: break;
  }
  return visit(batches.targets);
}

// The next kind, other than targets, that has something to do.
Kind next_other(lb::Batches& batches, Kind last) {
  const auto it = std::ranges::find(kOthers, last);
  const std::size_t first =
      it == kOthers.end() ? 0 : static_cast<std::size_t>(it - kOthers.begin()) + 1;
  for (std::size_t i = 0; i < kOthers.size(); ++i) {
    const Kind kind = kOthers[(first + i) % kOthers.size()];
    if (calls_of(kind, batches, [](const auto& calls) { return !calls.empty(); })) return kind;
  }
  return Kind::none;
}

}  // namespace

Round Rounds::next(const lb::Plan& ready, const model::Abilities& limits, bool pressing) {
  Round round{.calls = lb::cut(ready, limits)};
  const Kind other = next_other(round.calls, last_other_);
  const bool due = pressing || round.calls.targets.size() > 1;
  targets_last_ = !round.calls.targets.empty() && (other == Kind::none || (due && !targets_last_));
  round.kind = targets_last_ ? Kind::targets : other;
  if (round.kind != Kind::none)
    calls_of(round.kind, round.calls, [&](auto& calls) { keep_independent(calls, limits); });
  if (!targets_last_) last_other_ = other;
  return round;
}

}  // namespace berth::engine
