#include "kube/cache/pod.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::kube {
namespace {

using wire::JsonNode;
using wire::ProtoField;

// Lists while they are read; what is shared is made once at the end.
struct Lists {
  std::vector<ContainerPort> ports{};
  std::vector<ContainerPort> init_ports{};
  std::vector<Interned> gates{};
  std::vector<Condition> conditions{};
  std::string single_ip{};  // status.podIP, for servers that send no podIPs

  void move_to(Pod& pod) {
    init_ports.insert(init_ports.end(), ports.begin(), ports.end());
    pod.ports = std::move(init_ports);
    pod.readiness_gates = std::move(gates);
    pod.conditions = std::move(conditions);
    if (pod.ips.empty() && !single_ip.empty()) pod.ips.push_back(std::move(single_ip));
    pod.ips.shrink_to_fit();
  }
};

PodPhase phase_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PodPhase>, 4> kPhases{{
      {"Pending", PodPhase::pending},
      {"Running", PodPhase::running},
      {"Succeeded", PodPhase::succeeded},
      {"Failed", PodPhase::failed},
  }};
  for (const auto& [name, phase] : kPhases) {
    if (name == text) return phase;
  }
  return PodPhase::unknown;
}

// The API refuses numbers outside of 1-65535, so cutting loses nothing.
std::uint16_t port_number(std::uint64_t number) { return static_cast<std::uint16_t>(number); }

// --- JSON

ContainerPort read_port(JsonNode node) {
  ContainerPort port;
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "name") port.name = Interned(value.string());
    if (key == "hostPort")
      port.host_port = port_number(static_cast<std::uint64_t>(value.integer()));
    if (key == "containerPort")
      port.port = port_number(static_cast<std::uint64_t>(value.integer()));
    if (key == "protocol") port.protocol = Interned(value.string());
  });
  return port;
}

void read_container(JsonNode node, bool init, std::vector<ContainerPort>& ports) {
  Interned name;
  const std::size_t first = ports.size();
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "name") name = Interned(value.string());
    if (key == "ports") value.items([&](JsonNode item) { ports.push_back(read_port(item)); });
  });
  for (std::size_t i = first; i < ports.size(); ++i) {
    ports[i].container = name;
    ports[i].init = init;
  }
}

// The one field of an object in which a list wraps its texts.
std::string_view text_in(JsonNode node, std::string_view field) {
  std::string_view text;
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == field) text = value.string();
  });
  return text;
}

Condition read_condition(JsonNode node) {
  Condition condition;
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "type") condition.type = Interned(value.string());
    if (key == "status") condition.status = condition_status(value.string());
  });
  return condition;
}

void read_spec(JsonNode node, Pod& pod, Lists& lists) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "nodeName") {
      pod.node = Interned(value.string());
    } else if (key == "containers") {
      value.items([&](JsonNode item) { read_container(item, false, lists.ports); });
    } else if (key == "initContainers") {
      value.items([&](JsonNode item) { read_container(item, true, lists.init_ports); });
    } else if (key == "readinessGates") {
      value.items([&](JsonNode item) { lists.gates.emplace_back(text_in(item, "conditionType")); });
    }
  });
}

void read_status(JsonNode node, Pod& pod, Lists& lists) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "phase") {
      pod.phase = phase_of(value.string());
    } else if (key == "conditions") {
      value.items([&](JsonNode item) { lists.conditions.push_back(read_condition(item)); });
    } else if (key == "hostIP") {
      pod.host_ip = Interned(value.string());
    } else if (key == "podIP") {
      lists.single_ip = value.string();
    } else if (key == "podIPs") {
      value.items([&](JsonNode item) { pod.ips.emplace_back(text_in(item, "ip")); });
    }
  });
}

Result<Pod> pod_from_json(const MetaRules& rules, wire::JsonReader& reader, std::string_view text) {
  Pod pod;
  Lists lists;
  auto decoded = decode_object(reader, text, types::kPod, rules, pod.meta,
                               [&](std::string_view key, JsonNode value) {
                                 if (key == "spec") read_spec(value, pod, lists);
                                 if (key == "status") read_status(value, pod, lists);
                               });
  if (!decoded) return pass(decoded);
  lists.move_to(pod);
  return pod;
}

// --- protobuf, by the field numbers of k8s.io.api.core.v1

bool read_port(std::string_view message, std::vector<ContainerPort>& ports) {
  ContainerPort& port = ports.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: port.name = Interned(field.bytes); break;
      case 2: port.host_port = port_number(field.scalar); break;
      case 3: port.port = port_number(field.scalar); break;
      case 4: port.protocol = Interned(field.bytes); break;
      default: break;
    }
    return true;
  });
}

bool read_container(std::string_view message, bool init, std::vector<ContainerPort>& ports) {
  std::string_view name;
  const std::size_t first = ports.size();
  const bool ok = for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) name = field.bytes;
    return field.number != 6 || read_port(field.bytes, ports);
  });
  for (std::size_t i = first; i < ports.size(); ++i) {
    ports[i].container = Interned(name);
    ports[i].init = init;
  }
  return ok;
}

// Field 1 of the message in which a list wraps its texts.
bool read_text(std::string_view message, std::string_view& text) {
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) text = field.bytes;
    return true;
  });
}

bool read_gate(std::string_view message, std::vector<Interned>& gates) {
  std::string_view type;
  if (!read_text(message, type)) return false;
  gates.emplace_back(type);
  return true;
}

bool read_ip(std::string_view message, std::vector<std::string>& ips) {
  std::string_view ip;
  if (!read_text(message, ip)) return false;
  ips.emplace_back(ip);
  return true;
}

bool read_condition(std::string_view message, std::vector<Condition>& conditions) {
  Condition& condition = conditions.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) condition.type = Interned(field.bytes);
    if (field.number == 2) condition.status = condition_status(field.bytes);
    return true;
  });
}

bool read_spec(std::string_view message, Pod& pod, Lists& lists) {
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 2: return read_container(field.bytes, false, lists.ports);
      case 10: pod.node = Interned(field.bytes); return true;
      case 20: return read_container(field.bytes, true, lists.init_ports);
      case 28: return read_gate(field.bytes, lists.gates);
      default: return true;
    }
  });
}

bool read_status(std::string_view message, Pod& pod, Lists& lists) {
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: pod.phase = phase_of(field.bytes); return true;
      case 2: return read_condition(field.bytes, lists.conditions);
      case 5: pod.host_ip = Interned(field.bytes); return true;
      case 6: lists.single_ip = field.bytes; return true;
      case 12: return read_ip(field.bytes, pod.ips);
      default: return true;
    }
  });
}

Result<Pod> pod_from_protobuf(const MetaRules& rules, std::string_view message) {
  Pod pod;
  Lists lists;
  auto decoded = decode_object(message, types::kPod, rules, pod.meta, [&](const ProtoField& field) {
    if (field.number == 2) return read_spec(field.bytes, pod, lists);
    return field.number != 3 || read_status(field.bytes, pod, lists);
  });
  if (!decoded) return pass(decoded);
  lists.move_to(pod);
  return pod;
}

}  // namespace

ConditionStatus condition_status(std::string_view text) {
  if (text == "True") return ConditionStatus::yes;
  return text == "False" ? ConditionStatus::no : ConditionStatus::unknown;
}

std::size_t hash_value(const Condition& condition) {
  return combine_hash(hash_value(condition.type), static_cast<std::size_t>(condition.status));
}

std::size_t hash_value(const ContainerPort& port) {
  std::size_t hash = combine_hash(hash_value(port.container), hash_value(port.name));
  hash = combine_hash(hash, hash_value(port.protocol));
  return combine_hash(hash, std::size_t{port.port} << 17 | std::size_t{port.host_port} << 1 |
                                std::size_t{port.init});
}

ConditionStatus Pod::condition(std::string_view type) const {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return condition.status;
  }
  return ConditionStatus::unknown;
}

Projection<Pod> pod_projection(MetaRules rules, Selection selection) {
  return make_projection(types::kPod, std::move(rules), std::move(selection), &pod_from_json,
                         &pod_from_protobuf);
}

}  // namespace berth::kube
