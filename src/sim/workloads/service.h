// What Services get from a cluster: addresses and node ports, and the endpoints behind them. Pure.
#pragma once

#include "model/port.h"
#include "sim/workloads/write.h"

namespace berth::workloads {

inline constexpr std::int64_t kFirstNodePort = 30000;
inline constexpr std::int64_t kLastNodePort = 32767;
// Endpoints in one slice at most, as the real controller has it.
inline constexpr std::size_t kMaxEndpointsPerSlice = 100;

// What all Services together have in use.
struct ServiceNumbers {
  std::vector<std::string> addresses{};
  std::vector<std::int64_t> node_ports{};
};
ServiceNumbers numbers_in_use(const AnyList& services);

// What is missing of its cluster IP and node ports. An error when the range is used up.
Result<Writes> plan_service(const AnyObject& service, const ServiceNumbers& in_use);

// A node port and the Pods behind it.
struct NodePortLead {
  model::Transport protocol = model::Transport::tcp;
  model::Port port = 0;
  std::vector<model::Target> targets{};  // sorted, none twice
};
// Of a Service that is there; without Pods they lead nowhere. `pods` are those of its namespace.
std::vector<NodePortLead> node_port_leads(const AnyObject& service, const PodList& pods);

struct EndpointsPlan {
  Writes endpoints{};
  Writes slices{};
};
// The Endpoints and EndpointSlices of a Service with a selector. `pods` are those of its namespace;
// `endpoints` may be null; `slices` are those that exist for it.
EndpointsPlan plan_endpoints(const AnyObject& service, const PodList& pods, const AnyPtr& endpoints,
                             const AnyList& slices);

}  // namespace berth::workloads
