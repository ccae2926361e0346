#include "playground/overview.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/host_ports.h"
#include "api/pod_ports.h"
#include "model/port.h"

namespace berth::playground {
namespace {

using wire::Array;
using wire::Value;

std::string annotation(const Value& object, std::string_view key) {
  return std::string(
      wire::string_at(object, "/metadata/annotations/" + wire::escape_pointer_step(key)));
}

std::string name_of(const Value& object) {
  return fmt::format("{}/{}", wire::string_at(object, "/metadata/namespace"),
                     wire::string_at(object, "/metadata/name"));
}

std::string status_of(const Value& pod) {
  if (!wire::string_at(pod, "/metadata/deletionTimestamp").empty()) return "Terminating";
  const std::string_view waiting =
      wire::string_at(pod, "/status/containerStatuses/0/state/waiting/reason");
  return std::string(waiting.empty() ? wire::string_at(pod, "/status/phase") : waiting);
}

// "127.0.0.1:29001,29323" of a Pod that got random host ports.
std::string host_address(const Value& pod) {
  std::string out;
  const wire::Object* labels = wire::object_at(pod, "/metadata/labels");
  for (const auto& label : labels == nullptr ? wire::Object{} : *labels) {
    const auto port = api::port_of_label(label.key());
    if (port) out += fmt::format("{}{}", out.empty() ? "" : ",", *port);
  }
  const std::string_view host = wire::string_at(pod, "/status/hostIP");
  return out.empty() || host.empty() ? "" : fmt::format("{}:{}", host, out);
}

std::string joined_ports(const Value& service) {
  std::string out;
  const Array* ports = wire::array_at(service, "/spec/ports");
  for (const Value& port : ports == nullptr ? Array{} : *ports) {
    if (!out.empty()) out += ',';
    out += std::to_string(wire::int_at(port, "/port").value_or(0));
    if (const auto node = wire::int_at(port, "/nodePort")) out += ":" + std::to_string(*node);
    out += fmt::format("/{}", wire::string_at(port, "/protocol"));
  }
  return out;
}

model::Target open_at(const std::string& vip, model::Port port, const LowPortsByVip& low) {
  const auto it = low.find(vip);
  const bool moved = it != low.end() && port < it->second.limit;
  return {vip, static_cast<model::Port>(moved ? port + it->second.offset : port)};
}

// "127.1.2.3:31000 TCP,UDP": bindings that share an address share a word. A port that had to be
// opened elsewhere says where.
std::string addresses_of(const std::vector<api::PortBindingItem>& bindings,
                         const LowPortsByVip& low) {
  std::vector<std::pair<std::string, std::string>> words;  // address, protocols
  for (const api::PortBindingItem& binding : bindings) {
    std::string address = api::public_address(binding);
    const auto& lbs = binding.pool_item_load_balancers;
    if (!lbs.empty() && !lbs.front().ips.empty()) {
      const auto port = static_cast<model::Port>(binding.start_port);
      const model::Target real = open_at(lbs.front().ips.front(), port, low);
      if (real.port != port) address += fmt::format(" (open at {})", real.port);
    }
    const auto same =
        std::ranges::find(words, address, [](const auto& word) { return word.first; });
    if (same == words.end()) {
      words.emplace_back(std::move(address), binding.protocol);
    } else {
      same->second += "," + binding.protocol;
    }
  }
  std::string out;
  for (const auto& [address, protocols] : words)
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", address, protocols);
  return out;
}

std::string seconds(std::optional<Duration> span) {
  if (!span) return "";
  return fmt::format("{:.3f} s", std::chrono::duration<double>(*span).count());
}

}  // namespace

bool wants_room(const Value& pod) { return !annotation(pod, api::kPortPoolsAnnotation).empty(); }

void add_low_ports(const Value& load_balancer, LowPortsByVip& out) {
  const LowPorts low{.limit = wire::int_at(load_balancer, "/status/lowPortLimit").value_or(0),
                     .offset = wire::int_at(load_balancer, "/status/lowPortOffset").value_or(0)};
  const Array* vips = wire::array_at(load_balancer, "/status/vips");
  for (const Value& vip : vips == nullptr ? Array{} : *vips) {
    if (vip.is_string() && low.offset > 0) out[std::string(vip.get_string())] = low;
  }
}

Room room_of(const Value& pod, const LowPortsByVip& low) {
  Room room{.pod = name_of(pod),
            .uid = std::string(wire::string_at(pod, "/metadata/uid")),
            .address = {},
            .status = annotation(pod, api::kBindStatusAnnotation)};
  const auto bindings = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation));
  if (!bindings || bindings->empty()) return room;
  room.address = api::public_address(bindings->front());
  for (const api::PortBindingItem& binding : *bindings) {
    for (const api::LoadBalancerBrief& lb : binding.pool_item_load_balancers) {
      for (const std::string& vip : lb.ips) {
        const auto port = static_cast<model::Port>(binding.start_port);
        room.ports.push_back({.protocol = binding.protocol,
                              .container = binding.rs_start_port,
                              .open_at = open_at(vip, port, low)});
      }
    }
  }
  return room;
}

PodRow pod_row(const Value& pod, std::optional<Duration> took, const LowPortsByVip& low) {
  const Array* containers = wire::array_at(pod, "/spec/containers");
  const Array* statuses = wire::array_at(pod, "/status/containerStatuses");
  const auto ready =
      statuses == nullptr ? 0 : std::ranges::count_if(*statuses, [](const Value& one) {
        return wire::bool_at(one, "/ready").value_or(false);
      });
  const auto bindings = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation));
  const std::string rooms = bindings ? addresses_of(*bindings, low) : std::string();
  const std::string status = annotation(pod, api::kBindStatusAnnotation);
  const bool leads = rooms.empty() || status == api::kReady;
  const std::string address = rooms.empty() ? host_address(pod) : rooms;
  return {.pod = name_of(pod),
          .ready = fmt::format("{}/{}", ready, containers == nullptr ? 0 : containers->size()),
          .status = status_of(pod),
          .ip = std::string(wire::string_at(pod, "/status/podIP")),
          .room = leads ? address : fmt::format("{} ({})", address, status),
          .took = seconds(took)};
}

ServiceRow service_row(const Value& service) {
  const std::string type(wire::string_at(service, "/spec/type"));
  std::string external(wire::string_at(service, "/status/loadBalancer/ingress/0/ip"));
  if (external.empty())
    external = wire::string_at(service, "/status/loadBalancer/ingress/0/hostname");
  if (external.empty()) external = type == "LoadBalancer" ? "<pending>" : "<none>";
  return {.service = name_of(service),
          .type = type,
          .cluster_ip = std::string(wire::string_at(service, "/spec/clusterIP")),
          .external_ip = std::move(external),
          .ports = joined_ports(service)};
}

std::string to_string(const PortCounts& counts) {
  // Protocols that have as many share a word.
  std::vector<std::pair<std::int64_t, std::string>> words;
  for (const auto& [protocol, count] : counts) {
    if (count == 0) continue;
    const auto same = std::ranges::find(words, count, [](const auto& word) { return word.first; });
    if (same == words.end()) {
      words.emplace_back(count, protocol);
    } else {
      same->second += "," + protocol;
    }
  }
  std::string out;
  for (const auto& [count, protocols] : words)
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", count, protocols);
  return out.empty() ? "0" : out;
}

std::string to_string(const RefusedRow& row) {
  return fmt::format("{} of {} Pods of {} {} refused: {}", row.missing, row.wanted, row.kind,
                     row.workload, row.why);
}

}  // namespace berth::playground
