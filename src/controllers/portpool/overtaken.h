// What a reconcile does whose write found its object changed or gone.
#pragma once

#include "frontend/steps.h"

namespace berth::controllers::portpool {

using frontend::kCatchUp;
using kube::was_overtaken;

}  // namespace berth::controllers::portpool
