#include "sim/kube/table_columns.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/kube/pod_summary.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using Cell = decltype(TableColumn::cell);
using Texts = std::vector<std::string>;

constexpr std::string_view kNone = "<none>";
// Lists of addresses show this many.
constexpr std::size_t kShownItems = 3;

std::int64_t number_at(const Value& object, std::string_view pointer) {
  return wire::int_at(object, pointer).value_or(0);
}

std::string joined(const Texts& texts, std::string_view between = ",") {
  return fmt::format("{}", fmt::join(texts, between));
}

Cell text(std::string_view pointer, std::string_view missing = {}) {
  return [=](const Value& object, WallTime) {
    const std::string_view found = wire::string_at(object, pointer);
    return Value(found.empty() ? missing : found);
  };
}
Cell number(std::string_view pointer) {
  return [=](const Value& object, WallTime) { return Value(number_at(object, pointer)); };
}
// How many elements or members lie there.
Cell count(std::string_view pointer) {
  return [=](const Value& object, WallTime) {
    const Object* members = wire::object_at(object, pointer);
    return Value(members != nullptr ? members->size() : items_at(object, pointer).size());
  };
}
Cell age(std::string_view pointer = "/metadata/creationTimestamp") {
  return [=](const Value& object, WallTime now) {
    return Value(human_age(wire::string_at(object, pointer), now));
  };
}
// "ready/wanted".
Cell ratio(std::string_view ready, std::string_view wanted) {
  return [=](const Value& object, WallTime) {
    return Value(fmt::format("{}/{}", number_at(object, ready), number_at(object, wanted)));
  };
}
// One field of all items.
Cell each(std::string_view list, std::string_view field) {
  return [=](const Value& object, WallTime) {
    Texts texts;
    for (const Value& item : items_at(object, list))
      texts.emplace_back(wire::string_at(item, field));
    return Value(joined(texts));
  };
}
Cell selector() {
  return [](const Value& object, WallTime) {
    const std::string found = selector_text(wire::find(object, "/spec/selector"));
    return Value(found.empty() ? std::string(kNone) : found);
  };
}

TableColumn name_column(std::int64_t priority = 0) {
  return {"Name", "string", "name", {}, priority, text("/metadata/name")};
}
TableColumn column(std::string name, Cell cell, std::string type = "string") {
  return {std::move(name), std::move(type), {}, {}, 0, std::move(cell)};
}
TableColumn wide(std::string name, Cell cell) {
  return {std::move(name), "string", {}, {}, 1, std::move(cell)};
}

// "a,b,c + 2 more...".
std::string shortened(const Texts& texts, std::string_view none) {
  if (texts.empty()) return std::string(none);
  if (texts.size() <= kShownItems) return joined(texts);
  const Texts shown(texts.begin(), texts.begin() + kShownItems);
  return fmt::format("{} + {} more...", joined(shown), texts.size() - kShownItems);
}

std::string balancer_addresses(const Value& object) {
  std::set<std::string> addresses;
  for (const Value& one : items_at(object, "/status/loadBalancer/ingress")) {
    const std::string_view ip = wire::string_at(one, "/ip");
    addresses.emplace(ip.empty() ? wire::string_at(one, "/hostname") : ip);
  }
  addresses.erase("");
  return fmt::format("{}", fmt::join(addresses, ","));
}

Value service_external_ip(const Value& service, WallTime) {
  const std::string_view type = wire::string_at(service, "/spec/type");
  if (type == "ExternalName") return Value(wire::string_at(service, "/spec/externalName"));
  Texts all;
  const bool balanced = type == "LoadBalancer";
  if (balanced) all.push_back(balancer_addresses(service));
  if (balanced && all.front().empty()) all.clear();
  for (const Value& ip : items_at(service, "/spec/externalIPs")) all.emplace_back(ip.get_string());
  if (!all.empty()) return Value(joined(all));
  return Value(balanced ? "<pending>" : kNone);
}

Value service_ports(const Value& service, WallTime) {
  Texts ports;
  for (const Value& port : items_at(service, "/spec/ports")) {
    const std::int64_t node_port = number_at(port, "/nodePort");
    ports.push_back(fmt::format("{}{}/{}", number_at(port, "/port"),
                                node_port > 0 ? fmt::format(":{}", node_port) : "",
                                wire::string_at(port, "/protocol")));
  }
  return Value(ports.empty() ? std::string(kNone) : joined(ports));
}

// The selector of a Service is a plain map.
Value service_selector(const Value& service, WallTime) {
  const Value* labels = wire::find(service, "/spec/selector");
  if (labels == nullptr) return Value(kNone);
  const Value wrapped = Object{{"matchLabels", *labels}};
  return Value(selector_text(&wrapped));
}

Value ingress_hosts(const Value& ingress, WallTime) {
  Texts hosts;
  const Array& rules = items_at(ingress, "/spec/rules");
  for (const Value& rule : rules) {
    const std::string_view host = wire::string_at(rule, "/host");
    if (!host.empty()) hosts.emplace_back(host);
  }
  return Value(shortened(hosts, "*"));
}

Value endpoints_addresses(const Value& endpoints, WallTime) {
  Texts all;
  for (const Value& subset : items_at(endpoints, "/subsets")) {
    const Array& ports = items_at(subset, "/ports");
    for (std::size_t i = 0; i < std::max<std::size_t>(ports.size(), 1); ++i) {
      for (const Value& address : items_at(subset, "/addresses")) {
        std::string one(wire::string_at(address, "/ip"));
        if (one.find(':') != std::string::npos && !ports.empty()) one = "[" + one + "]";
        if (!ports.empty()) one += fmt::format(":{}", number_at(ports[i], "/port"));
        all.push_back(std::move(one));
      }
    }
  }
  return Value(shortened(all, items_at(endpoints, "/subsets").empty() ? kNone : ""));
}

Value slice_ports(const Value& slice, WallTime) {
  Texts ports;
  for (const Value& port : items_at(slice, "/ports")) {
    const auto given = wire::int_at(port, "/port");
    const std::string_view name = wire::string_at(port, "/name");
    ports.push_back(given ? std::to_string(*given) : std::string(name.empty() ? "*" : name));
  }
  return Value(shortened(ports, "<unset>"));
}

Value slice_addresses(const Value& slice, WallTime) {
  Texts all;
  for (const Value& endpoint : items_at(slice, "/endpoints")) {
    for (const Value& address : items_at(endpoint, "/addresses")) {
      if (address.is_string()) all.emplace_back(address.get_string());
    }
  }
  return Value(shortened(all, "<unset>"));
}

Value node_status(const Value& node, WallTime) {
  std::string status = "Unknown";
  for (const Value& condition : items_at(node, "/status/conditions")) {
    if (wire::string_at(condition, "/type") != "Ready") continue;
    status = wire::string_at(condition, "/status") == "True" ? "Ready" : "NotReady";
  }
  if (wire::bool_at(node, "/spec/unschedulable").value_or(false)) status += ",SchedulingDisabled";
  return Value(status);
}

Value node_roles(const Value& node, WallTime) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const Object* labels = wire::object_at(node, "/metadata/labels");
  for (const auto& label : labels == nullptr ? Object() : *labels) {
    const std::string_view key = label.key();
    if (key.starts_with(kPrefix)) roles.emplace(key.substr(kPrefix.size()));
  }
  roles.erase("");
  return Value(roles.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(roles, ",")));
}

Cell node_address(std::string_view type) {
  return [=](const Value& node, WallTime) {
    for (const Value& address : items_at(node, "/status/addresses")) {
      if (wire::string_at(address, "/type") != type) continue;
      return Value(wire::string_at(address, "/address"));
    }
    return Value(kNone);
  };
}

Value node_kernel(const Value& node, WallTime) {
  std::string kernel(wire::string_at(node, "/status/nodeInfo/kernelVersion"));
  if (kernel.empty()) kernel = "<unknown>";
  const std::string_view machine = wire::string_at(node, "/status/nodeInfo/architecture");
  return Value(machine.empty() ? kernel : fmt::format("{} ({})", kernel, machine));
}

std::string first_seen(const Value& event, WallTime now) {
  const std::string_view first = wire::string_at(event, "/firstTimestamp");
  return human_age(first.empty() ? wire::string_at(event, "/eventTime") : first, now);
}

Value event_last_seen(const Value& event, WallTime now) {
  if (wire::object_at(event, "/series") != nullptr) {
    return Value(human_age(wire::string_at(event, "/series/lastObservedTime"), now));
  }
  const std::string_view last = wire::string_at(event, "/lastTimestamp");
  return Value(last.empty() ? first_seen(event, now) : human_age(last, now));
}

Value event_object(const Value& event, WallTime) {
  std::string kind(wire::string_at(event, "/involvedObject/kind"));
  for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string_view name = wire::string_at(event, "/involvedObject/name");
  return Value(name.empty() ? kind : fmt::format("{}/{}", kind, name));
}

Value event_source(const Value& event, WallTime) {
  std::string_view component = wire::string_at(event, "/source/component");
  std::string_view host = wire::string_at(event, "/source/host");
  if (component.empty()) component = wire::string_at(event, "/reportingComponent");
  if (host.empty()) host = wire::string_at(event, "/reportingInstance");
  return Value(host.empty() ? std::string(component) : fmt::format("{}, {}", component, host));
}

Value event_message(const Value& event, WallTime) {
  std::string_view message = wire::string_at(event, "/message");
  while (message.ends_with('\n') || message.ends_with(' ')) message.remove_suffix(1);
  return Value(message);
}

Value event_count(const Value& event, WallTime) {
  if (wire::object_at(event, "/series") != nullptr) return number_at(event, "/series/count");
  return std::max<std::int64_t>(number_at(event, "/count"), 1);
}

Value bound_role(const Value& binding, WallTime) {
  return Value(fmt::format("{}/{}", wire::string_at(binding, "/roleRef/kind"),
                           wire::string_at(binding, "/roleRef/name")));
}

Cell subjects(std::string_view kind) {
  return [=](const Value& binding, WallTime) {
    Texts names;
    for (const Value& subject : items_at(binding, "/subjects")) {
      if (wire::string_at(subject, "/kind") != kind) continue;
      const std::string_view ns = wire::string_at(subject, "/namespace");
      const std::string_view name = wire::string_at(subject, "/name");
      names.push_back(ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name));
    }
    return Value(joined(names, ", "));
  };
}

Cell pod_cell(Value (*show)(const PodSummary&, WallTime)) {
  return [=](const Value& pod, WallTime now) { return show(summarize_pod(pod), now); };
}

Value pod_restarts(const PodSummary& pod, WallTime now) {
  if (pod.restarts == 0 || pod.last_restart.empty()) return Value(std::to_string(pod.restarts));
  return Value(fmt::format("{} ({} ago)", pod.restarts, human_age(pod.last_restart, now)));
}

Value secret_data(const Value& object, WallTime) {
  const Object* data = wire::object_at(object, "/data");
  const Object* binary = wire::object_at(object, "/binaryData");
  return Value((data == nullptr ? 0 : data->size()) + (binary == nullptr ? 0 : binary->size()));
}

Value class_parameters(const Value& object, WallTime) {
  const Value* of = wire::find(object, "/spec/parameters");
  if (of == nullptr) return Value(kNone);
  const std::string_view group = wire::string_at(*of, "/apiGroup");
  return Value(fmt::format("{}{}{}/{}", wire::string_at(*of, "/kind"), group.empty() ? "" : ".",
                           group, wire::string_at(*of, "/name")));
}

TableColumns pod_columns() {
  return {
      name_column(),
      column("Ready", pod_cell([](const PodSummary& pod, WallTime) {
               return Value(fmt::format("{}/{}", pod.ready, pod.containers));
             })),
      column("Status", pod_cell([](const PodSummary& pod, WallTime) { return Value(pod.reason); })),
      column("Restarts", pod_cell(pod_restarts)),
      column("Age", age()),
      wide("IP", text("/status/podIPs/0/ip", kNone)),
      wide("Node", text("/spec/nodeName", kNone)),
      wide("Nominated Node", text("/status/nominatedNodeName", kNone)),
      wide("Readiness Gates",
           [](const Value& pod, WallTime) { return Value(readiness_gates(pod)); }),
  };
}

void add_containers(TableColumns& columns, bool with_selector) {
  constexpr std::string_view kContainers = "/spec/template/spec/containers";
  columns.push_back(wide("Containers", each(kContainers, "/name")));
  columns.push_back(wide("Images", each(kContainers, "/image")));
  if (with_selector) columns.push_back(wide("Selector", selector()));
}

using ColumnMap = std::map<std::string_view, TableColumns>;

void add_workloads(ColumnMap& all) {
  all["Pod"] = pod_columns();
  all["Deployment"] = {
      name_column(), column("Ready", ratio("/status/readyReplicas", "/spec/replicas")),
      column("Up-to-date", number("/status/updatedReplicas")),
      column("Available", number("/status/availableReplicas")), column("Age", age())};
  add_containers(all["Deployment"], true);
  all["ReplicaSet"] = {name_column(), column("Desired", number("/spec/replicas"), "integer"),
                       column("Current", number("/status/replicas"), "integer"),
                       column("Ready", number("/status/readyReplicas"), "integer"),
                       column("Age", age())};
  add_containers(all["ReplicaSet"], true);
  all["StatefulSet"] = {name_column(),
                        column("Ready", ratio("/status/readyReplicas", "/spec/replicas")),
                        column("Age", age())};
  add_containers(all["StatefulSet"], false);
  all["Scale"] = {{"Name", "string", {}, {}, 0, text("/metadata/name")},
                  column("Desired", number("/spec/replicas"), "integer"),
                  column("Available", number("/status/replicas"), "integer"),
                  column("Age", age())};
  all["Node"] = {
      name_column(),
      column("Status", node_status),
      column("Roles", node_roles),
      column("Age", age()),
      column("Version", text("/status/nodeInfo/kubeletVersion")),
      wide("Internal-IP", node_address("InternalIP")),
      wide("External-IP", node_address("ExternalIP")),
      wide("OS-Image", text("/status/nodeInfo/osImage", "<unknown>")),
      wide("Kernel-Version", node_kernel),
      wide("Container-Runtime", text("/status/nodeInfo/containerRuntimeVersion", "<unknown>"))};
}

void add_network(ColumnMap& all) {
  all["Service"] = {name_column(),
                    column("Type", text("/spec/type")),
                    column("Cluster-IP", text("/spec/clusterIP", kNone)),
                    column("External-IP", service_external_ip),
                    column("Port(s)", service_ports),
                    column("Age", age()),
                    wide("Selector", service_selector)};
  all["Ingress"] = {name_column(),
                    column("Class", text("/spec/ingressClassName", kNone)),
                    column("Hosts", ingress_hosts),
                    column("Address", [](const Value& object,
                                         WallTime) { return Value(balancer_addresses(object)); }),
                    column("Ports",
                           [](const Value& object, WallTime) {
                             return Value(items_at(object, "/spec/tls").empty() ? "80" : "80, 443");
                           }),
                    column("Age", age())};
  all["IngressClass"] = {name_column(), column("Controller", text("/spec/controller")),
                         column("Parameters", class_parameters), column("Age", age())};
  all["Endpoints"] = {name_column(), column("Endpoints", endpoints_addresses),
                      column("Age", age())};
  all["EndpointSlice"] = {name_column(), column("AddressType", text("/addressType")),
                          column("Ports", slice_ports), column("Endpoints", slice_addresses),
                          column("Age", age())};
}

void add_plain_kinds(ColumnMap& all) {
  all["Namespace"] = {name_column(), column("Status", text("/status/phase")), column("Age", age())};
  all["ConfigMap"] = {name_column(), column("Data", secret_data), column("Age", age())};
  all["Secret"] = {name_column(), column("Type", text("/type")), column("Data", secret_data),
                   column("Age", age())};
  all["ServiceAccount"] = {name_column(), column("Age", age())};
  all["Lease"] = {name_column(), column("Holder", text("/spec/holderIdentity")),
                  column("Age", age())};
  all["Event"] = {column("Last Seen", event_last_seen),
                  column("Type", text("/type")),
                  column("Reason", text("/reason")),
                  column("Object", event_object),
                  wide("Subobject", text("/involvedObject/fieldPath")),
                  wide("Source", event_source),
                  column("Message", event_message),
                  wide("First Seen", [](const Value& event,
                                        WallTime now) { return Value(first_seen(event, now)); }),
                  wide("Count", event_count),
                  name_column(1)};
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    all[kind] = {name_column(), column("Webhooks", count("/webhooks"), "integer"),
                 column("Age", age())};
  }
  for (const char* kind : {"RoleBinding", "ClusterRoleBinding"}) {
    all[kind] = {name_column(),
                 column("Role", bound_role),
                 column("Age", age()),
                 wide("Users", subjects("User")),
                 wide("Groups", subjects("Group")),
                 wide("ServiceAccounts", subjects("ServiceAccount"))};
  }
  all[""] = {name_column(), column("Created At", text("/metadata/creationTimestamp"), "date")};
}

ColumnMap all_columns() {
  ColumnMap all;
  add_workloads(all);
  add_network(all);
  add_plain_kinds(all);
  return all;
}

}  // namespace

const TableColumns& builtin_columns(std::string_view kind) {
  static const ColumnMap kAll = all_columns();
  const auto found = kAll.find(kind);
  return found == kAll.end() ? kAll.at("") : found->second;
}

}  // namespace berth::sim::kube
