// Ingresses: ports of load balancers that lead to Services, and to the Pods of a workload one by
// one.
#pragma once

#include "module/platform.h"
#include "report/part.h"

namespace berth::modules::ingress {

inline constexpr std::string_view kName = "ingress";

module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);
extern const report::Part kReport;

}  // namespace berth::modules::ingress
