#include "sim/workloads/garbage_collector.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "sim/workloads/api_kinds.h"
#include "sim/workloads/cached.h"

namespace berth::workloads {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kOwnerIndex = "owner";
constexpr std::string_view kUidIndex = "uid";
constexpr Duration kRetryAfter = std::chrono::milliseconds{100};

// Keys of this controller say in place of a namespace what their name is of. Objects have
// "plural.group|namespace" there.
constexpr std::string_view kAllKinds = "kinds";
constexpr std::string_view kDependents = "dependents";
constexpr std::string_view kOwner = "owner";
constexpr std::string_view kNamespaceKey = "namespace";

ObjectKey task_of(std::string_view what, std::string name = {}) {
  return {std::string(what), std::move(name)};
}

std::string kind_id(const kube::ResourceType& type) {
  return type.group.empty() ? type.plural : type.plural + "." + type.group;
}

ObjectKey object_task(const kube::ResourceType& type, const kube::ObjectMeta& meta) {
  return {fmt::format("{}|{}", kind_id(type), meta.ns.view()), meta.name};
}

// Most changes are none of a garbage collector's business.
bool is_same_to_us(const kube::ObjectMeta& before, const kube::ObjectMeta& after) {
  return before.owners == after.owners && before.deleting == after.deleting &&
         before.finalizers == after.finalizers;
}

bool blocks(const Value& object, std::string_view owner_uid) {
  return std::ranges::any_of(array_or_empty(object, "/metadata/ownerReferences"),
                             [&](const Value& owner) {
                               return wire::string_at(owner, "/uid") == owner_uid &&
                                      wire::bool_at(owner, "/blockOwnerDeletion").value_or(false);
                             });
}

}  // namespace

struct GarbageCollector::Kind {
  Kind(Tasks& tasks, kube::Client& client, const kube::ResourceType& t, Random random)
      : type(t), informer(tasks, client, meta_projection(t), random) {
    informer.store().add_index(std::string(kOwnerIndex), [](const MetaOnly& o, auto emit) {
      for (const kube::OwnerReference& owner : o.meta.owners) emit(owner.uid);
    });
    informer.store().add_index(std::string(kUidIndex),
                               [](const MetaOnly& o, auto emit) { emit(o.meta.uid); });
  }
  const kube::ResourceType type;
  kube::Informer<MetaOnly> informer;
};

kube::Projection<GarbageCollector::MetaOnly> GarbageCollector::meta_projection(
    const kube::ResourceType& type) {
  return {.type = type,
          .from_json = [type](wire::JsonReader& reader, std::string_view text) -> Result<MetaOnly> {
            MetaOnly object;
            const kube::MetaRules rules{.labels = {}, .finalizers = true, .owners = true};
            Result<> read =
                kube::decode_object(reader, text, type, rules, object.meta, [](auto, auto) {});
            if (!read) return pass(read);
            return object;
          }};
}

GarbageCollector::GarbageCollector(Tasks& tasks, kube::Client& client, Random random)
    : tasks_(tasks),
      client_(client),
      random_(random),
      namespaces_(tasks, client, kube::namespace_projection(), random_.fork()),
      definitions_(tasks, client, meta_projection(kube::types::kCustomResourceDefinition),
                   random_.fork()),
      controller_(tasks, {.name = "garbage"}, [this](const Context& context, const ObjectKey& key) {
        return reconcile(context, key);
      }) {
  controller_.watch(namespaces_.store(), [](const auto& change, const auto& emit) {
    if (change.after && change.after->meta.deleting)
      emit(task_of(kNamespaceKey, change.after->meta.name));
  });
  controller_.watch(definitions_.store(),
                    [](const auto&, const auto& emit) { emit(task_of(kAllKinds)); });
}

GarbageCollector::~GarbageCollector() { stop(); }

void GarbageCollector::add_to(kube::Manager& manager) {
  manager.add(namespaces_.core());
  manager.add(definitions_.core());
  manager.add(controller_);
  controller_.at_start([this] { controller_.queue().add(task_of(kAllKinds)); });
}

void GarbageCollector::stop() {
  stop_.request_stop();
  for (const auto& [id, kind] : kinds_) kind->informer.core().stop();
}

Result<Requeue> GarbageCollector::reconcile(const Context& context, const ObjectKey& key) {
  const auto done = [](Result<> result) -> Result<Requeue> {
    if (!result) return pass(result);
    return Requeue{};
  };
  if (key.ns == kAllKinds) return done(find_kinds(context));
  if (key.ns == kNamespaceKey) return empty_namespace(context, key.name);
  if (key.ns == kDependents) return look_at_dependents(key.name), Requeue{};
  if (key.ns == kOwner) return look_at_owner(key.name), Requeue{};
  const std::size_t bar = key.ns.find('|');
  const auto kind = kinds_.find(key.ns.substr(0, bar));
  if (kind == kinds_.end()) return Requeue{};
  return done(look_at(context, *kind->second, {key.ns.substr(bar + 1), key.name}));
}

Result<> GarbageCollector::find_kinds(const Context& context) {
  Result<std::vector<kube::ResourceType>> found = discover_kinds(context, client_);
  if (!found) return pass(found);
  all_kinds_ = *found;
  std::set<std::string> served;
  for (const kube::ResourceType& type : all_kinds_) {
    if (type.kind == "Event") continue;  // many, short-lived, and never owned
    served.insert(kind_id(type));
    if (!kinds_.contains(kind_id(type))) watch_kind(type);
  }
  std::erase_if(kinds_, [&](const auto& entry) { return !served.contains(entry.first); });
  return {};
}

void GarbageCollector::watch_kind(const kube::ResourceType& type) {
  auto kind = std::make_unique<Kind>(tasks_, client_, type, random_.fork());
  kind->informer.store().on_change([this, type](const kube::Change<MetaOnly>& change) {
    const kube::ObjectMeta& meta = change.object().meta;
    if (change.before && change.after && is_same_to_us(change.before->meta, meta)) return;
    if (!change.after) {
      controller_.queue().add(task_of(kDependents, meta.uid));
    } else if (meta.deleting ? !meta.finalizers.empty() : !meta.owners.empty()) {
      controller_.queue().add(object_task(type, meta));
    }
    // An owner may be waiting for this.
    const bool let_go = change.before && (!change.after || change.after->meta.owners.empty());
    if (!let_go) return;
    for (const kube::OwnerReference& owner : change.before->meta.owners) {
      controller_.queue().add(task_of(kOwner, owner.uid));
    }
  });
  kind->informer.start(stop_.get_token());
  kinds_[kind_id(type)] = std::move(kind);
}

void GarbageCollector::look_at_dependents(const std::string& owner_uid) {
  for (const auto& [id, kind] : kinds_) {
    for (const auto& object : kind->informer.store().by_index(kOwnerIndex, owner_uid)) {
      controller_.queue().add(object_task(kind->type, object->meta));
    }
  }
}

void GarbageCollector::look_at_owner(const std::string& uid) {
  for (const auto& [id, kind] : kinds_) {
    for (const auto& object : kind->informer.store().by_index(kUidIndex, uid)) {
      controller_.queue().add(object_task(kind->type, object->meta));
    }
  }
}

Result<> GarbageCollector::look_at(const Context& context, Kind& kind, const ObjectKey& key) {
  const auto object = kind.informer.store().get(key);
  if (!object) return {};
  GarbageView view{.meta = object->meta};
  for (const kube::OwnerReference& owner : object->meta.owners) {
    if (object->meta.deleting) break;
    Result<OwnerState> state = state_of(context, owner, object->meta.ns.view());
    if (!state) return pass(state);
    view.owners.push_back(*state);
  }
  if (Result<> counted = count_dependents(context, view); !counted) return counted;
  return take(context, kind, object->meta, plan_garbage(view));
}

Result<OwnerState> GarbageCollector::state_of(const Context& context,
                                              const kube::OwnerReference& owner,
                                              std::string_view ns) {
  const std::string_view version = owner.api_version.view();
  const std::string_view group =
      version.find('/') == std::string_view::npos ? "" : version.substr(0, version.find('/'));
  const auto type = std::ranges::find_if(all_kinds_, [&](const kube::ResourceType& one) {
    return one.group == group && owner.kind == one.kind;
  });
  // Of a kind that is not served, nothing can be known: better keep too much.
  if (type == all_kinds_.end()) return OwnerState::solid;
  const ObjectKey key{type->namespaced ? std::string(ns) : "", owner.name};
  const auto kind = kinds_.find(kind_id(*type));
  const auto known = kind == kinds_.end() ? nullptr : kind->second->informer.store().get(key);
  // When it goes, its dependents are looked at again.
  if (known && known->meta.uid == owner.uid && !known->meta.deleting) return OwnerState::solid;
  // The cache may lag behind: a deletion needs the server's word.
  Result<Value> found = client_.get(context, *type, key);
  if (!found && found.error().code == Code::not_found) return OwnerState::gone;
  if (!found) return pass(found);
  if (wire::string_at(*found, "/metadata/uid") != owner.uid) return OwnerState::gone;
  const bool waiting =
      !wire::string_at(*found, "/metadata/deletionTimestamp").empty() &&
      std::ranges::any_of(array_or_empty(*found, "/metadata/finalizers"),
                          [](const Value& one) { return one == Value(kForegroundFinalizer); });
  return waiting ? OwnerState::waiting : OwnerState::solid;
}

Result<> GarbageCollector::count_dependents(const Context& context, GarbageView& view) {
  for (const auto& [id, kind] : kinds_) {
    for (const auto& one : kind->informer.store().by_index(kOwnerIndex, view.meta.uid)) {
      ++view.dependents;
      if (!view.meta.deleting) continue;
      Result<Value> now = client_.get(context, kind->type, one->meta.key());
      if (!now && now.error().code != Code::not_found) return pass(now);
      if (now && blocks(*now, view.meta.uid)) ++view.blocking;
    }
  }
  return {};
}

Result<> GarbageCollector::take(const Context& context, Kind& kind, const kube::ObjectMeta& meta,
                                const GarbageStep& step) {
  if (step.remind_dependents) look_at_dependents(meta.uid);
  if (step.release_dependents) {
    if (Result<> released = release_dependents(context, meta.uid); !released) return released;
    controller_.queue().add_after(object_task(kind.type, meta), kRetryAfter);
  }
  if (!step.remove_as.empty()) {
    return unless_gone(client_.remove(context, kind.type, meta.key(),
                                      {.uid = meta.uid, .propagation = step.remove_as}));
  }
  if (step.patch.empty()) return {};
  const Write write = patch_write(meta, step.patch);
  Result<Value> patched =
      client_.patch(context, kind.type, meta.key(), kube::PatchType::json, write.body);
  return patched ? Result<>{} : unless_gone(fail(patched.error()));
}

Result<> GarbageCollector::release_dependents(const Context& context,
                                              const std::string& owner_uid) {
  for (const auto& [id, kind] : kinds_) {
    for (const auto& one : kind->informer.store().by_index(kOwnerIndex, owner_uid)) {
      const Write write =
          patch_write(one->meta, without_owners(one->meta, [&](const kube::OwnerReference& owner) {
                        return owner.uid == owner_uid;
                      }));
      Result<Value> patched =
          client_.patch(context, kind->type, one->meta.key(), kube::PatchType::json, write.body);
      if (patched) continue;
      if (Result<> gone = unless_gone(fail(patched.error())); !gone) return gone;
    }
  }
  return {};
}

Result<Requeue> GarbageCollector::empty_namespace(const Context& context, const std::string& name) {
  Result<Value> ns = client_.get(context, kube::types::kNamespace, {"", name});
  if (!ns && ns.error().code == Code::not_found) return Requeue{};
  if (!ns) return pass(ns);
  if (wire::string_at(*ns, "/metadata/deletionTimestamp").empty()) return Requeue{};
  bool empty = !all_kinds_.empty();
  for (const kube::ResourceType& type : all_kinds_) {
    if (!type.namespaced) continue;
    Result<bool> none = remove_all(context, type, name);
    if (!none) return pass(none);
    empty = empty && *none;
  }
  if (!empty) return Requeue{.after = kRetryAfter};
  (void)wire::set_at(*ns, "/spec/finalizers", Array{});
  Result<Value> finalized =
      client_.update(context, kube::types::kNamespace, *ns, {.subresource = "finalize"});
  if (finalized || finalized.error().code == Code::not_found) return Requeue{};
  return pass(finalized);
}

// True: there was nothing to remove.
Result<bool> GarbageCollector::remove_all(const Context& context, const kube::ResourceType& type,
                                          const std::string& ns) {
  Result<kube::ListPage> page = client_.list_all(context, type, {.ns = ns});
  // A custom kind may have gone since the kinds were read.
  if (!page && page.error().code == Code::unsupported) return true;
  if (!page) return pass(page);
  for (const Value& object : page->items) {
    if (!wire::string_at(object, "/metadata/deletionTimestamp").empty()) continue;
    Result<> removed =
        client_.remove(context, type, {ns, std::string(wire::string_at(object, "/metadata/name"))},
                       {.uid = std::string(wire::string_at(object, "/metadata/uid"))});
    if (Result<> gone = unless_gone(std::move(removed)); !gone) return pass(gone);
  }
  return page->items.empty();
}

}  // namespace berth::workloads
