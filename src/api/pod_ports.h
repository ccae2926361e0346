// What a Pod says about the ports it wants, and what it is told about those it got: annotations, as
// users of bcs-ingress-controller have them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/port_binding.h"
#include "api/port_pool.h"
#include "base/result.h"
#include "kube/client/resource.h"
#include "model/port.h"
#include "wire/value.h"

namespace berth::api {

// On the Pod's template, by the user.
inline constexpr std::string_view kPortPoolsAnnotation =
    "portpools.networkextension.bkbcs.tencent.com";
inline constexpr std::string_view kPortsAnnotation =
    "ports.portpools.networkextension.bkbcs.tencent.com";
// How long the ports wait for a Pod of the same name: a Go duration (api/go_duration.h).
inline constexpr std::string_view kKeepDurationAnnotation =
    "keepduration.portbinding.bkbcs.tencent.com";
// Its presence asks for a readiness gate on the condition below.
inline constexpr std::string_view kReadinessGateAnnotation =
    "readinessgate.portpools.networkextension.bkbcs.tencent.com";
// On the Pod, by us.
inline constexpr std::string_view kPoolBindingsAnnotation =
    "poolbindings.portpool.networkextension.bkbcs.tencent.com";
inline constexpr std::string_view kBindStatusAnnotation =
    "status.portpools.networkextension.bkbcs.tencent.com";
// On a namespace whose Pods may use port pools.
inline constexpr std::string_view kInjectLabel = "bcs-ingress-controller-inject";

// The condition of the readiness gate. Reasons are kReady and kNotReady; the texts are those that
// users' programs have always seen, their spelling included.
inline constexpr std::string_view kPortsReadyCondition =
    "networkextension.bkbcs.tencent.com/portbinding-ready";
inline constexpr std::string_view kPortsReadyMessage = "ports ares binded for the pod";
inline constexpr std::string_view kPortsNotReadyMessage = "port are not bound to the pod";

// One line of the ports annotation: `POOL PORT` or `POOL PROTOCOL PORT`.
struct PortRequest {
  kube::ObjectKey pool{};
  std::string item{};                        // empty: any
  std::vector<model::Protocol> protocols{};  // TCP before UDP; empty: those of the container port
  std::string port_name{};                   // of a container port; empty: by number
  model::Port port = 0;
  bool host_port = false;
};

// More than any Pod was seen to need; each line costs a write at admission.
inline constexpr std::size_t kMaxPortRequests = 64;

// Lines are separated by newlines, or by `;` where there is none; blank ones are passed over. A
// pool is `name` (in the Pod's namespace), `name.namespace`, `name/item` or `name/item.namespace`.
// PROTOCOL is TCP, UDP, TCP_UDP or TCP_SSL; left out, it is the container port's. PORT is a
// container port's number or name, with `/hostport` behind it for the node's port. Errors quote the
// line and say what is allowed.
Result<std::vector<PortRequest>> parse_port_requests(std::string_view annotation,
                                                     std::string_view pod_namespace);

// What a Pod is told of a slot that it has in an item of a pool.
PortBindingItem told_of(const kube::ObjectKey& pool, const PortPoolItemStatus& item,
                        model::Protocol protocol, model::PortRange ports, model::PodPort pod_port);

// The annotation's text: JSON with the fields in the order in which users' programs have always
// seen them.
std::string encode_pool_bindings(const std::vector<PortBindingItem>& bindings);
// Protocols and ports are checked: they are sound when this succeeds.
Result<std::vector<PortBindingItem>> decode_pool_bindings(std::string_view annotation);

}  // namespace berth::api
