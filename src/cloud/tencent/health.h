// What the cloud's health checks say, asked for as lb::PolledHealth asks. Thread-safe.
#pragma once

#include "cloud/tencent/api.h"
#include "lb/polled_health.h"

namespace berth::cloud::tencent {

// Where no check is made, targets get traffic and are healthy. The API outlives what is returned.
lb::PolledHealth::Ask ask_health(Api& api);

}  // namespace berth::cloud::tencent
