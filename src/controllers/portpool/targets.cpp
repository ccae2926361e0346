#include "controllers/portpool/targets.h"

#include "claims/slot.h"
#include "model/listener.h"

namespace berth::controllers::portpool {
namespace {

std::optional<model::Target> target_of(const kube::Pod& pod, const api::PortBindingItem& entry) {
  const auto container_port = static_cast<model::Port>(entry.rs_start_port);
  if (!entry.host_port) {
    if (pod.ips.empty()) return std::nullopt;
    return model::Target{pod.ips.front(), container_port};
  }
  if (pod.host_ip.view().empty()) return std::nullopt;
  for (const kube::ContainerPort& port : pod.ports) {
    if (port.port == container_port && port.host_port != 0)
      return model::Target{std::string(pod.host_ip.view()), port.host_port};
  }
  return std::nullopt;
}

}  // namespace

api::ListenerSpec without_target(api::ListenerSpec spec) {
  spec.target_group.reset();
  return spec;
}

api::ListenerSpec spec_for(const api::ListenerSpec& spec, const kube::Pod& pod,
                           const api::PortBindingItem& entry) {
  api::ListenerSpec out = without_target(spec);
  const std::optional<model::Target> target = target_of(pod, entry);
  if (!target) return out;
  const std::int64_t weight = pod.meta.deleting ? 0 : std::int64_t{model::kDefaultWeight};
  out.target_group = api::ListenerTargetGroup{
      .protocol = spec.protocol,
      .backends = {{.ip = target->ip, .port = target->port, .weight = weight}}};
  return out;
}

bool leads_to(const api::Listener& listener, const kube::Pod& pod,
              const api::PortBindingItem& entry) {
  return claims::has_targets(listener.spec) && claims::are_targets_applied(listener) &&
         spec_for(listener.spec, pod, entry) == listener.spec;
}

}  // namespace berth::controllers::portpool
