// What a plan asks for: writes to the API server, as values. Planners make them, controllers send
// them (`cached.h`). Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kube/client/resource.h"
#include "sim/workloads/any_object.h"

namespace berth::workloads {

enum class Verb : std::uint8_t {
  create,
  patch,         // a JSON patch
  patch_status,  // a JSON patch of the status
  remove,
};

struct Write {
  Verb verb = Verb::create;
  kube::ObjectKey key{};
  wire::Value body{};
  std::string uid{};  // of the object meant: one that came after it is left alone
};
using Writes = std::vector<Write>;

Write create_write(wire::Value object);
Write remove_write(const kube::ObjectMeta& meta);
// Operations beside the check that it is still the same object.
Write patch_write(const kube::ObjectMeta& meta, wire::Array operations);
// The whole status, or nothing when it is there already.
void add_status_write(const AnyObject& object, wire::Object status, Writes& writes);
wire::Object set_operation(std::string_view pointer, wire::Value value);

// The one owner that manages an object.
wire::Object controller_reference(const kube::ResourceType& type, const kube::ObjectMeta& owner);
bool is_controlled_by(const kube::ObjectMeta& object, const kube::ObjectMeta& owner);

// The operations that take those owners off an object.
wire::Array without_owners(const kube::ObjectMeta& object,
                           const std::function<bool(const kube::OwnerReference&)>& goes);

// Objects that are the owner's: those it controls and selects. Orphans that it selects are adopted,
// and what it does not select any more is let go, as far as `writes` go.
template <class T>
std::vector<std::shared_ptr<const T>> claim(const kube::ResourceType& type, const AnyObject& owner,
                                            const std::vector<std::shared_ptr<const T>>& objects,
                                            Writes& writes);

// A Pod of the template, with the owner as its controller. It has no name yet.
wire::Value pod_from_template(const kube::ResourceType& type, const AnyObject& owner,
                              const wire::Value& pod_template);

// Only Pods that run or may still run count.
bool is_active(const kube::Pod& pod);

enum class Claim : std::uint8_t { none, ours, adopt, release };
Claim claim_of(const AnyObject& owner, const kube::ObjectMeta& object);
Write adoption(const kube::ResourceType& type, const AnyObject& owner,
               const kube::ObjectMeta& object);
Write release(const AnyObject& owner, const kube::ObjectMeta& object);

template <class T>
std::vector<std::shared_ptr<const T>> claim(const kube::ResourceType& type, const AnyObject& owner,
                                            const std::vector<std::shared_ptr<const T>>& objects,
                                            Writes& writes) {
  std::vector<std::shared_ptr<const T>> ours;
  for (const auto& object : objects) {
    const Claim is = claim_of(owner, object->meta);
    if (is == Claim::adopt) writes.push_back(adoption(type, owner, object->meta));
    if (is == Claim::release) writes.push_back(release(owner, object->meta));
    if (is == Claim::adopt || is == Claim::ours) ours.push_back(object);
  }
  return ours;
}

}  // namespace berth::workloads
