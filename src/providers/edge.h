// The edge load balancer as a part of a process: its driver, its metrics, its draining, and where
// it leads nobody.
#pragma once

#include "app/driver_set.h"
#include "edge/driver.h"

namespace berth::providers {

// `serves`: as in DriverPart.
Result<app::DriverPart> start_edge(edge::EdgeOptions options,
                                   std::vector<model::Provider> serves = {model::Provider::edge});

}  // namespace berth::providers
