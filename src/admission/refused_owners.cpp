#include "admission/refused_owners.h"

#include <array>
#include <boost/json.hpp>

namespace berth::admission {
namespace {

using kube::ObjectKey;
using wire::Object;
using wire::Value;

// More than this wait for one pool only if it is far too small: the others come by their own clock.
constexpr std::size_t kMaxWaiting = 1000;
// Of those that wait when one port becomes free.
constexpr std::size_t kTouchedAtOnce = 8;
// The controller must see that the port is there: a moment after it is.
constexpr Duration kMoment = std::chrono::milliseconds{50};

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

RefusedOwners::RefusedOwners(Tasks& tasks, kube::Client& client, metrics::Registry* registry)
    : tasks_(tasks),
      client_(client),
      controller_(tasks,
                  {.name = "refused-owners", .registry = registry, .needs_leadership = false},
                  [this](const Context& c, const ObjectKey& k) { return touch(c, k); }) {}

void RefusedOwners::note(const Value& pod, const std::string& ns,
                         const std::vector<ObjectKey>& pools) {
  const wire::Array* owners = wire::array_at(pod, "/metadata/ownerReferences");
  for (const Value& owner : owners ? *owners : wire::Array{}) {
    if (!wire::bool_at(owner, "/controller").value_or(false)) continue;
    const std::string_view kind = wire::string_at(owner, "/kind");
    if (!find_kind(wire::string_at(owner, "/apiVersion"), kind)) continue;
    const ObjectKey key{ns, fmt::format("{}/{}", kind, wire::string_at(owner, "/name"))};
    const MutexLock lock(mu_);
    for (const ObjectKey& pool : pools)
      if (waiting_[pool].size() < kMaxWaiting) waiting_[pool].insert(key);
  }
}

void RefusedOwners::on_room(const ObjectKey& pool) {
  std::vector<ObjectKey> next;
  {
    const MutexLock lock(mu_);
    const auto it = waiting_.find(pool);
    if (it == waiting_.end()) return;
    while (!it->second.empty() && next.size() < kTouchedAtOnce) {
      next.push_back(*it->second.begin());
      it->second.erase(it->second.begin());
    }
    if (it->second.empty()) waiting_.erase(it);
  }
  for (const ObjectKey& owner : next) controller_.queue().add_after(owner, kMoment);
}

Result<kube::Requeue> RefusedOwners::touch(const Context& context, const ObjectKey& key) {
  const std::size_t slash = key.name.find('/');
  const kube::ResourceType* const type = find_kind("", key.name.substr(0, slash));
  if (!type) return kube::Requeue{};
  const Object annotations{{kRetryAnnotation, format_rfc3339_micro(tasks_.wall_time())}};
  const Result<Value> touched =
      client_.patch(context, *type, {key.ns, key.name.substr(slash + 1)}, kube::PatchType::merge,
                    Object{{"metadata", Object{{"annotations", annotations}}}});
  const bool gone = !touched && (touched.error().code == Code::not_found ||
                                 touched.error().code == Code::unsupported);
  if (!touched && !gone) return fail(touched.error());
  return kube::Requeue{};
}

}  // namespace berth::admission
