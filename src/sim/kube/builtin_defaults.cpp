#include <algorithm>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "sim/kube/builtin_rules.h"
#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Values of fields that were not given.
void default_to(Object& object, std::string_view key, Value value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

std::string text_in(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Object& object_in(Object& parent, std::string_view key) {
  Value& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

template <class Visit>
void for_each_object(Object& parent, std::string_view key, Visit visit) {
  Value* list = parent.if_contains(key);
  if (list == nullptr || !list->is_array()) return;
  for (Value& item : list->get_array()) {
    if (item.is_object()) visit(item.get_object());
  }
}

void drop_nulls(Value& value) {
  if (value.is_array()) {
    for (Value& item : value.get_array()) drop_nulls(item);
  }
  if (!value.is_object()) return;
  Object kept;
  for (auto& field : value.get_object()) {
    if (field.value().is_null()) continue;
    drop_nulls(field.value());
    kept[field.key()] = std::move(field.value());
  }
  value = std::move(kept);
}

// The object under that key; null when there is none.
Object* given(Object* parent, std::string_view key) {
  Value* value = parent == nullptr ? nullptr : parent->if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

void default_http_get(Object* handler) {
  Object* get = given(handler, "httpGet");
  if (get == nullptr) return;
  default_to(*get, "path", "/");
  default_to(*get, "scheme", "HTTP");
}

void default_probe(Object& probe) {
  default_http_get(&probe);
  default_to(probe, "timeoutSeconds", 1);
  default_to(probe, "periodSeconds", 10);
  default_to(probe, "successThreshold", 1);
  default_to(probe, "failureThreshold", 3);
}

void default_volume(Object& volume) {
  constexpr int kReadable = 0644;
  if (volume.size() == 1) volume["emptyDir"] = Object{};
  for (const char* key : {"configMap", "secret", "projected", "downwardAPI"}) {
    if (Object* source = given(&volume, key)) default_to(*source, "defaultMode", kReadable);
  }
  if (Object* path = given(&volume, "hostPath")) default_to(*path, "type", "");
}

void default_container(Object& container) {
  for_each_object(container, "ports", [](Object& port) { default_to(port, "protocol", "TCP"); });
  for_each_object(container, "env", [](Object& variable) {
    if (Object* field = given(given(&variable, "valueFrom"), "fieldRef")) {
      default_to(*field, "apiVersion", "v1");
    }
  });
  for (const char* key : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (Object* probe = given(&container, key)) default_probe(*probe);
  }
  for (const char* key : {"postStart", "preStop"}) {
    default_http_get(given(given(&container, "lifecycle"), key));
  }
  default_to(container, "resources", Object{});
  default_to(container, "terminationMessagePath", "/dev/termination-log");
  default_to(container, "terminationMessagePolicy", "File");
  const std::string image = text_in(container, "image");
  const std::size_t colon = image.rfind(':');
  const bool tagged = colon != std::string_view::npos &&
                      image.find('/', colon) == std::string_view::npos &&
                      image.substr(colon) != ":latest";
  default_to(container, "imagePullPolicy", tagged ? "IfNotPresent" : "Always");
}

void default_pod_spec(Object& spec) {
  for_each_object(spec, "containers", default_container);
  for_each_object(spec, "initContainers", default_container);
  for_each_object(spec, "volumes", default_volume);
  default_to(spec, "restartPolicy", "Always");
  default_to(spec, "terminationGracePeriodSeconds", 30);
  default_to(spec, "dnsPolicy", "ClusterFirst");
  default_to(spec, "securityContext", Object{});
  default_to(spec, "schedulerName", "default-scheduler");
}

void default_pod(Object& object) {
  Object& spec = object_in(object, "spec");
  default_pod_spec(spec);
  if (const Value* shared = spec.if_contains("hostNetwork"); shared && *shared == Value(true)) {
    for_each_object(spec, "containers", [](Object& container) {
      for_each_object(container, "ports", [](Object& port) {
        if (const Value* number = port.if_contains("containerPort")) {
          default_to(port, "hostPort", *number);
        }
      });
    });
  }
  default_to(spec, "enableServiceLinks", true);
}

void admit_pod(Object& object) {
  Object& spec = object_in(object, "spec");
  default_to(spec, "priority", 0);
  default_to(spec, "preemptionPolicy", "PreemptLowerPriority");
  Value& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations.emplace_array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const bool there = std::ranges::any_of(tolerations.get_array(), [key](const Value& one) {
      const std::string_view given = wire::string_at(one, "/key");
      return given.empty() || given == key;
    });
    if (there) continue;
    tolerations.get_array().push_back(Object{
        {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
  }
}

void default_workload(Object& object) {
  Object& spec = object_in(object, "spec");
  default_to(spec, "replicas", 1);
  default_pod_spec(object_in(object_in(spec, "template"), "spec"));
}

void default_deployment(Object& object) {
  default_workload(object);
  Object& spec = object_in(object, "spec");
  Object& strategy = object_in(spec, "strategy");
  default_to(strategy, "type", "RollingUpdate");
  if (text_in(strategy, "type") == "RollingUpdate") {
    Object& rolling = object_in(strategy, "rollingUpdate");
    default_to(rolling, "maxUnavailable", "25%");
    default_to(rolling, "maxSurge", "25%");
  }
  default_to(spec, "revisionHistoryLimit", 10);
  default_to(spec, "progressDeadlineSeconds", 600);
}

void default_stateful_set(Object& object) {
  default_workload(object);
  Object& spec = object_in(object, "spec");
  default_to(spec, "serviceName", "");
  default_to(spec, "podManagementPolicy", "OrderedReady");
  Object& strategy = object_in(spec, "updateStrategy");
  default_to(strategy, "type", "RollingUpdate");
  if (text_in(strategy, "type") == "RollingUpdate") {
    default_to(object_in(strategy, "rollingUpdate"), "partition", 0);
  }
  default_to(spec, "revisionHistoryLimit", 10);
  default_to(spec, "persistentVolumeClaimRetentionPolicy",
             Object{{"whenDeleted", "Retain"}, {"whenScaled", "Retain"}});
}

void default_service(Object& object) {
  Object& spec = object_in(object, "spec");
  for_each_object(spec, "ports", [](Object& port) {
    default_to(port, "protocol", "TCP");
    if (const Value* number = port.if_contains("port")) default_to(port, "targetPort", *number);
  });
  default_to(spec, "type", "ClusterIP");
  default_to(spec, "sessionAffinity", "None");
  if (text_in(spec, "sessionAffinity") == "ClientIP") {
    Object& client = object_in(object_in(spec, "sessionAffinityConfig"), "clientIP");
    default_to(client, "timeoutSeconds", 10800);
  }
  const std::string type = text_in(spec, "type");
  if (type == "ExternalName") return;
  default_to(spec, "internalTrafficPolicy", "Cluster");
  if (type == "ClusterIP") return;
  default_to(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") default_to(spec, "allocateLoadBalancerNodePorts", true);
}

void default_endpoints(Object& object) {
  for_each_object(object, "subsets", [](Object& subset) {
    for_each_object(subset, "ports", [](Object& port) { default_to(port, "protocol", "TCP"); });
  });
}

// Go writes times that are not set as null, and these texts even when they are empty.
void complete_event(Object& object) {
  default_to(object, "source", Object{});
  for (const char* key : {"firstTimestamp", "lastTimestamp", "eventTime"}) {
    default_to(object, key, nullptr);
  }
  for (const char* key : {"reportingComponent", "reportingInstance"}) default_to(object, key, "");
}

void default_endpoint_slice(Object& object) {
  for_each_object(object, "ports", [](Object& port) {
    default_to(port, "name", "");
    default_to(port, "protocol", "TCP");
  });
  for_each_object(object, "endpoints",
                  [](Object& endpoint) { default_to(endpoint, "conditions", Object{}); });
}

void default_ingress_class(Object& object) {
  if (Object* of = given(given(&object, "spec"), "parameters")) default_to(*of, "scope", "Cluster");
}

void default_secret(Object& object) {
  if (Value* plain = object.if_contains("stringData"); plain != nullptr && plain->is_object()) {
    // Taken out first: a new member may move all others.
    const Object texts = std::move(plain->get_object());
    Object& data = object_in(object, "data");
    for (const auto& entry : texts) {
      if (!entry.value().is_string()) continue;
      data[entry.key()] = base64_encode(std::string_view(entry.value().get_string()));
    }
  }
  object.erase("stringData");
  default_to(object, "type", "Opaque");
}

void default_webhooks(Object& object, bool mutating) {
  for_each_object(object, "webhooks", [mutating](Object& hook) {
    for_each_object(hook, "rules", [](Object& rule) { default_to(rule, "scope", "*"); });
    default_to(hook, "failurePolicy", "Fail");
    default_to(hook, "matchPolicy", "Equivalent");
    default_to(hook, "namespaceSelector", Object{});
    default_to(hook, "objectSelector", Object{});
    default_to(hook, "timeoutSeconds", 10);
    if (mutating) default_to(hook, "reinvocationPolicy", "Never");
  });
}

void default_crd(Object& object) {
  Object& spec = object_in(object, "spec");
  default_to(spec, "conversion", Object{{"strategy", "None"}});
  Object& names = object_in(spec, "names");
  const std::string kind = text_in(names, "kind");
  if (kind.empty()) return;
  std::string singular = kind;
  for (char& c : singular) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  default_to(names, "singular", Value(singular));
  default_to(names, "listKind", Value(kind + "List"));
}

// "Guaranteed" needs a comparison of quantities that nobody here reads.
std::string_view qos_class(const Value& pod) {
  const Array* containers = wire::array_at(pod, "/spec/containers");
  if (containers == nullptr) return "BestEffort";
  const bool any = std::ranges::any_of(*containers, [](const Value& container) {
    return wire::object_at(container, "/resources/requests") != nullptr ||
           wire::object_at(container, "/resources/limits") != nullptr;
  });
  return any ? "Burstable" : "BestEffort";
}

}  // namespace

void set_builtin_defaults(const Kind& kind, Value& object) {
  drop_nulls(object);
  Object& fields = object.get_object();
  const std::string& name = kind.kind;
  if (name == "Pod") default_pod(fields);
  if (name == "ReplicaSet") default_workload(fields);
  if (name == "Deployment") default_deployment(fields);
  if (name == "StatefulSet") default_stateful_set(fields);
  if (name == "Service") default_service(fields);
  if (name == "Secret") default_secret(fields);
  if (name == "Endpoints") default_endpoints(fields);
  if (name == "IngressClass") default_ingress_class(fields);
  if (name == "EndpointSlice") default_endpoint_slice(fields);
  if (name == "MutatingWebhookConfiguration") default_webhooks(fields, true);
  if (name == "ValidatingWebhookConfiguration") default_webhooks(fields, false);
  if (name == "CustomResourceDefinition") default_crd(fields);
  if (name == "Lease") object_in(fields, "spec");
  if (name == "Namespace") {
    const Array* held = wire::array_at(object, "/spec/finalizers");
    if (held != nullptr && held->empty()) object_in(fields, "spec").erase("finalizers");
  }
  if (name == "Namespace" && !name_of(object).empty()) {
    const std::string own(name_of(object));
    object_in(metadata_of(object), "labels")["kubernetes.io/metadata.name"] = own;
  }
}

void set_admission_defaults(const Kind& kind, Value& object) {
  if (kind.kind == "Pod" && !kind.custom) admit_pod(object.get_object());
}

void prepare_builtin_create(const Kind& kind, Value& object) {
  Object& fields = object.get_object();
  if (kind.versions.front().status_subresource) fields.erase("status");
  const std::string& name = kind.kind;
  if (name == "Pod") {
    fields["status"] = Object{{"phase", "Pending"}, {"qosClass", qos_class(object)}};
  } else if (name == "Namespace") {
    object_in(fields, "spec")["finalizers"] = Array{"kubernetes"};
    fields["status"] = Object{{"phase", "Active"}};
  } else if (name == "Event") {
    complete_event(fields);
  } else if (name == "Service" || name == "Ingress") {
    Object& spec = object_in(fields, "spec");
    if (text_in(spec, "clusterIP") == "None") default_to(spec, "clusterIPs", Array{"None"});
    fields["status"] = Object{{"loadBalancer", Object{}}};
  } else if (name == "Deployment") {
    fields["status"] = Object{};
  } else if (name == "ReplicaSet") {
    fields["status"] = Object{{"replicas", 0}};
  } else if (name == "StatefulSet") {
    fields["status"] = Object{{"replicas", 0}, {"availableReplicas", 0}};
  }
}

}  // namespace berth::sim::kube
