// What a Pod says about the ports it wants, and what it is told about those it got: annotations, as
// users of bcs-ingress-controller have them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
// On the Pod, by us.
inline constexpr std::string_view kPoolBindingsAnnotation =
    "poolbindings.portpool.networkextension.bkbcs.tencent.com";
inline constexpr std::string_view kBindStatusAnnotation =
    "status.portpools.networkextension.bkbcs.tencent.com";
// On a namespace whose Pods may use port pools.
inline constexpr std::string_view kInjectLabel = "bcs-ingress-controller-inject";

// One line of the ports annotation: `POOL PROTOCOL PORT`.
struct PortRequest {
  kube::ObjectKey pool{};
  model::Protocol protocol = model::Protocol::tcp;
  model::Port container_port = 0;
};

// Lines are separated by newlines, or by `;` where there is none. A pool is `name` (in the Pod's
// namespace) or `name.namespace`. Errors quote the line and say what is allowed.
Result<std::vector<PortRequest>> parse_port_requests(std::string_view annotation,
                                                     std::string_view pod_namespace);

// A port that a Pod got; an entry of the poolbindings annotation.
struct PoolBinding {
  kube::ObjectKey pool{};
  std::string item{};
  std::string load_balancer_id{};
  std::string address{};
  model::Protocol protocol = model::Protocol::tcp;
  model::Port port = 0;
  model::Port container_port = 0;
  std::string external{};
};

// The annotation's text: JSON with the fields in the order in which users' programs have always
// seen them.
std::string encode_pool_bindings(const std::vector<PoolBinding>& bindings);
Result<std::vector<PoolBinding>> decode_pool_bindings(std::string_view annotation);

}  // namespace berth::api
