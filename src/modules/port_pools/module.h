// Port pools: PortPools get their ports, Pods that ask get some of them when they are created, and
// PortBindings say which.
#pragma once

#include "module/platform.h"
#include "report/part.h"

namespace berth::modules::port_pools {

inline constexpr std::string_view kName = "port-pools";

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);
extern const report::Part kReport;

}  // namespace berth::modules::port_pools
