// Remembers the workloads whose Pods were refused because a pool was full, and touches them when it
// has room: their controllers would wait for up to 1,000 seconds by themselves. Touches go through
// the status subresource: a right to patch workloads is one to rewrite their Pods.
//
// Each replica remembers its own refusals. What replicas before it forgot when they ended, it reads
// from the cluster: workloads that ask for ports and have fewer Pods than they want. Thread-safe;
// owned by the composition root and run by the Manager.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "claims/slot_index.h"
#include "kube/client/client.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

class RefusedOwners {
 public:
  // A workload to be touched; without a name, a namespace to be looked into; without that, all of
  // them.
  struct Key {
    std::string ns{};
    std::string kind{};
    std::string name{};

    kube::ObjectKey queued() const {
      return {ns, name.empty() ? std::string() : fmt::format("{}/{}", kind, name)};
    }
    static Key from_queue(const kube::ObjectKey& key) {
      const std::size_t slash = std::min(key.name.find('/'), key.name.size());
      return {key.ns, key.name.substr(0, slash),
              slash < key.name.size() ? key.name.substr(slash + 1) : std::string()};
    }
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  RefusedOwners(Tasks& tasks, kube::Client& client, const claims::SlotIndex& slots,
                metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }

  // The Pod's controller, if it is of a kind that waits; others are passed over.
  void note(const wire::Value& pod, const std::string& ns,
            const std::vector<kube::ObjectKey>& pools);
  // Ports of the pool can be had again.
  void on_room(const kube::ObjectKey& pool, std::size_t ports = 1);
  // A replica has ended that may have remembered some. Every one looks when it starts.
  void look_for_forgotten();

 private:
  Result<kube::Requeue> work(const Context& context, const Key& key);
  Result<kube::Requeue> list_namespaces(const Context& context);
  Result<kube::Requeue> look_into(const Context& context, const std::string& ns);
  Result<> look_at(const Context& context, const kube::ResourceType& type, const std::string& ns,
                   std::set<kube::ObjectKey>& pools);
  void remember(const Key& owner, const std::vector<kube::ObjectKey>& pools);
  Result<kube::Requeue> touch(const Context& context, const Key& owner);
  Result<wire::Value> touch_for(const kube::ResourceType& type, const Context& context,
                                const kube::ObjectKey& workload);

  Tasks& tasks_;
  kube::Client& client_;
  const claims::SlotIndex& slots_;
  Mutex mu_;
  // By pool: the owners that wait for it, first come first.
  std::map<kube::ObjectKey, std::deque<Key>> waiting_ GUARDED_BY(mu_);
  kube::ControllerOf<Key> controller_;
  bool has_looked_ = false;  // of the only worker
};

}  // namespace berth::admission
