#include "sim/world/kubelet.h"

#include <boost/json.hpp>

namespace berth::world {
namespace {

using wire::Object;
using wire::Value;

constexpr Duration kRetry = std::chrono::seconds{1};

}  // namespace

Kubelet::Kubelet(Cluster& cluster, KubeletOptions options)
    : cluster_(cluster), options_(options), random_(cluster.kernel().fork_random()) {
  observing_ = cluster_.gateway().observe(
      [this](const net::Request& request, const SeenReply& reply) { look_at(request, reply); });
}

void Kubelet::look_at(const net::Request& request, const SeenReply& reply) {
  const bool news = request.method == "POST" || request.method == "DELETE";
  if (!news || reply.status() >= 300 || request.url.find("/pods") == std::string::npos) return;
  const Value* const pod = reply.object();
  if (!pod || wire::string_at(*pod, "/kind") != "Pod") return;
  const PodName name = name_of(*pod);
  if (request.method == "POST") {
    cluster_.play("start of " + name.name,
                  [this, name](std::stop_token stop) { start_pod(name, stop); });
  } else if (wire::int_at(*pod, "/metadata/deletionGracePeriodSeconds").value_or(0) > 0) {
    cluster_.play("end of " + name.name,
                  [this, name](std::stop_token stop) { end_pod(name, stop); });
  }
}

Kubelet::PodName Kubelet::name_of(const Value& pod) {
  return {.path = fmt::format("/api/v1/namespaces/{}/pods/{}",
                              wire::string_at(pod, "/metadata/namespace"),
                              wire::string_at(pod, "/metadata/name")),
          .name = std::string(wire::string_at(pod, "/metadata/name")),
          .uid = std::string(wire::string_at(pod, "/metadata/uid"))};
}

void Kubelet::look_around() {
  const Result<std::vector<Value>> pods = cluster_.list("/api/v1/pods");
  for (const Value& pod : pods ? *pods : std::vector<Value>{}) {
    const PodName name = name_of(pod);
    if (!wire::string_at(pod, "/metadata/deletionTimestamp").empty()) {
      cluster_.play("end of " + name.name,
                    [this, name](std::stop_token stop) { end_pod(name, stop); });
    } else if (wire::string_at(pod, "/spec/nodeName").empty()) {
      cluster_.play("start of " + name.name,
                    [this, name](std::stop_token stop) { start_pod(name, stop); });
    } else if (ended_.contains(name.uid) || wire::string_at(pod, "/status/podIP").empty()) {
      cluster_.play("restart of " + name.name,
                    [this, name](std::stop_token stop) { give_address(name, stop); });
    }
  }
}

void Kubelet::start_pod(const PodName& pod, const std::stop_token& stop) {
  if (!cluster_.pause(up_to(options_.max_start / 2), stop)) return;
  const Object binding{{"kind", "Binding"},
                       {"apiVersion", "v1"},
                       {"metadata", Object{{"name", pod.name}}},
                       {"target", Object{{"kind", "Node"}, {"name", "node-1"}}}};
  if (!send(pod, request_of("POST", pod.path + "/binding", binding), stop)) return;
  give_address(pod, stop);
}

void Kubelet::give_address(const PodName& pod, const std::stop_token& stop) {
  if (!cluster_.pause(up_to(options_.max_start / 2), stop)) return;
  const std::string ip = fmt::format("10.0.{}.{}", addresses_ / 250, 1 + addresses_ % 250);
  ++addresses_;
  const Object status{
      {"status",
       Object{{"phase", "Running"}, {"podIP", ip}, {"podIPs", wire::Array{Object{{"ip", ip}}}}}}};
  if (send(pod, request_of("PATCH", pod.path + "/status", status), stop)) ended_.erase(pod.uid);
}

void Kubelet::end_pod(const PodName& pod, const std::stop_token& stop) {
  if (!cluster_.pause(up_to(options_.max_end), stop)) return;
  const Object options{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"gracePeriodSeconds", 0}};
  if (send(pod, request_of("DELETE", pod.path, options), stop)) ended_.insert(pod.uid);
}

bool Kubelet::send(const PodName& pod, const net::Request& request, const std::stop_token& stop) {
  for (;;) {
    const net::Reply found = cluster_.gateway().handle({.url = pod.path}).reply;
    if (found.status == 404) return false;
    if (found.status < 300) {
      // Nothing happens between the look and the deed: neither waits.
      if (!is_for(pod, found, request)) return false;
      if (cluster_.gateway().handle(request).reply.status < 300) return true;
    }
    if (!cluster_.pause(kRetry, stop)) return false;
  }
}

// Another Pod may have the name by now, and one that has ended is not started any more.
bool Kubelet::is_for(const PodName& pod, const net::Reply& found,
                     const net::Request& request) const {
  const Result<Value> now = wire::parse_json(found.body);
  if (!now || wire::string_at(*now, "/metadata/uid") != pod.uid) return false;
  // A restored state may have made two tasks of one start.
  if (request.method == "POST" && !wire::string_at(*now, "/spec/nodeName").empty()) return false;
  if (request.method == "PATCH" && !wire::string_at(*now, "/status/podIP").empty() &&
      !ended_.contains(pod.uid))
    return false;
  const std::string_view phase = wire::string_at(*now, "/status/phase");
  return request.method == "DELETE" || (phase != "Succeeded" && phase != "Failed");
}

Duration Kubelet::up_to(Duration most) {
  return Duration{
      static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

}  // namespace berth::world
