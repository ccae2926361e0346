// Names of Listeners are upstream's, which leave region and account out, and sometimes the
// transport: two load balancers, or TCP and UDP of one, may give one name. Who comes second gets
// its other name, or a suffix made of its load balancer, and keeps it. Pure over the caches.
#pragma once

#include <vector>

#include "frontend/survey.h"

namespace berth::frontend {

// Before anything is looked for by its name. Slots keep theirs: whoever claims one finds it by it,
// so their owners must not want two of one name.
void settle_names(const Owner& owner, std::vector<WantedPart>& parts, const Sight& sight);

}  // namespace berth::frontend
