#include "kube/cache/object_meta.h"

#include <algorithm>

namespace berth::kube {
namespace {

MapView::iterator find(MapView map, std::string_view key) {
  const auto at = std::lower_bound(
      map.begin(), map.end(), key,
      [](const auto& entry, std::string_view wanted) { return entry.first.view() < wanted; });
  return at != map.end() && at->first.view() == key ? at : map.end();
}

}  // namespace

std::string_view get(MapView map, std::string_view key) {
  const auto at = find(map, key);
  return at == map.end() ? std::string_view() : std::string_view(at->second);
}

bool has(MapView map, std::string_view key) { return find(map, key) != map.end(); }

std::size_t hash_value(const OwnerReference& owner) {
  // The uid alone tells owners apart; references without one are rare enough to share a bucket.
  return std::hash<std::string>{}(owner.uid);
}

const OwnerReference* ObjectMeta::controller() const {
  const auto at = std::find_if(owners.begin(), owners.end(),
                               [](const auto& owner) { return owner.controller; });
  return at == owners.end() ? nullptr : at;
}

}  // namespace berth::kube
