#include "engine/standing_index.h"

#include <algorithm>

namespace berth::engine {

void StandingIndex::add(const Wish& wish) {
  if (!wish.spec) return;
  const Place place{wish.spec->protocol, wish.spec->ports};
  if (!wish.known_id.empty()) by_id_.emplace(wish.known_id, place);
  if (!wish.spec->name.empty()) by_name_.emplace(wish.spec->name, place);
}

bool StandingIndex::wants(const lb::KnownListener& listener) {
  if (!loaded_) {
    loaded_ = true;
    all_([this](const Wish& wish) { add(wish); });
  }
  const auto id = by_id_.find(listener.id);
  if (id != by_id_.end() && is_at(listener, id->second)) return true;
  const auto [first, last] = by_name_.equal_range(listener.spec.name);
  return std::any_of(first, last, [&](const auto& entry) { return is_at(listener, entry.second); });
}

}  // namespace berth::engine
