#include "sim/kube/builtin_rules.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/selectors.h"

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

void default_container(Object& container) {
  for_each_object(container, "ports", [](Object& port) { default_to(port, "protocol", "TCP"); });
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
  default_to(spec, "restartPolicy", "Always");
  default_to(spec, "terminationGracePeriodSeconds", 30);
  default_to(spec, "dnsPolicy", "ClusterFirst");
  default_to(spec, "securityContext", Object{});
  default_to(spec, "schedulerName", "default-scheduler");
}

void default_pod(Object& object) {
  Object& spec = object_in(object, "spec");
  default_pod_spec(spec);
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
  default_to(spec, "strategy",
             Object{{"type", "RollingUpdate"},
                    {"rollingUpdate", Object{{"maxUnavailable", "25%"}, {"maxSurge", "25%"}}}});
  default_to(spec, "revisionHistoryLimit", 10);
  default_to(spec, "progressDeadlineSeconds", 600);
}

void default_stateful_set(Object& object) {
  default_workload(object);
  Object& spec = object_in(object, "spec");
  default_to(spec, "serviceName", "");
  default_to(spec, "podManagementPolicy", "OrderedReady");
  default_to(spec, "updateStrategy",
             Object{{"type", "RollingUpdate"}, {"rollingUpdate", Object{{"partition", 0}}}});
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
  default_to(spec, "internalTrafficPolicy", "Cluster");
}

void default_secret(Object& object) {
  if (Value* plain = object.if_contains("stringData"); plain != nullptr && plain->is_object()) {
    Object& data = object_in(object, "data");
    for (const auto& entry : object["stringData"].get_object()) {
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

Cause duplicate_value(std::string field, const Value& value) {
  return {"FieldValueDuplicate", "Duplicate value: " + shown_value(value), std::move(field)};
}

void check_port(const Value& object, const std::string& path, std::string_view key, bool required,
                Causes& causes) {
  const Value* value = wire::find(object, "/" + std::string(key));
  if (value == nullptr && !required) return;
  const std::int64_t number = wire::int_at(object, "/" + std::string(key)).value_or(0);
  if (number >= 1 && number <= 65535) return;
  causes.push_back(invalid_value(fmt::format("{}.{}", path, key), Value(number),
                                 "must be between 1 and 65535, inclusive"));
}

void check_protocol(const Value& port, const std::string& path, Causes& causes) {
  const std::string_view protocol = wire::string_at(port, "/protocol");
  if (protocol == "TCP" || protocol == "UDP" || protocol == "SCTP") return;
  causes.push_back(unsupported_value(path + ".protocol", Value(protocol), {"SCTP", "TCP", "UDP"}));
}

void check_containers(const Value& spec, const std::string& path, Causes& causes) {
  const Array* containers = wire::array_at(spec, "/containers");
  if (containers == nullptr || containers->empty()) {
    causes.push_back(required_value(path + ".containers"));
    return;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const Value& container = (*containers)[i];
    const std::string at = fmt::format("{}.containers[{}]", path, i);
    const std::string_view name = wire::string_at(container, "/name");
    if (name.empty()) {
      causes.push_back(required_value(at + ".name"));
    } else if (!names.insert(name).second) {
      causes.push_back(duplicate_value(at + ".name", Value(name)));
    }
    if (wire::string_at(container, "/image").empty()) {
      causes.push_back(required_value(at + ".image"));
    }
    const Array* ports = wire::array_at(container, "/ports");
    for (std::size_t p = 0; ports != nullptr && p < ports->size(); ++p) {
      const std::string port = fmt::format("{}.ports[{}]", at, p);
      check_port((*ports)[p], port, "containerPort", true, causes);
      check_port((*ports)[p], port, "hostPort", false, causes);
      check_protocol((*ports)[p], port, causes);
    }
  }
}

// The parts of a Pod's spec that an update may change, taken out of a copy.
Value fixed_part(const Value& pod) {
  Value spec = pod.at("spec");
  for (const char* key : {"containers", "initContainers"}) {
    for_each_object(spec.get_object(), key, [](Object& container) { container.erase("image"); });
  }
  for (const char* key : {"tolerations", "activeDeadlineSeconds"}) spec.get_object().erase(key);
  return spec;
}

void check_pod(const Value& pod, const Value* old, Causes& causes) {
  const Value* spec = wire::find(pod, "/spec");
  check_containers(spec == nullptr ? Value(Object{}) : *spec, "spec", causes);
  if (old == nullptr || spec == nullptr || fixed_part(pod) == fixed_part(*old)) return;
  causes.push_back(forbidden_value(
      "spec",
      "pod updates may not change fields other than "
      "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
      "`spec.tolerations` (only additions to existing tolerations),"
      "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
      "negative)"));
}

void check_workload(const Value& object, Causes& causes) {
  const Value* selector = wire::find(object, "/spec/selector");
  if (selector == nullptr) causes.push_back(required_value("spec.selector"));
  const Object* labels = wire::object_at(object, "/spec/template/metadata/labels");
  const LabelSelector wanted = LabelSelector::from_object(selector);
  if (wanted.empty() || !wanted.matches(labels)) {
    causes.push_back(invalid_value("spec.template.metadata.labels",
                                   labels == nullptr ? Value() : Value(*labels),
                                   "`selector` does not match template `labels`"));
  }
  check_containers(object.at("spec").at("template").at("spec"), "spec.template.spec", causes);
}

void check_service(const Value& service, Causes& causes) {
  const std::string_view type = wire::string_at(service, "/spec/type");
  const Array* ports = wire::array_at(service, "/spec/ports");
  const bool headless = wire::string_at(service, "/spec/clusterIP") == "None";
  if (type != "ExternalName" && !headless && (ports == nullptr || ports->empty())) {
    causes.push_back(required_value("spec.ports"));
  }
  for (std::size_t i = 0; ports != nullptr && i < ports->size(); ++i) {
    const std::string path = fmt::format("spec.ports[{}]", i);
    if (ports->size() > 1 && wire::string_at((*ports)[i], "/name").empty()) {
      causes.push_back(required_value(path + ".name"));
    }
    check_port((*ports)[i], path, "port", true, causes);
    const Value* target = wire::find((*ports)[i], "/targetPort");
    if (target != nullptr && target->is_number()) {
      check_port((*ports)[i], path, "targetPort", true, causes);
    }
    check_protocol((*ports)[i], path, causes);
  }
}

void check_choice(const Value& hook, const std::string& path, std::string_view key,
                  const std::vector<std::string>& allowed, Causes& causes) {
  const std::string_view found = wire::string_at(hook, "/" + std::string(key));
  if (std::ranges::find(allowed, found) != allowed.end()) return;
  causes.push_back(unsupported_value(fmt::format("{}.{}", path, key), Value(found), allowed));
}

void check_webhook(const Value& hook, const std::string& path, Causes& causes) {
  const std::string_view name = wire::string_at(hook, "/name");
  if (std::ranges::count(name, '.') < 2) {
    causes.push_back(invalid_value(path + ".name", Value(name),
                                   "should be a domain with at least three segments separated by "
                                   "dots"));
  }
  const Array* rules = wire::array_at(hook, "/rules");
  for (std::size_t i = 0; rules != nullptr && i < rules->size(); ++i) {
    for (const char* key : {"operations", "apiGroups", "apiVersions", "resources"}) {
      const Array* list = wire::array_at((*rules)[i], std::string("/") + key);
      if (list != nullptr && !list->empty()) continue;
      causes.push_back(required_value(fmt::format("{}.rules[{}].{}", path, i, key)));
    }
  }
  check_choice(hook, path, "failurePolicy", {"Fail", "Ignore"}, causes);
  if (wire::find(hook, "/sideEffects") == nullptr) {
    causes.push_back(
        required_value(path + ".sideEffects", "must specify one of None, NoneOnDryRun"));
  } else {
    check_choice(hook, path, "sideEffects", {"None", "NoneOnDryRun"}, causes);
  }
  const std::int64_t timeout = wire::int_at(hook, "/timeoutSeconds").value_or(0);
  if (timeout < 1 || timeout > 30) {
    causes.push_back(invalid_value(path + ".timeoutSeconds", Value(timeout),
                                   "the timeout value must be between 1 and 30 seconds"));
  }
  const bool has_url = wire::find(hook, "/clientConfig/url") != nullptr;
  if (has_url == (wire::find(hook, "/clientConfig/service") != nullptr)) {
    causes.push_back(
        required_value(path + ".clientConfig", "exactly one of url or service is required"));
  }
  const Array* versions = wire::array_at(hook, "/admissionReviewVersions");
  if (versions == nullptr || versions->empty()) {
    causes.push_back(
        required_value(path + ".admissionReviewVersions", "must specify one of v1, v1beta1"));
  } else if (std::ranges::find(*versions, Value("v1")) == versions->end()) {
    causes.push_back(invalid_value(path + ".admissionReviewVersions", *versions,
                                   "must include at least one of v1, v1beta1"));
  }
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
  if (name == "MutatingWebhookConfiguration") default_webhooks(fields, true);
  if (name == "ValidatingWebhookConfiguration") default_webhooks(fields, false);
  if (name == "CustomResourceDefinition") default_crd(fields);
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
  } else if (name == "Service") {
    fields["status"] = Object{{"loadBalancer", Object{}}};
  } else if (name == "Deployment") {
    fields["status"] = Object{};
  } else if (name == "ReplicaSet") {
    fields["status"] = Object{{"replicas", 0}};
  } else if (name == "StatefulSet") {
    fields["status"] = Object{{"replicas", 0}, {"availableReplicas", 0}};
  }
}

Causes validate_builtin(const Kind& kind, const Value& object, const Value* old) {
  Causes causes;
  const std::string& name = kind.kind;
  if (name == "Pod") check_pod(object, old, causes);
  if (name == "Deployment" || name == "ReplicaSet" || name == "StatefulSet") {
    check_workload(object, causes);
  }
  if (name == "Service") check_service(object, causes);
  if (name.ends_with("WebhookConfiguration")) {
    const Array* hooks = wire::array_at(object, "/webhooks");
    for (std::size_t i = 0; hooks != nullptr && i < hooks->size(); ++i) {
      check_webhook((*hooks)[i], fmt::format("webhooks[{}]", i), causes);
    }
  }
  return causes;
}

}  // namespace berth::sim::kube
