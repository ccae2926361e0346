// For tests: objects in a few lines, and plans as text.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "sim/workloads/write.h"
#include "wire/yaml.h"

namespace berth::workloads {

inline const WallTime kNow = parse_rfc3339("2026-01-02T03:04:05Z").value();

// Missing metadata is filled in: namespace games, the name as uid, a version.
inline wire::Value with_metadata(wire::Value object) {
  const auto set_default = [&](std::string_view pointer, wire::Value value) {
    if (!wire::find(object, pointer)) (void)wire::set_at(object, pointer, std::move(value));
  };
  const std::string name(wire::string_at(object, "/metadata/name"));
  set_default("/metadata/namespace", "games");
  set_default("/metadata/uid", wire::Value("uid-of-" + name));
  set_default("/metadata/resourceVersion", "1");
  set_default("/metadata/generation", 1);
  set_default("/metadata/creationTimestamp", "2026-01-02T03:00:00Z");
  return object;
}

inline AnyPtr object(const kube::ResourceType& type, const wire::Value& value) {
  const Result<AnyObject> decoded = any_object(type, with_metadata(value));
  EXPECT_TRUE(decoded) << decoded.error().to_string();
  return std::make_shared<const AnyObject>(*decoded);
}
inline AnyPtr object(const kube::ResourceType& type, std::string_view yaml) {
  return object(type, wire::parse_yaml(yaml).value());
}

struct PodShape {
  std::string name{};
  std::string labels = "{app: room}";
  std::string owner{};  // name of its controller
  std::string owner_kind = "ReplicaSet";
  std::string phase = "Running";
  bool ready = true;
  bool deleting = false;
  bool scheduled = true;
  std::string created = "2026-01-02T03:00:00Z";
  std::string annotations = "{}";
  std::string ip = "127.16.0.1";
  std::string ports = "[]";
};
inline PodPtr pod(const PodShape& shape) {
  std::string yaml = fmt::format(
      "metadata: {{name: {0}, labels: {1}, annotations: {2}, creationTimestamp: '{3}'}}\n"
      "spec: {{containers: [{{name: room, image: 'room:1', ports: {4}}}]}}\n"
      "status: {{phase: {5}, podIP: {6}, podIPs: [{{ip: {6}}}],"
      " conditions: [{{type: Ready, status: '{7}'}}]}}\n",
      shape.name, shape.labels, shape.annotations, shape.created, shape.ports, shape.phase,
      shape.ip, shape.ready ? "True" : "False");
  wire::Value value = with_metadata(wire::parse_yaml(yaml).value());
  if (shape.scheduled) (void)wire::set_at(value, "/spec/nodeName", "loopback");
  if (shape.deleting)
    (void)wire::set_at(value, "/metadata/deletionTimestamp", "2026-01-02T03:04:00Z");
  if (!shape.owner.empty()) {
    (void)wire::set_at(value, "/metadata/ownerReferences",
                       wire::Array{wire::Object{{"apiVersion", "apps/v1"},
                                                {"kind", shape.owner_kind},
                                                {"name", shape.owner},
                                                {"uid", "uid-of-" + shape.owner},
                                                {"controller", true}}});
  }
  wire::JsonReader reader;
  const auto decoded = kube::pod_projection({.annotations = kube::KeyFilter::everything()})
                           .from_json(reader, wire::to_json(value));
  EXPECT_TRUE(decoded) << decoded.error().to_string();
  return std::make_shared<const kube::Pod>(*decoded);
}

// "create room-0", "create room-*" for a generated name, "patch x /spec/replicas=2", "status x",
// "remove x".
inline std::string shown(const Write& write) {
  switch (write.verb) {
    case Verb::create: {
      const std::string prefix(wire::string_at(write.body, "/metadata/generateName"));
      return "create " + (prefix.empty() ? write.key.name : prefix + "*");
    }
    case Verb::remove: return "remove " + write.key.name;
    case Verb::patch_status: return "status " + write.key.name;
    case Verb::patch: break;
  }
  std::string out = "patch " + write.key.name;
  for (const wire::Value& operation : write.body.get_array()) {
    const std::string_view op = wire::string_at(operation, "/op");
    if (op == "test") continue;
    out += fmt::format(" {}{}", op == "remove" ? "-" : "", wire::string_at(operation, "/path"));
    if (const wire::Value* value = wire::find(operation, "/value"); value && !value->is_object())
      out += "=" + wire::to_json(*value);
  }
  return out;
}
inline std::vector<std::string> shown(const Writes& writes) {
  std::vector<std::string> out;
  for (const Write& write : writes) out.push_back(shown(write));
  return out;
}

// The value that the plan's status write has there, as JSON; "(none)" when there is none.
inline std::string status_at(const Writes& writes, std::string_view pointer) {
  for (const Write& write : writes) {
    if (write.verb != Verb::patch_status) continue;
    const wire::Value* status = wire::find(write.body, "/1/value");
    const wire::Value* found = status ? wire::find(*status, pointer) : nullptr;
    if (found) return wire::to_json(*found);
  }
  return "(none)";
}

}  // namespace berth::workloads
