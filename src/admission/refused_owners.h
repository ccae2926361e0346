// Remembers the workloads whose Pods were refused because a pool was full, and touches them when it
// has room: their controllers would wait for up to 1,000 seconds by themselves.
//
// Each replica remembers its own refusals; one that restarts forgets them, and the workloads come
// by their own clock. Thread-safe; owned by the composition root and run by the Manager.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kube/client/client.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

// Written on the workload: it changes nothing but makes its controller look.
inline constexpr std::string_view kRetryAnnotation = "berth.dev/retry";

class RefusedOwners {
 public:
  RefusedOwners(Tasks& tasks, kube::Client& client, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_); }

  // The Pod's controller, if it is of a kind that waits; others are passed over.
  void note(const wire::Value& pod, const std::string& ns,
            const std::vector<kube::ObjectKey>& pools);
  // A port of the pool can be had again.
  void on_room(const kube::ObjectKey& pool);

 private:
  Result<kube::Requeue> touch(const Context& context, const kube::ObjectKey& key);

  Tasks& tasks_;
  kube::Client& client_;
  Mutex mu_;
  // By pool: the owners that wait for it, as queue keys ("namespace", "Kind/name").
  std::map<kube::ObjectKey, std::set<kube::ObjectKey>> waiting_ GUARDED_BY(mu_);
  kube::Controller controller_;
};

}  // namespace berth::admission
