// A front end of one small kind: a Stage gives an address a port of a load balancer.
#pragma once

#include <memory>

#include "module/platform.h"

namespace berth::example::stages {

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);

}  // namespace berth::example::stages
