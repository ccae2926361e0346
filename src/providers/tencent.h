// Tencent's Cloud Load Balancer as a part of a process: its driver with the credentials of the
// process.
#pragma once

#include "app/driver_set.h"
#include "cloud/tencent/options.h"
#include "net/transport.h"

namespace berth::providers {

// Both outlive the part. `invalid` credentials are told when something is asked of the cloud: a
// process that serves others beside it goes on.
app::DriverPart start_tencent(Tasks& tasks, net::Transport& transport,
                              cloud::tencent::Settings settings);

}  // namespace berth::providers
