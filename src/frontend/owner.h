// Owner: an object of any kind that wants listeners. Values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "kube/cache/object_meta.h"
#include "kube/client/resource.h"
#include "ledger/grants.h"
#include "wire/value.h"

namespace berth::frontend {

struct Owner {
  kube::ResourceType type{};
  kube::ObjectKey key{};  // the namespace is empty for a cluster-scoped one
  std::string uid{};
  WallTime created{};
  // Where its Listeners live: its own namespace, or ours if it has none.
  std::string listeners_ns{};
};

// `home` is our own namespace.
Owner owner_of(const kube::ResourceType& type, const kube::ObjectMeta& meta, std::string_view home);

// What grants and labels of Listeners name it by: with the namespace of its Listeners, since
// neither of them says whether its kind is namespaced.
kube::ObjectKey listeners_key(const Owner& owner);
kube::ObjectKey listeners_key(const kube::ResourceType& type, const kube::ObjectKey& key,
                              std::string_view home);
// The way back: the object of this kind that they mean.
kube::ObjectKey object_key(const kube::ResourceType& type, const kube::ObjectKey& listeners_key);

// As grants name it.
ledger::GrantOwner grant_owner(const Owner& owner);
// As `metadata.ownerReferences` of its Listeners has it: as their controller.
wire::Value reference_to(const Owner& owner);
// "PortPool games/rooms".
std::string to_string(const Owner& owner);

// Of two that want the same, the older goes first.
bool goes_before(const Owner& a, const Owner& b);

}  // namespace berth::frontend
