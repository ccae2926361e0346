#include "frontend/owner.h"

#include <boost/json.hpp>
#include <tuple>

namespace berth::frontend {

Owner owner_of(const kube::ResourceType& type, const kube::ObjectMeta& meta,
               std::string_view home) {
  return {.type = type,
          .key = meta.key(),
          .uid = meta.uid,
          .created = meta.created,
          .listeners_ns = listeners_key(type, meta.key(), home).ns};
}

kube::ObjectKey listeners_key(const Owner& owner) { return {owner.listeners_ns, owner.key.name}; }

kube::ObjectKey listeners_key(const kube::ResourceType& type, const kube::ObjectKey& key,
                              std::string_view home) {
  return {type.namespaced ? key.ns : std::string(home), key.name};
}

kube::ObjectKey object_key(const kube::ResourceType& type, const kube::ObjectKey& listeners_key) {
  return {type.namespaced ? listeners_key.ns : std::string(), listeners_key.name};
}

ledger::GrantOwner grant_owner(const Owner& owner) {
  return {
      .kind = owner.type.kind, .ns = owner.listeners_ns, .name = owner.key.name, .uid = owner.uid};
}

wire::Value reference_to(const Owner& owner) {
  return wire::Object{{"apiVersion", owner.type.api_version()},
                      {"kind", owner.type.kind},
                      {"name", owner.key.name},
                      {"uid", owner.uid},
                      {"controller", true}};
}

std::string to_string(const Owner& owner) { return owner.type.kind + " " + owner.key.to_string(); }

bool goes_before(const Owner& a, const Owner& b) {
  return std::tie(a.created, a.uid) < std::tie(b.created, b.uid);
}

}  // namespace berth::frontend
