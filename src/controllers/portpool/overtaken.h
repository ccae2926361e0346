// What a reconcile does whose write found its object changed or gone.
#pragma once

#include "base/time.h"
#include "kube/client/client.h"

namespace berth::controllers::portpool {

using kube::was_overtaken;

// What overtook us may have come and gone before we looked, or concern us so little that no change
// brings the key back. The caches have caught up by then.
inline constexpr Duration kCatchUp = std::chrono::seconds{1};

}  // namespace berth::controllers::portpool
