#include "admission/host_ports.h"

#include <algorithm>
#include <boost/json.hpp>

#include "admission/pod_patch.h"
#include "api/host_ports.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;
using model::Port;
using wire::Value;

constexpr Duration kPollInterval = std::chrono::milliseconds{20};

// A Pod that has ended holds nothing; one that is being deleted does until it is gone.
std::vector<Port> held_ports(const kube::Pod* pod) {
  std::vector<Port> ports;
  if (!pod || pod->finished()) return ports;
  for (const kube::ContainerPort& port : pod->ports) {
    if (port.host_port != 0) ports.push_back(port.host_port);
  }
  std::ranges::sort(ports);
  const auto twice = std::ranges::unique(ports);  // TCP and UDP
  ports.erase(twice.begin(), twice.end());
  return ports;
}

std::vector<Port> ports_of(const std::vector<GivenHostPort>& given) {
  std::vector<Port> ports;
  for (const GivenHostPort& port : given) ports.push_back(port.host_port);
  return ports;
}

}  // namespace

void HostPorts::follow(kube::Store<kube::Pod>& pods) {
  pods_ = &pods;
  pods.on_change([this](const kube::Change<kube::Pod>& change) { see(change); });
}

void HostPorts::see(const kube::Change<kube::Pod>& change) {
  const std::vector<Port> before = held_ports(change.before.get());
  std::vector<Port> after = held_ports(change.after.get());
  if (before == after) return;
  const MutexLock lock(mu_);
  use_.remove_pod(before);
  if (!after.empty()) use_.add_pod(std::string(change.after->meta.ns.view()), std::move(after));
}

Result<AdmissionAnswer> HostPorts::admit(const Context& context, const AdmissionRequest& request) {
  if (request.operation != "CREATE" || !request.subresource.empty() ||
      annotation_of(request.object, api::kHostPortAnnotation) != "true") {
    return AdmissionAnswer{};
  }
  if (Result<> ready = wait_for_cache(context); !ready)
    return fail(std::move(ready.error()).about(request.describe()));
  if (Result<> possible = check_network(request.object); !possible)
    return fail(std::move(possible.error()).about(request.describe()));

  Value pod = request.object;
  remove_host_ports(pod);
  Result<std::vector<WantedHostPort>> wanted = wanted_host_ports(pod);
  if (!wanted) return fail(std::move(wanted.error()).about(request.describe()));
  Wish wish{.wanted = std::move(*wanted), .carried = carried_host_ports(pod), .fixed = {}};
  wish.fixed = fixed_host_ports(pod, wish.wanted);
  Result<std::vector<GivenHostPort>> given = give(request, std::move(wish), context.tasks.now());
  if (!given) return pass(given);
  put_host_ports(pod, *given, has_annotation(pod, api::kRandomContainerPortAnnotation));

  AdmissionAnswer answer;
  answer.patch = patch_between(request.object, pod);
  for (const GivenHostPort& port : *given) {
    answer.warnings.push_back(fmt::format("port {} is reached at host port {} of the Pod's node{}",
                                          port.wanted.container_port, port.host_port,
                                          request.dry_run ? " (dry run: not reserved)" : ""));
  }
  return answer;
}

// Right after a start nothing is counted yet: a choice would be blind.
Result<> HostPorts::wait_for_cache(const Context& context) const {
  while (pods_ && !pods_->synced()) {
    if (context.expired()) {
      return fail(error_of(Code::unavailable, "host ports in use are not known yet")
                      .with_hint("Berth has just started: try again in a moment"));
    }
    (void)sleep_for(context.tasks, kPollInterval, context.stop);
  }
  return {};
}

// The ports that the Pod carries are its own when we gave them moments ago and no Pod has them yet:
// we are called again, because another webhook changed the Pod. Otherwise its manifest was copied
// from a Pod that has them, and it gets others.
Result<std::vector<GivenHostPort>> HostPorts::give(const AdmissionRequest& request, Wish wish,
                                                   Instant now) {
  std::vector<GivenHostPort> given;
  for (WantedHostPort& port : wish.wanted) {
    const auto own = wish.carried.find(port.container_port);
    given.push_back({std::move(port), own == wish.carried.end() ? Port{0} : own->second});
  }
  const MutexLock lock(mu_);
  use_.expire(now);
  const bool has_all =
      std::ranges::none_of(given, [](const GivenHostPort& port) { return port.host_port == 0; });
  if (has_all && use_.is_reserved(request.ns, ports_of(given), now)) return given;
  Result<std::vector<Port>> chosen = use_.choose(given.size(), random_, wish.fixed);
  if (!chosen) {
    return fail(std::move(chosen.error())
                    .about(request.describe())
                    .at(fmt::format("metadata.annotations[{}]", api::kHostPortPortsAnnotation))
                    .with_hint("the range is set with --host-ports of `berth controller`"));
  }
  for (std::size_t i = 0; i < given.size(); ++i) given[i].host_port = (*chosen)[i];
  if (!request.dry_run) use_.reserve(request.ns, std::move(*chosen), now);
  return given;
}

}  // namespace berth::admission
