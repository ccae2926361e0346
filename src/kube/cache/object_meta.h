// What every cached object has. A projection is a struct with a member `meta` of this type and the
// few other fields that somebody reads; nothing else of the object is kept.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/cache/interned.h"
#include "kube/cache/shared_list.h"
#include "kube/client/resource.h"

namespace berth::kube {

// By text, so that no order depends on where the text happens to lie.
inline std::size_t hash_value(const Interned& text) {
  return std::hash<std::string_view>{}(text.view());
}

// Sorted by key; label and annotation keys repeat over thousands of objects, so they are shared.
using MapEntry = std::pair<Interned, std::string>;
using StringMap = std::vector<MapEntry>;
// Objects that one owner made mostly have the same labels.
using SharedMap = SharedList<MapEntry>;
inline std::size_t hash_value(const MapEntry& entry) {
  return combine_hash(hash_value(entry.first), std::hash<std::string>{}(entry.second));
}
// A map of either kind. Lives as long as the map.
using MapView = std::span<const MapEntry>;
// Empty when missing.
std::string_view get(MapView map, std::string_view key);
bool has(MapView map, std::string_view key);

struct OwnerReference {
  Interned api_version{};
  Interned kind{};
  std::string name{};
  std::string uid{};
  bool controller = false;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};
std::size_t hash_value(const OwnerReference& owner);

struct ObjectMeta {
  Interned ns{};
  std::string name{};
  std::string uid{};
  ResourceVersion resource_version = 0;
  std::int64_t generation = 0;
  bool deleting = false;  // has a deletionTimestamp
  WallTime created{};
  SharedMap labels{};
  StringMap annotations{};
  SharedList<Interned> finalizers{};
  SharedList<OwnerReference> owners{};  // the Pods of a ReplicaSet share one list

  ObjectKey key() const { return {std::string(ns.view()), name}; }
  // The one that manages the object, if any.
  const OwnerReference* controller() const;

  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

}  // namespace berth::kube
