#include "sim/workloads/loopback_node.h"

#include <boost/json.hpp>

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;

Object condition(std::string_view type, bool holds, const std::string& now) {
  return {{"type", type}, {"status", holds ? "True" : "False"}, {"lastTransitionTime", now}};
}

// As a kubelet reports a Pod whose containers run. Ready waits for the Pod's readiness gates.
Object running_status(const kube::Pod& pod, const std::string& address, const std::string& now) {
  bool gates_hold = true;
  for (const kube::Interned& gate : pod.readiness_gates) {
    gates_hold = gates_hold && pod.condition(gate.view()) == kube::ConditionStatus::yes;
  }
  Array conditions{condition("Initialized", true, now), condition("ContainersReady", true, now),
                   condition("PodScheduled", true, now), condition("Ready", gates_hold, now)};
  for (const kube::Interned& gate : pod.readiness_gates) {
    if (pod.condition(gate.view()) == kube::ConditionStatus::yes) {
      conditions.push_back(condition(gate.view(), true, now));
    }
  }
  return {{"phase", "Running"}, {"hostIP", "127.0.0.1"},
          {"podIP", address},   {"podIPs", Array{Object{{"ip", address}}}},
          {"startTime", now},   {"conditions", std::move(conditions)}};
}

}  // namespace

LoopbackNode::LoopbackNode(Tasks& tasks, kube::Client& client, Random random)
    : client_(client),
      pods_(tasks, client, kube::pod_projection({.labels = {}, .owners = false}), random),
      controller_(tasks, {.name = "loopback-node"},
                  [this](const Context& context, const kube::ObjectKey& key) {
                    return reconcile(context, key);
                  }) {
  controller_.watch(pods_.store(),
                    [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
}

void LoopbackNode::add_to(kube::Manager& manager) {
  manager.add(pods_.core());
  manager.add(controller_);
}

Result<kube::Requeue> LoopbackNode::reconcile(const Context& context, const kube::ObjectKey& key) {
  const auto pod = pods_.store().get(key);
  const auto room = rooms_.find(key);
  const bool another = room != rooms_.end() && (!pod || room->second.uid != pod->meta.uid);
  if (another) rooms_.erase(room);
  if (!pod || pod->meta.deleting || pod->finished()) {
    rooms_.erase(key);
    return kube::Requeue{};
  }
  if (!rooms_.contains(key)) {
    if (Result<> opened = open(*pod); !opened) return pass(opened);
  }
  if (pod->ready()) return kube::Requeue{};
  const std::string now = format_rfc3339(context.tasks.wall_time());
  const Object status = running_status(*pod, rooms_.at(key).address, now);
  const auto written = client_.patch(context, kube::types::kPod, key, kube::PatchType::merge,
                                     Object{{"status", status}}, {.subresource = "status"});
  if (!written && written.error().code != Code::not_found) return fail(written.error());
  return kube::Requeue{};
}

Result<> LoopbackNode::open(const kube::Pod& pod) {
  Room room{.uid = pod.meta.uid,
            .address = pod.ips.empty() ? next_address() : pod.ips.front(),
            .servers = {}};
  for (const kube::ContainerPort& port : pod.ports) {
    if (port.protocol != "TCP" || port.init) continue;
    auto server = edge::EchoServer::start({room.address, port.port},
                                          fmt::format("this is {}\n", pod.meta.key().to_string()));
    if (!server) return fail(Error(server.error()).about("Pod " + pod.meta.key().to_string()));
    room.servers.push_back(std::move(*server));
  }
  rooms_.emplace(pod.meta.key(), std::move(room));
  return {};
}

// 127.16.0.0/12: apart from 127.0.0.1 and from the load balancers' addresses.
std::string LoopbackNode::next_address() {
  const std::uint32_t n = ++given_addresses_;
  return fmt::format("127.{}.{}.{}", 16 + (n / 65024) % 16, (n / 254) % 256, 1 + n % 254);
}

}  // namespace berth::workloads
