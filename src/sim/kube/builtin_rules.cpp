#include "sim/kube/builtin_rules.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include <fmt/format.h>

#include "sim/kube/object_meta.h"
#include "sim/kube/selectors.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

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
  for (const char* key : {"/containers", "/initContainers"}) {
    Value* list = wire::find(spec, key);
    if (list == nullptr || !list->is_array()) continue;
    for (Value& container : list->get_array()) (void)wire::remove_at(container, "/image");
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

void check_workload(const Value& object, const Value* old, Causes& causes) {
  const Value* selector = wire::find(object, "/spec/selector");
  const Value* before = old == nullptr ? selector : wire::find(*old, "/spec/selector");
  if (selector != nullptr && before != nullptr && *selector != *before) {
    causes.push_back(invalid_value("spec.selector", *selector, "field is immutable"));
  }
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

void check_backend(const Value& backend, const std::string& path, Causes& causes) {
  const Value* service = wire::find(backend, "/service");
  if (service == nullptr && wire::find(backend, "/resource") == nullptr) {
    causes.push_back(invalid_value(path, Value(""), "resource or service backend is required"));
  }
  if (service == nullptr) return;
  const bool named = !wire::string_at(*service, "/port/name").empty();
  const std::int64_t number = wire::int_at(*service, "/port/number").value_or(0);
  if (wire::string_at(*service, "/name").empty()) {
    causes.push_back(required_value(path + ".service.name"));
  }
  if (named && number != 0) {
    causes.push_back(invalid_value(path, Value(""), "cannot set both port name & port number"));
  } else if (!named && number == 0) {
    causes.push_back(required_value(path, "port name or number is required"));
  } else if (!named) {
    check_port(*wire::find(*service, "/port"), path + ".service.port", "number", true, causes);
  }
}

void check_ingress(const Value& ingress, Causes& causes) {
  const Value* fallback = wire::find(ingress, "/spec/defaultBackend");
  const Array* rules = wire::array_at(ingress, "/spec/rules");
  if (fallback == nullptr && (rules == nullptr || rules->empty())) {
    causes.push_back(
        invalid_value("spec", Value(), "either `defaultBackend` or `rules` must be specified"));
  }
  if (fallback != nullptr) check_backend(*fallback, "spec.defaultBackend", causes);
  for (std::size_t r = 0; rules != nullptr && r < rules->size(); ++r) {
    const Array* paths = wire::array_at((*rules)[r], "/http/paths");
    for (std::size_t p = 0; paths != nullptr && p < paths->size(); ++p) {
      const std::string at = fmt::format("spec.rules[{}].http.paths[{}]", r, p);
      const std::string_view type = wire::string_at((*paths)[p], "/pathType");
      const std::string_view path = wire::string_at((*paths)[p], "/path");
      if (type.empty()) {
        // Of such a path the real server says no more.
        causes.push_back(required_value(at + ".pathType", "pathType must be specified"));
        continue;
      }
      const bool strict = type == "Exact" || type == "Prefix";
      if (strict && !path.starts_with('/')) {
        causes.push_back(invalid_value(at + ".path", Value(path), "must be an absolute path"));
      } else if (!strict && type != "ImplementationSpecific") {
        causes.push_back(unsupported_value(at + ".pathType", Value(type),
                                           {"Exact", "ImplementationSpecific", "Prefix"}));
      }
      const Value* backend = wire::find((*paths)[p], "/backend");
      check_backend(backend == nullptr ? Value(Object{}) : *backend, at + ".backend", causes);
    }
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

// ConfigMaps and Secrets hold this much.
constexpr std::size_t kMaxDataBytes = 1u << 20;

std::size_t bytes_in(const Value& object, std::string_view pointer, bool encoded) {
  std::size_t total = 0;
  const Object* data = wire::object_at(object, pointer);
  for (const auto& member : data != nullptr ? *data : Object{}) {
    if (!member.value().is_string()) continue;
    const std::string_view text = member.value().get_string();
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    total += encoded ? text.size() / 4 * 3 - padding : text.size();
  }
  return total;
}

void check_data(const Value& object, bool secret, Causes& causes) {
  const std::size_t total =
      secret ? bytes_in(object, "/data", true)
             : bytes_in(object, "/data", false) + bytes_in(object, "/binaryData", true);
  if (total <= kMaxDataBytes) return;
  causes.push_back({"FieldValueTooLong",
                    fmt::format("Too long: may not be more than {} bytes", kMaxDataBytes),
                    secret ? "data" : "[]"});
}

}  // namespace

Causes validate_builtin(const Kind& kind, const Value& object, const Value* old) {
  Causes causes;
  const std::string& name = kind.kind;
  if (name == "Pod") check_pod(object, old, causes);
  if (name == "ConfigMap" || name == "Secret") check_data(object, name == "Secret", causes);
  if (name == "Deployment" || name == "ReplicaSet" || name == "StatefulSet") {
    check_workload(object, old, causes);
  }
  if (name == "Service") check_service(object, causes);
  if (name == "Ingress") check_ingress(object, causes);
  if (name.ends_with("WebhookConfiguration")) {
    const Array* hooks = wire::array_at(object, "/webhooks");
    for (std::size_t i = 0; hooks != nullptr && i < hooks->size(); ++i) {
      check_webhook((*hooks)[i], fmt::format("webhooks[{}]", i), causes);
    }
  }
  return causes;
}

}  // namespace berth::sim::kube
