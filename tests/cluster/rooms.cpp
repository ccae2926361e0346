#include "rooms.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "support/promise.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;

Object room_annotations(const std::string& ports, const std::string& keep, bool gate) {
  Object out{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, ports}};
  if (!keep.empty()) out[api::kKeepDurationAnnotation] = keep;
  if (gate) out[api::kReadinessGateAnnotation] = "true";
  return out;
}

Object room_spec() {
  const Array ports{Object{{"containerPort", 8000}, {"name", "game"}},
                    Object{{"containerPort", 8001}, {"name", "chat"}},
                    Object{{"containerPort", 8002}, {"name", "voice"}, {"protocol", "UDP"}}};
  return {{"terminationGracePeriodSeconds", 1},
          {"containers",
           Array{Object{{"name", "room"}, {"image", "example/room:1"}, {"ports", ports}}}}};
}

bool is_true(const Value& pod, std::string_view condition) {
  const Array* conditions = wire::array_at(pod, "/status/conditions");
  return std::ranges::any_of(conditions ? *conditions : Array{}, [&](const Value& one) {
    return wire::string_at(one, "/type") == condition && wire::string_at(one, "/status") == "True";
  });
}

std::string_view annotation(const Value& object, std::string_view key) {
  return wire::string_at(object, "/metadata/annotations/" + wire::escape_pointer_step(key));
}

std::map<std::string, api::Listener> listeners_in(BerthCluster& cluster, const std::string& ns) {
  std::map<std::string, api::Listener> out;
  for (const Value& value : cluster.list(api::listener_kind().type, ns)) {
    Result<api::Listener> listener = api::decode_listener(value);
    if (listener) out.emplace(listener->meta.name, std::move(*listener));
  }
  return out;
}

bool leads_to(const api::Listener& listener, const Room& room, const api::PortBindingItem& port) {
  if (!listener.spec.target_group) return false;
  const auto& backends = listener.spec.target_group->backends;
  return backends.size() == 1 && backends.front().ip == room.ip &&
         backends.front().port == port.rs_start_port && listener.status.status == api::kSynced &&
         claims::is_applied(listener);
}

// What is wrong with the Listeners of one port; the names of those that are its are taken out.
std::string check_port(const Room& room, const api::PortBindingItem& port,
                       std::map<std::string, api::Listener>& listeners) {
  bool first = true;
  for (const std::string& id : port.load_balancer_ids) {
    const auto lb = model::parse_load_balancer(id, {});
    const auto protocol = api::parse_pool_protocol(port.protocol);
    if (!lb || !protocol) return fmt::format("{} has no readable port", room.name);
    const std::string name = api::pool_listener_name(*lb, *protocol, api::ports_of(port));
    const auto it = listeners.find(name);
    if (it == listeners.end())
      return fmt::format("{} has a port without Listener {}", room.name, name);
    if (!leads_to(it->second, room, port))
      return fmt::format("Listener {} does not lead to {} yet", name, room.name);
    const auto claim = claims::claim_of(it->second);
    if (first && (!claim || claim->state != ledger::SlotState::bound || claim->pod_uid != room.uid))
      return fmt::format("Listener {} is not bound to {}", name, room.name);
    first = false;
    listeners.erase(it);
  }
  return {};
}

std::string check_room(const Room& room) {
  if (room.deleting || room.finished) return room.name + " is on its way out";
  if (room.ports.empty()) return room.name + " has no ports";
  if (room.told != api::kReady) return room.name + " is not told Ready";
  if (room.gated && !room.gate_open) return "the gate of " + room.name + " is closed";
  if (!room.ready) return room.name + " is not Ready";
  return {};
}

}  // namespace

const std::vector<const kube::ResourceType*>& known_types() {
  using namespace kube::types;
  static const std::vector<const kube::ResourceType*> kTypes{&kPod,
                                                             &kNamespace,
                                                             &kDeployment,
                                                             &kStatefulSet,
                                                             &kMutatingWebhookConfiguration,
                                                             &kValidatingWebhookConfiguration,
                                                             &quota_type(),
                                                             &api::port_pool_kind().type};
  return kTypes;
}

const kube::ResourceType& quota_type() {
  static const kube::ResourceType kQuota{"", "v1", "resourcequotas", "ResourceQuota", true};
  return kQuota;
}

std::string load_balancer_id(const std::string& name) {
  return fmt::format("edge:{}-{}", name, ::getpid());
}

Value pool_item(const PoolItem& item) {
  Array ids;
  for (const std::string& id : item.load_balancers) ids.emplace_back(id);
  Object out{{"itemName", item.name},
             {"loadBalancerIDs", ids},
             {"protocol", item.protocol},
             {"startPort", item.start},
             {"endPort", item.end}};
  if (item.segment > 0) out["segmentLength"] = item.segment;
  if (!item.external.empty()) out["external"] = item.external;
  return out;
}

Value pool(const std::string& ns, const std::string& name, const std::vector<PoolItem>& items,
           const std::string& policy) {
  Array list;
  for (const PoolItem& item : items) list.push_back(pool_item(item));
  Object spec{{"poolItems", list}};
  if (!policy.empty()) spec["allocatePolicy"] = policy;
  return Object{{"apiVersion", api::port_pool_kind().type.api_version()},
                {"kind", "PortPool"},
                {"metadata", Object{{"namespace", ns}, {"name", name}}},
                {"spec", spec}};
}

Result<> make_pool(BerthCluster& cluster, const Value& pool) {
  const std::string ns(wire::string_at(pool, "/metadata/namespace"));
  const std::string name(wire::string_at(pool, "/metadata/name"));
  if (const Result<Value> made = cluster.create(pool); !made) return fail(made.error());
  Value last;
  const bool ready = eventually(kPatience, [&] {
    cluster.tend();
    last = cluster.get(api::port_pool_kind().type, ns, name).value_or(Value());
    return wire::string_at(last, "/status/status") == api::kReady;
  });
  if (!ready) return fail(Code::timeout, "not Ready: {}", wire::to_json(last));
  return {};
}

Result<> set_items(BerthCluster& cluster, const std::string& ns, const std::string& name,
                   const std::vector<PoolItem>& items) {
  Array list;
  for (const PoolItem& item : items) list.push_back(pool_item(item));
  const Result<Value> changed = cluster.merge(api::port_pool_kind().type, ns, name,
                                              Object{{"spec", Object{{"poolItems", list}}}});
  return changed ? Result<>{} : fail(changed.error());
}

Value workload(const RoomsSpec& spec) {
  const Object labels{{"app", spec.name}};
  const Object meta{{"labels", labels},
                    {"annotations", room_annotations(spec.ports, spec.keep, spec.gate)}};
  Object out{{"replicas", spec.replicas},
             {"selector", Object{{"matchLabels", labels}}},
             {"template", Object{{"metadata", meta}, {"spec", room_spec()}}}};
  if (spec.kind == "StatefulSet") {
    out["serviceName"] = spec.name;
    out["podManagementPolicy"] = "Parallel";
  }
  return Object{{"apiVersion", "apps/v1"},
                {"kind", spec.kind},
                {"metadata", Object{{"namespace", spec.ns}, {"name", spec.name}}},
                {"spec", out}};
}

Value bare_room(const std::string& ns, const std::string& name, const std::string& ports) {
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", Object{{"namespace", ns},
                                    {"name", name},
                                    {"annotations", room_annotations(ports, "", true)}}},
                {"spec", room_spec()}};
}

Result<> scale(BerthCluster& cluster, const RoomsSpec& spec, int replicas) {
  const auto& type =
      spec.kind == "StatefulSet" ? kube::types::kStatefulSet : kube::types::kDeployment;
  const Result<Value> done =
      cluster.merge(type, spec.ns, spec.name, Object{{"spec", Object{{"replicas", replicas}}}});
  return done ? Result<>{} : fail(done.error());
}

std::vector<std::string> Room::port_names() const {
  std::vector<std::string> out;
  for (const api::PortBindingItem& port : ports) {
    const model::PortRange range = api::ports_of(port);
    for (std::uint32_t n = range.first; n <= range.last; ++n)
      out.push_back(fmt::format("{} {} {}", port.load_balancer_ids.front(), port.protocol, n));
  }
  return out;
}

Room room_of(const Value& pod) {
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  Room out{.name = std::string(wire::string_at(pod, "/metadata/name")),
           .uid = std::string(wire::string_at(pod, "/metadata/uid")),
           .ip = std::string(wire::string_at(pod, "/status/podIP")),
           .token = std::string(wire::string_at(
               pod, "/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel))),
           .deleting = !wire::string_at(pod, "/metadata/deletionTimestamp").empty(),
           .finished = phase == "Succeeded" || phase == "Failed",
           .ready = is_true(pod, "Ready"),
           .told = std::string(annotation(pod, api::kBindStatusAnnotation)),
           .gated = wire::array_at(pod, "/spec/readinessGates") != nullptr,
           .gate_open = is_true(pod, api::kPortsReadyCondition)};
  if (auto ports = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation)))
    out.ports = std::move(*ports);
  return out;
}

std::vector<Room> rooms(BerthCluster& cluster, const std::string& ns) {
  std::vector<Room> out;
  for (const Value& pod : cluster.list(kube::types::kPod, ns)) out.push_back(room_of(pod));
  return out;
}

std::string address_of(const Room& room) {
  std::string out;
  for (const api::PortBindingItem& port : room.ports)
    out += fmt::format("{} {} ", port.protocol, api::public_address(port));
  return out;
}

std::map<std::string, ledger::Claim> claims_in(BerthCluster& cluster, const std::string& ns) {
  std::map<std::string, ledger::Claim> out;
  for (const auto& [name, listener] : listeners_in(cluster, ns))
    if (const auto claim = claims::claim_of(listener)) out.emplace(name, *claim);
  return out;
}

std::string shared_ports(const std::vector<Room>& rooms) {
  std::map<std::string, std::string> holders;
  for (const Room& room : rooms) {
    if (room.finished) continue;
    for (const std::string& port : room.port_names()) {
      const auto [it, fresh] = holders.emplace(port, room.name);
      if (!fresh)
        return testing::broken_promise(
            fmt::format("{} is held by {} and {}", port, it->second, room.name));
    }
  }
  return {};
}

std::string unsettled(BerthCluster& cluster, const std::string& ns, std::size_t count) {
  const std::vector<Room> all = rooms(cluster, ns);
  if (all.size() != count) return fmt::format("{} rooms instead of {}", all.size(), count);
  if (std::string shared = shared_ports(all); !shared.empty()) return shared;
  for (const Room& room : all)
    if (std::string why = check_room(room); !why.empty()) return why;

  std::map<std::string, api::Listener> listeners = listeners_in(cluster, ns);
  for (const Room& room : all) {
    for (const api::PortBindingItem& port : room.ports)
      if (std::string why = check_port(room, port, listeners); !why.empty()) return why;
  }
  for (const auto& [name, listener] : listeners) {
    if (!claims::claim_text(listener).empty())
      return fmt::format("Listener {} is held by nobody: {}", name, claims::claim_text(listener));
    if (claims::has_targets(listener.spec)) return fmt::format("Listener {} leads somewhere", name);
  }
  const std::vector<Value> bindings = cluster.list(api::port_binding_kind().type, ns);
  if (bindings.size() != count) return fmt::format("{} PortBindings", bindings.size());
  for (const Value& binding : bindings) {
    if (wire::string_at(binding, "/status/status") != api::kReady)
      return fmt::format("PortBinding {} is not Ready", wire::string_at(binding, "/metadata/name"));
  }
  return {};
}

std::string settle(BerthCluster& cluster, const std::string& ns, std::size_t count,
                   std::chrono::seconds patience) {
  ReadyClock clock(cluster.tasks(), ns);
  std::string why;
  std::string shared;
  (void)eventually(patience, [&] {
    cluster.tend();
    const std::vector<Room> all = rooms(cluster, ns);
    clock.look(all);
    if (shared = shared_ports(all); !shared.empty()) return true;
    const bool all_ready =
        all.size() == count && std::ranges::all_of(all, [](const Room& r) { return r.ready; });
    why = all_ready ? unsettled(cluster, ns, count) : fmt::format("{} of {}", all.size(), count);
    return why.empty();
  });
  // That it has passed by now does not undo it.
  if (!shared.empty()) return shared;
  return why.empty() ? why : unsettled(cluster, ns, count);
}

void ReadyClock::look(const std::vector<Room>& rooms) {
  const Instant now = tasks_.now();
  for (const Room& room : rooms) {
    // One that was there before is none of ours to measure.
    const auto [it, fresh] = seen_.emplace(room.uid, now);
    if (fresh && room.ready)
      seen_.erase(it);
    else if (room.ready && !seconds_.contains(room.uid))
      seconds_[room.uid] = std::chrono::duration<double>(now - it->second).count();
  }
}

ReadyClock::~ReadyClock() {
  std::vector<double> all;
  for (const auto& [uid, seconds] : seconds_) all.push_back(seconds);
  if (all.empty()) return;
  std::ranges::sort(all);
  fmt::print("{}: {} Pods, seconds from creation to Ready: median {:.2f}, longest {:.2f}\n", what_,
             all.size(), all[all.size() / 2], all.back());
}

}  // namespace berth
