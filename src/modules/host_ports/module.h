// Random host ports: Pods that ask for them get free ports of their node when they are created.
#pragma once

#include "module/platform.h"
#include "report/part.h"

namespace berth::modules::host_ports {

inline constexpr std::string_view kName = "host-ports";

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);
extern const report::Part kReport;

}  // namespace berth::modules::host_ports
