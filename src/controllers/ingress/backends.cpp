#include "controllers/ingress/backends.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <map>
#include <optional>

namespace berth::controllers::ingress {
namespace {

using kube::Pod;
using kube::Service;
using kube::ServicePort;
using PodPtr = kube::Store<Pod>::Ptr;

constexpr std::int64_t kMaxWeight = 100;

// By address: the first that brings one says its weight.
class Gathering {
 public:
  void add(std::string_view ip, std::uint16_t port, std::int64_t weight) {
    by_address_.try_emplace({std::string(ip), port}, weight);
  }
  // Of a node: it gets traffic if one of its Pods does.
  void add_node(std::string_view ip, std::uint16_t port, std::int64_t weight) {
    const auto [it, is_new] = nodes_.try_emplace({std::string(ip), port}, weight);
    if (!is_new) it->second = std::max(it->second, weight);
  }
  // The nodes of one route are complete.
  void close_nodes() {
    for (const auto& [address, weight] : nodes_) by_address_.try_emplace(address, weight);
    nodes_.clear();
  }
  std::vector<api::ListenerBackend> backends() const {
    std::vector<api::ListenerBackend> out;
    for (const auto& [address, weight] : by_address_)
      out.push_back({.ip = address.first, .port = address.second, .weight = weight});
    return out;
  }

 private:
  using ByAddress = std::map<std::pair<std::string, std::uint16_t>, std::int64_t>;
  ByAddress by_address_;
  ByAddress nodes_;
};

bool is_running(const Pod& pod) { return pod.phase == kube::PodPhase::running && !pod.ips.empty(); }

// Readiness gates may wait for us: what counts is that its containers are ready.
bool takes_traffic(const Pod& pod) {
  return !pod.meta.deleting && pod.condition("ContainersReady") == kube::ConditionStatus::yes;
}

// What the Pod says of itself.
std::optional<std::int64_t> own_weight(const Pod& pod, const RouteContext& route, Notes& notes) {
  const std::string_view text = kube::get(pod.meta.annotations, kWeightAnnotation);
  if (text.empty()) return std::nullopt;
  std::int64_t weight = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (error == std::errc{} && end == text.data() + text.size() && weight >= 0 &&
      weight <= kMaxWeight) {
    notes.weighted.insert(pod.meta.key());
    return weight;
  }
  notes.gaps.push_back(
      {route.field, fmt::format("Pod {}: annotation {} is '{}', not a number from "
                                "0 to {}: it is passed over",
                                pod.meta.key().to_string(), kWeightAnnotation, text, kMaxWeight)});
  return std::nullopt;
}

std::int64_t weight_of(const Pod& pod, std::int64_t weight, const RouteContext& route,
                       Notes& notes) {
  const std::optional<std::int64_t> own = own_weight(pod, route, notes);
  return takes_traffic(pod) ? own.value_or(weight) : 0;
}

const kube::ContainerPort* find_port(const Pod& pod, std::uint16_t number, std::string_view name,
                                     model::Transport transport) {
  const auto it = std::ranges::find_if(pod.ports, [&](const kube::ContainerPort& port) {
    const bool is_it = name.empty() ? port.port == number : port.name.view() == name;
    return is_it && !port.init && port.protocol.view() == model::to_string(transport);
  });
  return it == pod.ports.end() ? nullptr : &*it;
}

std::string_view ip_of_node(const Pod& pod) { return pod.host_ip.view(); }

bool is_off(std::string_view ns, const RouteContext& route, const Sight& sight, Notes& notes) {
  if (!sight.own_namespace_only || ns == route.ns) return false;
  notes.gaps.push_back(
      {route.field, fmt::format("namespace {} is not the Ingress's own, and the controller is told "
                                "to lead nowhere else (--ingress-own-namespace)",
                                ns)});
  return true;
}

// All of one route.
class Route {
 public:
  Route(const api::ServiceRoute& written, RouteContext context, const Sight& sight, Gathering& out,
        Notes& notes)
      : written_(written),
        context_(std::move(context)),
        sight_(sight),
        out_(out),
        notes_(notes),
        ns_(namespace_or(written.service_namespace, context_.ns)) {}

  void look() {
    if (is_off(ns_, context_, sight_, notes_)) return;
    const auto service = sight_.services.get(ns_, written_.service_name);
    if (!service) return gap(fmt::format("Service {}/{} is not there", ns_, written_.service_name));
    const ServicePort* const port = port_of(*service);
    if (!port) return;
    if (service->selector.empty())
      return gap(fmt::format(
          "Service {} selects no Pods: it has no spec.selector, and EndpointSlices that "
          "people write are not followed",
          name(*service)));
    if (!written_.is_direct_connect) return to_nodes(*service, *port);
    if (written_.subsets.empty())
      return to_pods(*service, *port, {}, api::weight_or_default(written_.weight));
    for (const api::IngressSubset& subset : written_.subsets)
      to_pods(*service, *port, subset.label_selector, api::weight_or_default(subset.weight));
  }

 private:
  static std::string name(const Service& service) { return service.meta.key().to_string(); }

  void gap(std::string message) { notes_.gaps.push_back({context_.field, std::move(message)}); }

  const ServicePort* port_of(const Service& service) {
    const std::string_view transport = model::to_string(context_.transport);
    const ServicePort* other = nullptr;
    std::string has;
    for (const ServicePort& port : service.ports) {
      has += fmt::format("{}{} {}", has.empty() ? "" : ", ", port.protocol.view(), port.port);
      if (port.port != written_.service_port) continue;
      if (port.protocol.view() == transport) return &port;
      other = &port;
    }
    if (other) {
      gap(fmt::format("port {} of Service {} is {}, and the rule needs {}", written_.service_port,
                      name(service), other->protocol.view(), transport));
    } else {
      gap(fmt::format("Service {} has no port {}; it has {}", name(service), written_.service_port,
                      has.empty() ? "none" : has));
    }
    return nullptr;
  }

  // Nodes that have one of its Pods.
  void to_nodes(const Service& service, const ServicePort& port) {
    if (port.node_port == 0)
      return gap(
          fmt::format("port {} of Service {} has no NodePort, for the Service is of type {}: "
                      "make it NodePort, or write isDirectConnect: true",
                      port.port, name(service), service.type.view()));
    const std::int64_t weight = api::weight_or_default(written_.weight);
    for (const PodPtr& pod : pods_of(service, {})) {
      if (pod->finished() || ip_of_node(*pod).empty()) continue;
      out_.add_node(ip_of_node(*pod), port.node_port, takes_traffic(*pod) ? weight : 0);
    }
    out_.close_nodes();
  }

  void to_pods(const Service& service, const ServicePort& port,
               const std::map<std::string, std::string>& labels, std::int64_t weight) {
    for (const PodPtr& pod : pods_of(service, labels)) {
      if (!is_running(*pod)) continue;
      const std::int64_t own = weight_of(*pod, weight, context_, notes_);
      if (written_.host_port || port.target_port == 0) {
        to_declared(*pod, port, own);
      } else {
        out_.add(pod->ips.front(), port.target_port, own);
      }
    }
  }

  // By the name of a container port, or by the host port that it lends.
  void to_declared(const Pod& pod, const ServicePort& port, std::int64_t weight) {
    const kube::ContainerPort* const declared =
        find_port(pod, port.target_port, port.target_port_name.view(), context_.transport);
    const std::string wanted = port.target_port == 0 ? std::string(port.target_port_name.view())
                                                     : fmt::format("{}", port.target_port);
    if (!declared)
      return gap(fmt::format("Pod {} declares no {} containerPort {}", pod.meta.key().to_string(),
                             model::to_string(context_.transport), wanted));
    if (!written_.host_port) return out_.add(pod.ips.front(), declared->port, weight);
    if (declared->host_port == 0 || ip_of_node(pod).empty())
      return gap(fmt::format("containerPort {} of Pod {} has no hostPort", wanted,
                             pod.meta.key().to_string()));
    out_.add(ip_of_node(pod), declared->host_port, weight);
  }

  std::vector<PodPtr> pods_of(const Service& service,
                              const std::map<std::string, std::string>& labels) const {
    std::vector<PodPtr> out = sight_.pods.by_index(kPodsOfNamespaceIndex, ns_);
    std::erase_if(out, [&](const PodPtr& pod) {
      // A subset may say otherwise what the Service says of the same label.
      const bool selected = std::ranges::all_of(service.selector, [&](const kube::MapEntry& entry) {
        return labels.contains(std::string(entry.first.view())) ||
               kube::get(pod->meta.labels, entry.first.view()) == entry.second;
      });
      const bool in_subset = std::ranges::all_of(labels, [&](const auto& label) {
        return kube::get(pod->meta.labels, label.first) == label.second;
      });
      return !selected || !in_subset;
    });
    return out;
  }

  const api::ServiceRoute& written_;
  const RouteContext context_;
  const Sight& sight_;
  Gathering& out_;
  Notes& notes_;
  const std::string_view ns_;
};

// Somebody else may have made a Pod of that name.
bool is_of_workload(const Pod& pod, const api::PortMapping& mapping) {
  const kube::OwnerReference* const owner = pod.meta.controller();
  return owner && owner->name == mapping.workload_name &&
         boost::algorithm::iequals(owner->kind.view(), mapping.workload_kind);
}

}  // namespace

void add_indexes(kube::Store<Pod>& pods) {
  pods.add_index(std::string(kPodsOfNamespaceIndex),
                 [](const Pod& pod, kube::EmitKey emit) { emit(std::string(pod.meta.ns.view())); });
}

std::string_view namespace_or(std::string_view written, std::string_view own) {
  return written.empty() ? own : written;
}

bool selects(const Service& service, const Pod& pod) {
  return service.meta.ns == pod.meta.ns && !service.selector.empty() &&
         std::ranges::all_of(service.selector, [&](const kube::MapEntry& entry) {
           return kube::get(pod.meta.labels, entry.first.view()) == entry.second;
         });
}

std::string pod_name(const api::PortMapping& mapping, std::int64_t index) {
  return fmt::format("{}-{}", mapping.workload_name, index);
}

std::vector<api::ListenerBackend> backends_of(const std::vector<api::ServiceRoute>& services,
                                              const RouteContext& route, const Sight& sight,
                                              Notes& notes) {
  Gathering out;
  for (std::size_t i = 0; i < services.size(); ++i) {
    RouteContext own = route;
    own.field = fmt::format("{}.services[{}]", route.field, i);
    Route(services[i], std::move(own), sight, out, notes).look();
  }
  return out.backends();
}

std::vector<api::ListenerBackend> backends_of(const api::PortMapping& mapping, std::int64_t index,
                                              std::uint16_t pod_port, const RouteContext& route,
                                              const Sight& sight, Notes& notes) {
  const std::string_view ns = namespace_or(mapping.workload_namespace, route.ns);
  if (is_off(ns, route, sight, notes)) return {};
  const auto pod = sight.pods.get(ns, pod_name(mapping, index));
  if (!pod || !is_running(*pod) || !is_of_workload(*pod, mapping)) return {};
  const std::int64_t weight = weight_of(*pod, api::kDefaultWeight, route, notes);
  if (!mapping.host_port) return {{.ip = pod->ips.front(), .port = pod_port, .weight = weight}};
  const kube::ContainerPort* const declared = find_port(*pod, pod_port, "", route.transport);
  if (declared && declared->host_port != 0 && !ip_of_node(*pod).empty())
    return {{.ip = std::string(ip_of_node(*pod)), .port = declared->host_port, .weight = weight}};
  notes.gaps.push_back({route.field, fmt::format("Pod {} has no hostPort of {} containerPort {}",
                                                 pod->meta.key().to_string(),
                                                 model::to_string(route.transport), pod_port)});
  return {};
}

}  // namespace berth::controllers::ingress
