// Random host ports: Pods that ask for them get free ports of their node when they are created.
#pragma once

#include "module/platform.h"

namespace berth::modules::host_ports {

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);

}  // namespace berth::modules::host_ports
