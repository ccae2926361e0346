#include "app/modules.h"

#include "modules/core/module.h"
#include "modules/host_ports/module.h"
#include "modules/ingress/module.h"
#include "modules/port_pools/module.h"

namespace berth::app {
namespace {

// A new front end is its folder and a line here.
constexpr module::Module kModules[] = {
    {modules::core::declare, modules::core::build},
    {modules::port_pools::declare, modules::port_pools::build, &modules::port_pools::kReport},
    {modules::ingress::declare, modules::ingress::build, &modules::ingress::kReport},
    {modules::host_ports::declare, modules::host_ports::build, &modules::host_ports::kReport},
};

}  // namespace

std::span<const module::Module> all_modules() { return kModules; }

module::Declarations all_declarations(const Config& config) {
  module::Declarations out;
  for (const module::Module& one : kModules) out.push_back(one.declare(config));
  return out;
}

report::Parts all_report_parts() {
  report::Parts out;
  for (const module::Module& one : kModules)
    if (one.report) out.push_back(one.report);
  return out;
}

}  // namespace berth::app
