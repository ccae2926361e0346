// What a scheduler and a kubelet say about a Pod. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/port.h"
#include "sim/workloads/any_object.h"

namespace berth::workloads {

struct HostPort {
  std::string ip{};  // empty: every address of the node
  model::Transport protocol = model::Transport::tcp;
  model::Port port = 0;
  model::Port container_port = 0;
};
std::vector<HostPort> host_ports(const wire::Value& pod);
bool conflict(const std::vector<HostPort>& one, const std::vector<HostPort>& other);

// The status of a Pod that no node has the host ports for.
wire::Object unschedulable_status(const wire::Value& pod, WallTime now);

// A Pod on a node.
struct RunningPod {
  std::string address{};  // empty: it has none yet
  std::string host_address{};
  WallTime started{};
  std::string trouble{};  // why its containers cannot run; empty: they do
};

// When its containers count as ready: after the delays of their probes.
WallTime ready_at(const wire::Value& pod, WallTime started);
// The whole status. Conditions that others put there, such as those of readiness gates, are kept;
// Ready waits for the gates. A container whose image has changed counts as restarted.
wire::Object running_status(const wire::Value& pod, const RunningPod& running, WallTime now);

// How long a Pod takes to end: what its preStop hooks sleep, and a moment more, within its grace.
Duration stop_time(const wire::Value& pod);

// The Node itself.
wire::Value node_object(const std::string& name, const std::string& address, WallTime now);

}  // namespace berth::workloads
