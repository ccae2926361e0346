#include "engine/shared_state.h"

namespace berth::engine {
namespace {

// A text that changes with each try, by the id of a request, is no news.
std::optional<Code> outcome_of(const std::optional<Result<>>& look) {
  if (!look || *look) return std::nullopt;
  return look->error().code;
}

}  // namespace

std::optional<Result<>> SharedState::look_at(const model::LoadBalancerRef& lb) {
  std::optional<Result<>> out;
  for (const auto& [place, result] : looks) {
    if (place.lb != lb) continue;
    if (!result) return result;
    out = result;
  }
  return out;
}

void SharedState::note_look(const lb::Place& place, std::optional<Result<>> result) {
  std::optional<Result<>> before;
  std::optional<Result<>> after;
  {
    const MutexLock lock(mu);
    const auto it = looks.find(place);
    const bool known = it != looks.end();
    const bool same =
        known == result.has_value() && (!known || outcome_of(it->second) == outcome_of(result));
    if (same) return;
    before = look_at(place.lb);
    if (known) looks.erase(it);
    if (result) looks.emplace(place, std::move(*result));
    after = look_at(place.lb);
    metrics.unseen(place.lb, outcome_of(after).has_value());
  }
  if (before.has_value() == after.has_value() && outcome_of(before) == outcome_of(after)) return;
  options.on_look(place.lb);
}

}  // namespace berth::engine
