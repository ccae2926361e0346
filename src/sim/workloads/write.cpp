#include "sim/workloads/write.h"

#include <boost/json.hpp>

namespace berth::workloads {

using wire::Array;
using wire::Object;
using wire::Value;

namespace {

Object same_uid(const kube::ObjectMeta& meta) {
  return {{"op", "test"}, {"path", "/metadata/uid"}, {"value", meta.uid}};
}

}  // namespace

Write create_write(Value object) {
  kube::ObjectKey key{std::string(wire::string_at(object, "/metadata/namespace")),
                      std::string(wire::string_at(object, "/metadata/name"))};
  return {.verb = Verb::create, .key = std::move(key), .body = std::move(object)};
}

Write remove_write(const kube::ObjectMeta& meta) {
  return {.verb = Verb::remove, .key = meta.key(), .uid = meta.uid};
}

Write patch_write(const kube::ObjectMeta& meta, Array operations) {
  operations.insert(operations.begin(), same_uid(meta));
  return {.verb = Verb::patch, .key = meta.key(), .body = std::move(operations), .uid = meta.uid};
}

Object set_operation(std::string_view pointer, Value value) {
  return {{"op", "add"}, {"path", pointer}, {"value", std::move(value)}};
}

void add_status_write(const AnyObject& object, Object status, Writes& writes) {
  if (object_or_empty(object.value, "/status") == status) return;
  Write write = patch_write(object.meta, {set_operation("/status", std::move(status))});
  write.verb = Verb::patch_status;
  writes.push_back(std::move(write));
}

Object controller_reference(const kube::ResourceType& type, const kube::ObjectMeta& owner) {
  return {{"apiVersion", type.api_version()},
          {"kind", type.kind},
          {"name", owner.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

bool is_controlled_by(const kube::ObjectMeta& object, const kube::ObjectMeta& owner) {
  const kube::OwnerReference* controller = object.controller();
  return controller != nullptr && controller->uid == owner.uid;
}

bool is_active(const kube::Pod& pod) { return !pod.meta.deleting && !pod.finished(); }

Claim claim_of(const AnyObject& owner, const kube::ObjectMeta& object) {
  const bool wanted = selects(wire::find(owner.value, "/spec/selector"), object.labels);
  if (is_controlled_by(object, owner.meta)) {
    if (wanted) return Claim::ours;
    return owner.meta.deleting || object.deleting ? Claim::none : Claim::release;
  }
  const bool free = object.controller() == nullptr && !object.deleting && !owner.meta.deleting;
  return wanted && free ? Claim::adopt : Claim::none;
}

Write adoption(const kube::ResourceType& type, const AnyObject& owner,
               const kube::ObjectMeta& object) {
  const Object reference = controller_reference(type, owner.meta);
  if (object.owners.empty())
    return patch_write(object, {set_operation("/metadata/ownerReferences", Array{reference})});
  return patch_write(object, {set_operation("/metadata/ownerReferences/-", reference)});
}

Array without_owners(const kube::ObjectMeta& object,
                     const std::function<bool(const kube::OwnerReference&)>& goes) {
  Array operations;
  // From the last to the first: each removal moves those behind it.
  for (std::size_t i = object.owners.size(); i-- > 0;) {
    const kube::OwnerReference& owner = object.owners[i];
    if (!goes(owner)) continue;
    const std::string at = fmt::format("/metadata/ownerReferences/{}", i);
    operations.push_back(Object{{"op", "test"}, {"path", at + "/uid"}, {"value", owner.uid}});
    operations.push_back(Object{{"op", "remove"}, {"path", at}});
  }
  return operations;
}

Write release(const AnyObject& owner, const kube::ObjectMeta& object) {
  return patch_write(object, without_owners(object, [&](const kube::OwnerReference& one) {
                       return one.uid == owner.meta.uid;
                     }));
}

Value pod_from_template(const kube::ResourceType& type, const AnyObject& owner,
                        const Value& pod_template) {
  Object metadata{{"namespace", owner.meta.ns.view()},
                  {"ownerReferences", Array{controller_reference(type, owner.meta)}}};
  for (const char* key : {"labels", "annotations", "finalizers"}) {
    const Value* given = wire::find(pod_template, std::string("/metadata/") + key);
    if (given != nullptr && !given->is_null()) metadata[key] = *given;
  }
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", std::move(metadata)},
                {"spec", object_or_empty(pod_template, "/spec")}};
}

}  // namespace berth::workloads
