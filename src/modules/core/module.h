// The core: Listeners and LoadBalancers, the engine that makes providers look as they wish, grants,
// and what a replica needs to be one of several. Every front end stands on it; it is always on.
#pragma once

#include "module/platform.h"

namespace berth::modules::core {

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);

}  // namespace berth::modules::core
