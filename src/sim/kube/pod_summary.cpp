#include "sim/kube/pod_summary.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/table_columns.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Value;

bool has_condition(const Value& pod, std::string_view type) {
  return std::ranges::any_of(items_at(pod, "/status/conditions"), [&](const Value& condition) {
    return wire::string_at(condition, "/type") == type &&
           wire::string_at(condition, "/status") == "True";
  });
}

void count_restarts(PodSummary& pod, const Value& status) {
  pod.restarts += wire::int_at(status, "/restartCount").value_or(0);
  const std::string_view ended = wire::string_at(status, "/lastState/terminated/finishedAt");
  // RFC 3339 times in UTC sort as text.
  if (ended > pod.last_restart) pod.last_restart = ended;
}

std::string termination(const Value& ended) {
  const std::string_view reason = wire::string_at(ended, "/reason");
  if (!reason.empty()) return std::string(reason);
  const std::int64_t signal = wire::int_at(ended, "/signal").value_or(0);
  if (signal != 0) return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", wire::int_at(ended, "/exitCode").value_or(0));
}

// True while a container that must end before the others start has not.
bool add_init_containers(PodSummary& pod, const Value& object) {
  const Array& statuses = items_at(object, "/status/initContainerStatuses");
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    count_restarts(pod, statuses[i]);
    const Value* ended = wire::find(statuses[i], "/state/terminated");
    if (ended != nullptr && wire::int_at(*ended, "/exitCode").value_or(0) == 0) continue;
    const std::string_view waiting = wire::string_at(statuses[i], "/state/waiting/reason");
    if (ended != nullptr) {
      pod.reason = "Init:" + termination(*ended);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      pod.reason = "Init:" + std::string(waiting);
    } else {
      pod.reason = fmt::format("Init:{}/{}", i, items_at(object, "/spec/initContainers").size());
    }
    return true;
  }
  return false;
}

void add_containers(PodSummary& pod, const Value& object) {
  bool running = false;
  std::string failure;
  const Array& statuses = items_at(object, "/status/containerStatuses");
  for (std::size_t i = statuses.size(); i-- > 0;) {
    const Value& status = statuses[i];
    count_restarts(pod, status);
    const std::string_view waiting = wire::string_at(status, "/state/waiting/reason");
    const Value* ended = wire::find(status, "/state/terminated");
    if (!waiting.empty()) {
      pod.reason = waiting;
    } else if (ended != nullptr) {
      pod.reason = termination(*ended);
      if (wire::int_at(*ended, "/exitCode").value_or(0) != 0) failure = pod.reason;
    } else if (wire::bool_at(status, "/ready").value_or(false) &&
               wire::find(status, "/state/running") != nullptr) {
      running = true;
      ++pod.ready;
    }
  }
  if (pod.reason != "Completed") return;
  if (running && has_condition(object, "Ready")) {
    pod.reason = "Running";
  } else if (!failure.empty()) {
    pod.reason = failure;
  } else if (running) {
    pod.reason = "NotReady";
  }
}

}  // namespace

PodSummary summarize_pod(const Value& object) {
  PodSummary pod;
  pod.containers = items_at(object, "/spec/containers").size();
  const std::string_view phase = wire::string_at(object, "/status/phase");
  const std::string_view reason = wire::string_at(object, "/status/reason");
  pod.reason = reason.empty() ? phase : reason;
  if (!add_init_containers(pod, object) || has_condition(object, "Initialized")) {
    pod.restarts = 0;
    pod.last_restart.clear();
    add_containers(pod, object);
  }
  if (wire::find(object, "/metadata/deletionTimestamp") != nullptr) {
    if (reason == "NodeLost") {
      pod.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      pod.reason = "Terminating";
    }
  }
  return pod;
}

std::string readiness_gates(const Value& pod) {
  const Array& gates = items_at(pod, "/spec/readinessGates");
  if (gates.empty()) return "<none>";
  const auto open = std::ranges::count_if(gates, [&pod](const Value& gate) {
    return has_condition(pod, wire::string_at(gate, "/conditionType"));
  });
  return fmt::format("{}/{}", open, gates.size());
}

}  // namespace berth::sim::kube
