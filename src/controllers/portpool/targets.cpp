#include "controllers/portpool/targets.h"

#include "claims/slot.h"
#include "model/listener.h"

namespace berth::controllers::portpool {
namespace {

// The host port of that transport. On the node's own network every protocol has the number of the
// container port, whichever are declared.
std::optional<model::Port> host_port_of(const kube::Pod& pod, model::Port container_port,
                                        model::Transport transport) {
  std::optional<model::Port> same_number;
  for (const kube::ContainerPort& port : pod.ports) {
    if (port.port != container_port || port.host_port == 0) continue;
    if (port.protocol.view() == model::to_string(transport)) return port.host_port;
    if (port.host_port == port.port) same_number = port.host_port;
  }
  return same_number;
}

std::optional<model::Target> target_of(const api::ListenerSpec& spec, const kube::Pod& pod,
                                       const api::PortBindingItem& entry) {
  const auto container_port = static_cast<model::Port>(entry.rs_start_port);
  if (!entry.host_port) {
    if (pod.ips.empty()) return std::nullopt;
    return model::Target{pod.ips.front(), container_port};
  }
  const Result<model::Protocol> protocol = api::parse_pool_protocol(spec.protocol);
  if (pod.host_ip.view().empty() || !protocol) return std::nullopt;
  const auto host_port = host_port_of(pod, container_port, api::pool_transport(*protocol));
  if (!host_port) return std::nullopt;
  return model::Target{std::string(pod.host_ip.view()), *host_port};
}

}  // namespace

api::ListenerSpec without_target(api::ListenerSpec spec) {
  spec.target_group.reset();
  for (api::ListenerRule& rule : spec.rules) rule.target_group.reset();
  return spec;
}

api::ListenerSpec spec_for(const api::ListenerSpec& spec, const kube::Pod& pod,
                           const api::PortBindingItem& entry) {
  api::ListenerSpec out = without_target(spec);
  const std::optional<model::Target> target = target_of(spec, pod, entry);
  if (!target) return out;
  const std::int64_t weight = pod.meta.deleting ? 0 : std::int64_t{model::kDefaultWeight};
  out.target_group = api::ListenerTargetGroup{
      .protocol = spec.protocol,
      .backends = {{.ip = target->ip, .port = target->port, .weight = weight}}};
  return out;
}

bool names(const api::ListenerSpec& spec, const kube::Pod& pod, const api::PortBindingItem& entry) {
  if (!spec.target_group || spec.target_group->backends.size() != 1) return false;
  const api::ListenerBackend& backend = spec.target_group->backends.front();
  const std::optional<model::Target> target = target_of(spec, pod, entry);
  return target && target->ip == backend.ip && target->port == backend.port;
}

bool leads_to(const api::Listener& listener, const kube::Pod& pod,
              const api::PortBindingItem& entry) {
  return claims::has_targets(listener.spec) && claims::are_targets_applied(listener) &&
         spec_for(listener.spec, pod, entry) == listener.spec;
}

}  // namespace berth::controllers::portpool
