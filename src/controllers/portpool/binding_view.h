// What the caches say of one Pod's ports, put together for binding_plan.h. Pure lookups: nothing is
// written or remembered, and time comes in as a parameter.
#pragma once

#include <functional>

#include "claims/seal.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/caches.h"

namespace berth::controllers::portpool {

struct Circumstances {
  WallTime now{};
  Duration quarantine{};
  Duration max_keep = ledger::kMaxKeep;
  // For how long this process has seen the lock with the claim that it has.
  std::function<Duration(const api::Listener& lock)> age_of{};
};

// All but `server_uid` and `lost_for`, which no cache knows. The caches have the indexes of
// claims/slot.h and pod_index.h, and live longer than the view.
BindingView view_binding(const kube::ObjectKey& key, const Caches& caches,
                         const claims::Sealer& sealer, const Circumstances& circumstances);

}  // namespace berth::controllers::portpool
