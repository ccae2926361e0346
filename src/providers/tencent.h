// Tencent's Cloud Load Balancer as a part of a process: its driver with the credentials that it is
// called with (tencent_credentials.h).
#pragma once

#include <memory>

#include "app/driver_set.h"
#include "cloud/tencent/credentials.h"
#include "cloud/tencent/options.h"
#include "net/transport.h"

namespace berth::providers {

// Both outlive the part. `invalid` credentials are told when something is asked of the cloud: a
// process that serves others beside it goes on.
// Without a source, its credentials are those of the settings.
app::DriverPart start_tencent(
    Tasks& tasks, net::Transport& transport, cloud::tencent::Settings settings,
    std::shared_ptr<cloud::tencent::CredentialSource> credentials = nullptr);

}  // namespace berth::providers
