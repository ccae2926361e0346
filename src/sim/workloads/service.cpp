#include "sim/workloads/service.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

namespace berth::workloads {
namespace {

using kube::types::kService;
using types::kEndpointSlice;
using wire::Array;
using wire::Object;
using wire::Value;

// 10.96.0.0/16 without .0 and .255: nobody listens there, and nothing of the host has it.
constexpr std::uint32_t kClusterAddresses = 254 * 254;
constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
constexpr std::string_view kHeadlessLabel = "service.kubernetes.io/headless";
constexpr std::string_view kManager = "endpointslice-controller.k8s.io";

bool is_headless(const Value& service) {
  return wire::string_at(service, "/spec/clusterIP") == "None";
}

bool has_node_ports(const Value& service) {
  const std::string_view type = wire::string_at(service, "/spec/type");
  const bool spared = wire::bool_at(service, "/spec/allocateLoadBalancerNodePorts") == false;
  return type == "NodePort" || (type == "LoadBalancer" && !spared);
}

Result<std::string> free_address(const AnyObject& service, const std::vector<std::string>& taken) {
  // By name, so that the same cluster looks the same each time.
  const std::size_t first = std::hash<std::string>{}(service.meta.key().to_string());
  for (std::uint32_t i = 0; i < kClusterAddresses; ++i) {
    const auto n = static_cast<std::uint32_t>((first + i) % kClusterAddresses);
    std::string address = fmt::format("10.96.{}.{}", 1 + n / 254, 1 + n % 254);
    if (std::ranges::find(taken, address) == taken.end()) return address;
  }
  return fail(Code::exhausted, "all {} cluster IPs are in use", kClusterAddresses);
}

Result<std::int64_t> free_node_port(const AnyObject& service, std::size_t index,
                                    const std::vector<std::int64_t>& taken) {
  constexpr std::int64_t kCount = kLastNodePort - kFirstNodePort + 1;
  const std::size_t first = std::hash<std::string>{}(service.meta.key().to_string()) + index;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t port =
        kFirstNodePort + static_cast<std::int64_t>((first + static_cast<std::size_t>(i)) % kCount);
    if (std::ranges::find(taken, port) == taken.end()) return port;
  }
  return fail(Code::exhausted, "all node ports {}-{} are in use", kFirstNodePort, kLastNodePort);
}

Result<> add_node_ports(const AnyObject& service, std::vector<std::int64_t> taken,
                        Array& operations) {
  const Array& ports = array_or_empty(service.value, "/spec/ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (int_or(ports[i], "/nodePort", 0) != 0) continue;
    Result<std::int64_t> port = free_node_port(service, i, taken);
    if (!port) return pass(port);
    taken.push_back(*port);
    operations.push_back(set_operation(fmt::format("/spec/ports/{}/nodePort", i), *port));
  }
  return {};
}

// The number of a named port differs between Pods; 0: this Pod has none of that name.
std::int64_t target_port(const Value& port, const kube::Pod& pod) {
  const Value* target = wire::find(port, "/targetPort");
  if (target == nullptr) return int_or(port, "/port", 0);
  if (target->is_int64()) return target->get_int64();
  for (const kube::ContainerPort& declared : pod.ports) {
    const bool same = declared.name == wire::string_at(port, "/targetPort") &&
                      declared.protocol == wire::string_at(port, "/protocol");
    if (same && !declared.init) return declared.port;
  }
  return 0;
}

Array ports_for(const Value& service, const kube::Pod& pod) {
  Array out;
  for (const Value& port : array_or_empty(service, "/spec/ports")) {
    const std::int64_t number = target_port(port, pod);
    if (number == 0) continue;
    Object entry{{"port", number}, {"protocol", wire::string_at(port, "/protocol")}};
    if (const Value* name = wire::find(port, "/name")) entry["name"] = *name;
    out.push_back(std::move(entry));
  }
  return out;
}

// Pods of one Service, grouped by where its ports lead inside them.
struct Group {
  Array ports{};
  PodList pods{};
};

// Those that it selects and that have an address, by name.
PodList pods_of(const AnyObject& service, const PodList& pods) {
  PodList chosen;
  const Object& selector = object_or_empty(service.value, "/spec/selector");
  std::ranges::copy_if(pods, std::back_inserter(chosen), [&](const PodPtr& pod) {
    return selects(selector, pod->meta.labels) && !pod->ips.empty() && !pod->finished();
  });
  std::ranges::sort(chosen, std::less{}, [](const PodPtr& pod) { return pod->meta.name; });
  return chosen;
}

std::vector<Group> groups_of(const AnyObject& service, const PodList& pods) {
  std::vector<Group> groups;
  for (const PodPtr& pod : pods_of(service, pods)) {
    Array ports = ports_for(service.value, *pod);
    auto at = std::ranges::find(groups, ports, &Group::ports);
    if (at == groups.end()) at = groups.insert(at, Group{.ports = std::move(ports)});
    at->pods.push_back(pod);
  }
  return groups;
}

Object target_reference(const kube::Pod& pod) {
  return {{"kind", "Pod"},
          {"namespace", pod.meta.ns.view()},
          {"name", pod.meta.name},
          {"uid", pod.meta.uid}};
}

bool counts_as_ready(const AnyObject& service, const kube::Pod& pod) {
  const bool regardless =
      wire::bool_at(service.value, "/spec/publishNotReadyAddresses").value_or(false);
  return regardless || (pod.ready() && !pod.meta.deleting);
}

Value subset_of(const AnyObject& service, const Group& group) {
  Array ready;
  Array not_ready;
  for (const PodPtr& pod : group.pods) {
    // A Pod that ends is no address any more; slices still tell of it.
    if (pod->meta.deleting && !counts_as_ready(service, *pod)) continue;
    Object address{{"ip", pod->ips.front()},
                   {"nodeName", pod->node.view()},
                   {"targetRef", target_reference(*pod)}};
    (counts_as_ready(service, *pod) ? ready : not_ready).push_back(std::move(address));
  }
  Object subset;
  if (!ready.empty()) subset["addresses"] = std::move(ready);
  if (!not_ready.empty()) subset["notReadyAddresses"] = std::move(not_ready);
  if (subset.empty()) return nullptr;
  if (!group.ports.empty()) subset["ports"] = group.ports;
  return subset;
}

Value endpoint_of(const AnyObject& service, const kube::Pod& pod) {
  Object endpoint{{"addresses", Array{Value(pod.ips.front())}},
                  {"conditions", Object{{"ready", counts_as_ready(service, pod)},
                                        {"serving", pod.ready()},
                                        {"terminating", pod.meta.deleting}}},
                  {"nodeName", pod.node.view()},
                  {"targetRef", target_reference(pod)}};
  return endpoint;
}

Object labels_of(const AnyObject& service) {
  Object labels = object_or_empty(service.value, "/metadata/labels");
  if (is_headless(service.value)) labels[kHeadlessLabel] = "";
  return labels;
}

Value new_endpoints(const AnyObject& service, Array subsets) {
  Object out{{"apiVersion", "v1"},
             {"kind", "Endpoints"},
             {"metadata", Object{{"namespace", service.meta.ns.view()},
                                 {"name", service.meta.name},
                                 {"labels", labels_of(service)}}}};
  if (!subsets.empty()) out["subsets"] = std::move(subsets);
  return out;
}

Value new_slice(const AnyObject& service, std::size_t number, const Group& group, Array endpoints) {
  Object labels = labels_of(service);
  labels[kServiceNameLabel] = service.meta.name;
  labels["endpointslice.kubernetes.io/managed-by"] = kManager;
  const std::string hash = content_hash(Value(service.meta.uid)).substr(0, 5);
  const std::string name = number == 0 ? fmt::format("{}-{}", service.meta.name, hash)
                                       : fmt::format("{}-{}-{}", service.meta.name, hash, number);
  return Object{{"apiVersion", kEndpointSlice.api_version()},
                {"kind", kEndpointSlice.kind},
                {"metadata",
                 Object{{"namespace", service.meta.ns.view()},
                        {"name", name},
                        {"labels", std::move(labels)},
                        {"ownerReferences", Array{controller_reference(kService, service.meta)}}}},
                {"addressType", "IPv4"},
                {"endpoints", std::move(endpoints)},
                {"ports", group.ports}};
}

std::vector<Value> wanted_slices(const AnyObject& service, std::vector<Group> groups) {
  if (groups.empty()) groups.emplace_back();  // there is always one, even when it is empty
  std::vector<Value> slices;
  for (const Group& group : groups) {
    std::size_t at = 0;
    do {
      Array endpoints;
      for (; at < group.pods.size() && endpoints.size() < kMaxEndpointsPerSlice; ++at) {
        endpoints.push_back(endpoint_of(service, *group.pods[at]));
      }
      slices.push_back(new_slice(service, slices.size(), group, std::move(endpoints)));
    } while (at < group.pods.size());
  }
  return slices;
}

// Creates what is missing and sets the fields that differ.
void bring_about(const AnyPtr& found, Value wanted, std::initializer_list<std::string_view> fields,
                 Writes& writes) {
  if (found == nullptr) return writes.push_back(create_write(std::move(wanted)));
  Array operations;
  for (const std::string_view field : fields) {
    const std::string pointer = "/" + std::string(field);
    const Value* now = wire::find(found->value, pointer);
    const Value* next = wire::find(wanted, pointer);
    const Value target = next == nullptr ? Value(Array{}) : *next;
    if ((now == nullptr ? Value(Array{}) : *now) == target) continue;
    operations.push_back(set_operation(pointer, target));
  }
  if (!operations.empty()) writes.push_back(patch_write(found->meta, std::move(operations)));
}

}  // namespace

ServiceNumbers numbers_in_use(const AnyList& services) {
  ServiceNumbers out;
  for (const AnyPtr& service : services) {
    out.addresses.emplace_back(wire::string_at(service->value, "/spec/clusterIP"));
    for (const Value& port : array_or_empty(service->value, "/spec/ports")) {
      if (const auto number = wire::int_at(port, "/nodePort")) out.node_ports.push_back(*number);
    }
  }
  return out;
}

Result<Writes> plan_service(const AnyObject& service, const ServiceNumbers& in_use) {
  if (service.meta.deleting) return Writes{};
  if (wire::string_at(service.value, "/spec/type") == "ExternalName") return Writes{};
  Array operations;
  std::string address(wire::string_at(service.value, "/spec/clusterIP"));
  if (address.empty()) {
    Result<std::string> found = free_address(service, in_use.addresses);
    if (!found) return pass(found);
    address = *found;
    operations.push_back(set_operation("/spec/clusterIP", Value(address)));
  }
  if (wire::array_at(service.value, "/spec/clusterIPs") == nullptr) {
    operations.push_back(set_operation("/spec/clusterIPs", Array{Value(address)}));
    operations.push_back(set_operation("/spec/ipFamilies", Array{"IPv4"}));
    operations.push_back(set_operation("/spec/ipFamilyPolicy", "SingleStack"));
  }
  if (has_node_ports(service.value)) {
    if (Result<> added = add_node_ports(service, in_use.node_ports, operations); !added)
      return pass(added);
  }
  if (operations.empty()) return Writes{};
  return Writes{patch_write(service.meta, std::move(operations))};
}

std::vector<NodePortLead> node_port_leads(const AnyObject& service, const PodList& pods) {
  std::vector<NodePortLead> out;
  if (service.meta.deleting || !has_node_ports(service.value)) return out;
  const PodList chosen = pods_of(service, pods);
  for (const Value& port : array_or_empty(service.value, "/spec/ports")) {
    const auto protocol = model::parse_transport(wire::string_at(port, "/protocol"));
    const std::int64_t number = int_or(port, "/nodePort", 0);
    if (!protocol || number == 0) continue;
    NodePortLead lead{.protocol = *protocol, .port = model::port_of(number)};
    for (const PodPtr& pod : chosen) {
      const std::int64_t inside = target_port(port, *pod);
      if (inside == 0 || !counts_as_ready(service, *pod)) continue;
      lead.targets.push_back({pod->ips.front(), model::port_of(inside)});
    }
    std::ranges::sort(lead.targets);
    lead.targets.erase(std::ranges::unique(lead.targets).begin(), lead.targets.end());
    out.push_back(std::move(lead));
  }
  return out;
}

EndpointsPlan plan_endpoints(const AnyObject& service, const PodList& pods, const AnyPtr& endpoints,
                             const AnyList& slices) {
  EndpointsPlan plan;
  // Without a selector the endpoints are somebody else's.
  if (object_or_empty(service.value, "/spec/selector").empty() || service.meta.deleting)
    return plan;
  const std::vector<Group> groups = groups_of(service, pods);
  Array subsets;
  for (const Group& group : groups) {
    if (Value subset = subset_of(service, group); !subset.is_null())
      subsets.push_back(std::move(subset));
  }
  bring_about(endpoints, new_endpoints(service, std::move(subsets)), {"subsets"}, plan.endpoints);

  std::set<std::string> kept;
  for (Value& wanted : wanted_slices(service, groups)) {
    const std::string name(wire::string_at(wanted, "/metadata/name"));
    kept.insert(name);
    const auto found =
        std::ranges::find(slices, name, [](const AnyPtr& s) { return s->meta.name; });
    bring_about(found == slices.end() ? nullptr : *found, std::move(wanted), {"endpoints", "ports"},
                plan.slices);
  }
  for (const AnyPtr& slice : slices) {
    const bool ours = is_controlled_by(slice->meta, service.meta);
    if (ours && !kept.contains(slice->meta.name)) plan.slices.push_back(remove_write(slice->meta));
  }
  return plan;
}

}  // namespace berth::workloads
