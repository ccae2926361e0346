#include "modules/port_pools/report.h"

#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "modules/port_pools/module.h"

namespace berth::modules::port_pools {
namespace {

std::vector<const api::KindInfo*> kinds() {
  return {&api::port_pool_kind(), &api::port_binding_kind()};
}

constexpr std::string_view kKeys[] = {api::kPortPoolsAnnotation, api::kPortsAnnotation,
                                      api::kKeepDurationAnnotation, api::kReadinessGateAnnotation};

}  // namespace

const report::Part kReport{.module = kName,
                           .kinds = kinds,
                           .add_status = add_status,
                           .is_asked = is_asked,
                           .tell = tell,
                           .is_served = is_served,
                           .kept_for = kept_for,
                           .keys = kKeys,
                           .listeners_of = listeners_of};

}  // namespace berth::modules::port_pools
