#include "sim/workloads/pod_status.h"

#include <algorithm>
#include <boost/json.hpp>

#include "crypto/digest.h"

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// What a server process needs to end after it was told so.
constexpr Duration kStopMoment = std::chrono::milliseconds{200};

template <class Visit>
void for_each_container(const Value& pod, Visit visit) {
  for (const Value& container : array_or_empty(pod, "/spec/containers")) visit(container);
}

const Value* status_of(const Array& statuses, std::string_view name) {
  const auto found = std::ranges::find_if(
      statuses, [&](const Value& one) { return wire::string_at(one, "/name") == name; });
  return found == statuses.end() ? nullptr : &*found;
}

std::string container_id(const Value& pod, std::string_view name, std::int64_t restarts) {
  return "loopback://" + crypto::sha256_hex(fmt::format(
                             "{}/{}/{}", wire::string_at(pod, "/metadata/uid"), name, restarts));
}

Object waiting_container(const Value& container, const std::string& trouble) {
  return {{"name", wire::string_at(container, "/name")},
          {"image", wire::string_at(container, "/image")},
          {"imageID", ""},
          {"ready", false},
          {"started", false},
          {"restartCount", 0},
          {"state",
           Object{{"waiting", Object{{"reason", "RunContainerError"}, {"message", trouble}}}}}};
}

Object running_container(const Value& pod, const Value& container, const Value* before,
                         WallTime started, bool ready, WallTime now) {
  const std::string_view name = wire::string_at(container, "/name");
  const std::string_view image = wire::string_at(container, "/image");
  std::string since = format_rfc3339(started);
  std::int64_t restarts = 0;
  if (before != nullptr) {
    const std::string_view known = wire::string_at(*before, "/state/running/startedAt");
    if (!known.empty()) since = known;
    restarts = int_or(*before, "/restartCount", 0);
    const bool replaced = !known.empty() && wire::string_at(*before, "/image") != image;
    if (replaced) since = format_rfc3339(now);
    if (replaced) ++restarts;
  }
  return {{"name", name},
          {"image", image},
          {"imageID", fmt::format("loopback://{}", image)},
          {"containerID", container_id(pod, name, restarts)},
          {"ready", ready},
          {"started", true},
          {"restartCount", restarts},
          {"state", Object{{"running", Object{{"startedAt", since}}}}}};
}

Object ended_container(const Value& pod, const Value& container, WallTime started) {
  const std::string_view name = wire::string_at(container, "/name");
  const std::string time = format_rfc3339(started);
  return {{"name", name},
          {"image", wire::string_at(container, "/image")},
          {"imageID", fmt::format("loopback://{}", wire::string_at(container, "/image"))},
          {"containerID", container_id(pod, name, 0)},
          {"ready", true},
          {"started", false},
          {"restartCount", 0},
          {"state", Object{{"terminated", Object{{"exitCode", 0},
                                                 {"reason", "Completed"},
                                                 {"startedAt", time},
                                                 {"finishedAt", time}}}}}};
}

struct Gates {
  bool hold = true;
  std::string message{};
};

Gates look_at_gates(const Value& pod, const Array& conditions) {
  Gates out;
  for (const Value& gate : array_or_empty(pod, "/spec/readinessGates")) {
    const std::string_view type = wire::string_at(gate, "/conditionType");
    const Value* found = find_condition(conditions, type);
    const std::string_view status = found ? wire::string_at(*found, "/status") : "";
    if (status == "True") continue;
    out.hold = false;
    if (!out.message.empty()) out.message += ", ";
    out.message +=
        found == nullptr
            ? fmt::format("corresponding condition of pod readiness gate \"{}\" does not exist.",
                          type)
            : fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}", type,
                          status);
  }
  return out;
}

std::string names_of_containers(const Value& pod) {
  std::string names;
  for_each_container(pod, [&](const Value& container) {
    if (!names.empty()) names += ' ';
    names += wire::string_at(container, "/name");
  });
  return names;
}

void put_conditions(const Value& pod, bool containers_ready, Array& conditions, WallTime now) {
  const std::string unready = containers_ready ? ""
                                               : fmt::format("containers with unready status: [{}]",
                                                             names_of_containers(pod));
  const std::string_view reason = containers_ready ? "" : "ContainersNotReady";
  const Gates gates = look_at_gates(pod, conditions);
  set_condition(conditions, {.type = "PodReadyToStartContainers"}, now);
  set_condition(conditions, {.type = "Initialized"}, now);
  if (!containers_ready) {
    set_condition(conditions,
                  {.type = "Ready", .holds = false, .reason = reason, .message = unready}, now);
  } else if (!gates.hold) {
    set_condition(conditions,
                  {.type = "Ready",
                   .holds = false,
                   .reason = "ReadinessGatesNotReady",
                   .message = gates.message},
                  now);
  } else {
    set_condition(conditions, {.type = "Ready"}, now);
  }
  set_condition(
      conditions,
      {.type = "ContainersReady", .holds = containers_ready, .reason = reason, .message = unready},
      now);
  set_condition(conditions, {.type = "PodScheduled"}, now);
}

}  // namespace

std::vector<HostPort> host_ports(const Value& pod) {
  std::vector<HostPort> out;
  const bool on_host = wire::bool_at(pod, "/spec/hostNetwork").value_or(false);
  for_each_container(pod, [&](const Value& container) {
    for (const Value& port : array_or_empty(container, "/ports")) {
      const std::int64_t inside = int_or(port, "/containerPort", 0);
      const std::int64_t number = int_or(port, "/hostPort", on_host ? inside : 0);
      const auto protocol = model::parse_transport(wire::string_at(port, "/protocol"));
      if (number == 0 || !protocol) continue;
      const std::string_view ip = wire::string_at(port, "/hostIP");
      out.push_back({.ip = ip == "0.0.0.0" ? "" : std::string(ip),
                     .protocol = *protocol,
                     .port = static_cast<model::Port>(number),
                     .container_port = static_cast<model::Port>(inside)});
    }
  });
  return out;
}

bool conflict(const std::vector<HostPort>& one, const std::vector<HostPort>& other) {
  return std::ranges::any_of(one, [&](const HostPort& a) {
    return std::ranges::any_of(other, [&](const HostPort& b) {
      return a.port == b.port && a.protocol == b.protocol &&
             (a.ip.empty() || b.ip.empty() || a.ip == b.ip);
    });
  });
}

Object unschedulable_status(const Value& pod, WallTime now) {
  Object status = object_or_empty(pod, "/status");
  Array conditions = array_or_empty(pod, "/status/conditions");
  set_condition(conditions,
                {.type = "PodScheduled",
                 .holds = false,
                 .reason = "Unschedulable",
                 .message = "0/1 nodes are available: 1 node(s) didn't have free ports for the "
                            "requested pod ports."},
                now);
  status["phase"] = "Pending";
  status["conditions"] = std::move(conditions);
  return status;
}

WallTime ready_at(const Value& pod, WallTime started) {
  std::int64_t longest = 0;
  for_each_container(pod, [&](const Value& container) {
    longest = std::max(longest, int_or(container, "/startupProbe/initialDelaySeconds", 0) +
                                    int_or(container, "/readinessProbe/initialDelaySeconds", 0));
  });
  return started + std::chrono::seconds{longest};
}

Object running_status(const Value& pod, const RunningPod& running, WallTime now) {
  Object status = object_or_empty(pod, "/status");
  const Array before = array_or_empty(pod, "/status/containerStatuses");
  const bool well = running.trouble.empty();
  const bool ready = well && now >= ready_at(pod, running.started);
  Array containers;
  for_each_container(pod, [&](const Value& container) {
    const Value* known = status_of(before, wire::string_at(container, "/name"));
    containers.push_back(well
                             ? running_container(pod, container, known, running.started, ready, now)
                             : waiting_container(container, running.trouble));
  });
  Array ended;
  for (const Value& container : array_or_empty(pod, "/spec/initContainers")) {
    const bool stays = wire::string_at(container, "/restartPolicy") == "Always";
    ended.push_back(stays ? running_container(pod, container, nullptr, running.started, true, now)
                          : ended_container(pod, container, running.started));
  }
  Array conditions = array_or_empty(pod, "/status/conditions");
  put_conditions(pod, ready, conditions, now);

  status["phase"] = well ? "Running" : "Pending";
  status["hostIP"] = running.host_address;
  status["hostIPs"] = Array{Object{{"ip", running.host_address}}};
  if (!running.address.empty()) {
    status["podIP"] = running.address;
    status["podIPs"] = Array{Object{{"ip", running.address}}};
  }
  status["startTime"] = format_rfc3339(running.started);
  status["conditions"] = std::move(conditions);
  if (!ended.empty()) status["initContainerStatuses"] = std::move(ended);
  status["containerStatuses"] = std::move(containers);
  return status;
}

Duration stop_time(const Value& pod) {
  std::int64_t longest = 0;
  for_each_container(pod, [&](const Value& container) {
    longest = std::max(longest, int_or(container, "/lifecycle/preStop/sleep/seconds", 0));
  });
  const std::chrono::seconds grace{int_or(pod, "/spec/terminationGracePeriodSeconds", 30)};
  return std::min<Duration>(grace, std::chrono::seconds{longest} + kStopMoment);
}

Value node_object(const std::string& name, const std::string& address, WallTime now) {
  const std::string time = format_rfc3339(now);
  const Object room{{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "4000"}};
  const Object ready{{"type", "Ready"},           {"status", "True"},
                     {"reason", "KubeletReady"},  {"message", "the loopback node is ready"},
                     {"lastHeartbeatTime", time}, {"lastTransitionTime", time}};
  return Object{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", Object{{"name", name},
                          {"labels", Object{{"kubernetes.io/hostname", name},
                                            {"kubernetes.io/os", "linux"},
                                            {"kubernetes.io/arch", "amd64"}}}}},
      {"spec", Object{}},
      {"status", Object{{"addresses", Array{Object{{"type", "InternalIP"}, {"address", address}},
                                            Object{{"type", "Hostname"}, {"address", name}}}},
                        {"capacity", room},
                        {"allocatable", room},
                        {"conditions", Array{ready}},
                        {"nodeInfo", Object{{"kubeletVersion", "v1.36.4+berth"},
                                            {"kubeProxyVersion", ""},
                                            {"containerRuntimeVersion", "loopback://1"},
                                            {"operatingSystem", "linux"},
                                            {"architecture", "amd64"},
                                            {"osImage", "loopback"},
                                            {"kernelVersion", ""},
                                            {"machineID", ""},
                                            {"systemUUID", ""},
                                            {"bootID", ""}}}}}};
}

}  // namespace berth::workloads
