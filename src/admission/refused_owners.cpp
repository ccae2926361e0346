#include "admission/refused_owners.h"

#include <algorithm>
#include <array>

#include "admission/short_workload.h"
#include "api/pod_ports.h"

namespace berth::admission {
namespace {

using kube::ObjectKey;
using wire::Value;

// More than this wait for one pool only if it is far too small: the others come by their own clock.
constexpr std::size_t kMaxWaiting = 1000;
// Pools that somebody waits for. Names of pools that are not there count too.
constexpr std::size_t kMaxPools = 1000;
// Of those that wait when one port becomes free.
constexpr std::size_t kTouchedAtOnce = 8;
// The controller must see that the port is there: a moment after it is.
constexpr Duration kMoment = std::chrono::milliseconds{50};
// In a rolling update the replica before us ends after we have started, and may refuse until then:
// by now it has ended.
constexpr Duration kSecondLook = std::chrono::minutes{1};
// Workloads of one namespace that are in memory at once; they come with their templates.
constexpr std::size_t kPage = 200;

// Workloads whose controllers create Pods and back off.
const std::array<kube::ResourceType, 3>& kinds() {
  static const std::array<kube::ResourceType, 3> kKinds{
      kube::ResourceType{"apps", "v1", "replicasets", "ReplicaSet", true},
      kube::ResourceType{"apps", "v1", "statefulsets", "StatefulSet", true},
      kube::ResourceType{"tkex.tencent.com", "v1alpha1", "gamestatefulsets", "GameStatefulSet",
                         true}};
  return kKinds;
}

const kube::ResourceType* find_kind(std::string_view api_version, std::string_view kind) {
  for (const kube::ResourceType& type : kinds())
    if (type.kind == kind && (api_version.empty() || type.api_version() == api_version))
      return &type;
  return nullptr;
}

}  // namespace

RefusedOwners::RefusedOwners(Tasks& tasks, kube::Client& client, const claims::SlotIndex& slots,
                             metrics::Registry* registry)
    : tasks_(tasks),
      client_(client),
      slots_(slots),
      controller_(tasks,
                  {.name = "refused-owners", .registry = registry, .needs_leadership = false},
                  [this](const Context& c, const Key& k) { return work(c, k); }) {
  controller_.at_start([this] { look_for_forgotten(); });
}

void RefusedOwners::note(const Value& pod, const std::string& ns,
                         const std::vector<ObjectKey>& pools) {
  const wire::Array* owners = wire::array_at(pod, "/metadata/ownerReferences");
  for (const Value& owner : owners ? *owners : wire::Array{}) {
    if (!wire::bool_at(owner, "/controller").value_or(false)) continue;
    const std::string_view kind = wire::string_at(owner, "/kind");
    if (!find_kind(wire::string_at(owner, "/apiVersion"), kind)) continue;
    remember({ns, std::string(kind), std::string(wire::string_at(owner, "/name"))}, pools);
  }
}

void RefusedOwners::remember(const Key& owner, const std::vector<ObjectKey>& pools) {
  const MutexLock lock(mu_);
  for (const ObjectKey& pool : pools) {
    if (waiting_.size() >= kMaxPools && !waiting_.contains(pool)) continue;
    std::deque<Key>& queue = waiting_[pool];
    // Who is refused again has a place already, or goes to the end: the others have their turn.
    if (queue.size() < kMaxWaiting && std::ranges::find(queue, owner) == queue.end())
      queue.push_back(owner);
  }
}

void RefusedOwners::on_room(const ObjectKey& pool, std::size_t ports) {
  std::vector<Key> next;
  {
    const MutexLock lock(mu_);
    const auto it = waiting_.find(pool);
    if (it == waiting_.end()) return;
    while (!it->second.empty() && next.size() < ports * kTouchedAtOnce) {
      next.push_back(std::move(it->second.front()));
      it->second.pop_front();
    }
    if (it->second.empty()) waiting_.erase(it);
  }
  for (const Key& owner : next) controller_.add_after(owner, kMoment);
}

void RefusedOwners::look_for_forgotten() { controller_.add({}, kube::Priority::low); }

Result<kube::Requeue> RefusedOwners::work(const Context& context, const Key& key) {
  if (key.ns.empty()) return list_namespaces(context);
  return key.name.empty() ? look_into(context, key.ns) : touch(context, key);
}

Result<kube::Requeue> RefusedOwners::list_namespaces(const Context& context) {
  const Result<kube::ListPage> all =
      client_.list_all(context, kube::types::kNamespace,
                       {.label_selector = fmt::format("{}=true", api::kInjectLabel)});
  if (!all) return fail(all.error());
  for (const Value& ns : all->items)
    controller_.add({.ns = std::string(wire::string_at(ns, "/metadata/name"))},
                    kube::Priority::low);
  const bool again = !std::exchange(has_looked_, true);
  return again ? kube::Requeue{.after = kSecondLook} : kube::Requeue{};
}

Result<kube::Requeue> RefusedOwners::look_into(const Context& context, const std::string& ns) {
  std::set<ObjectKey> pools;
  for (const kube::ResourceType& type : kinds())
    if (Result<> looked = look_at(context, type, ns, pools); !looked) return pass(looked);
  // Room that came before they were remembered woke nobody.
  for (const ObjectKey& pool : pools) {
    std::size_t free = 0;
    for (const claims::ItemUsage& item : slots_.usage_of(pool)) free += item.usage.free;
    if (free > 0) on_room(pool, free);
  }
  return kube::Requeue{};
}

Result<> RefusedOwners::look_at(const Context& context, const kube::ResourceType& type,
                                const std::string& ns, std::set<ObjectKey>& pools) {
  kube::ListOptions options{.ns = ns, .limit = kPage};
  do {
    const Result<kube::ListPage> page = client_.list(context, type, options);
    // A cluster need not have every kind.
    if (!page && page.error().code == Code::unsupported) return {};
    if (!page) return fail(page.error());
    for (const Value& workload : page->items) {
      const std::vector<ObjectKey> awaited = pools_awaited(workload);
      if (awaited.empty()) continue;
      const std::string_view name = wire::string_at(workload, "/metadata/name");
      remember({ns, type.kind, std::string(name)}, awaited);
      pools.insert(awaited.begin(), awaited.end());
    }
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  return {};
}

Result<kube::Requeue> RefusedOwners::touch(const Context& context, const Key& owner) {
  const kube::ResourceType* const type = find_kind("", owner.kind);
  if (!type) return kube::Requeue{};
  const ObjectKey workload{owner.ns, owner.name};
  Result<Value> touched = touch_for(*type, context, workload);
  if (touched) {
    touched = client_.patch(context, *type, workload, kube::PatchType::merge, *touched,
                            {.subresource = "status"});
  }
  // A custom resource without a status subresource waits for its controller.
  const bool gone = !touched && (touched.error().code == Code::not_found ||
                                 touched.error().code == Code::unsupported);
  if (!touched && !gone) return fail(touched.error());
  return kube::Requeue{};
}

Result<Value> RefusedOwners::touch_for(const kube::ResourceType& type, const Context& context,
                                       const ObjectKey& workload) {
  const std::string now = format_rfc3339_micro(tasks_.wall_time());
  if (type.group == "apps") return annotation_touch(now);
  const Result<Value> found = client_.get(context, type, workload);
  if (!found) return fail(found.error());
  return condition_touch(*found, now);
}

}  // namespace berth::admission
