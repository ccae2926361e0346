#include "sim/kube/admission.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/match_conditions.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/selectors.h"
#include "wire/patch.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const std::string kWebhookGroup = "admissionregistration.k8s.io";
const GroupResource kNamespaces{"", "namespaces"};

bool lists(const Value& rule, std::string_view pointer, std::string_view wanted) {
  const Array* list = wire::array_at(rule, pointer);
  return list != nullptr && std::ranges::any_of(*list, [wanted](const Value& one) {
           return one.is_string() && (one.get_string() == "*" || one.get_string() == wanted);
         });
}

// "pods", "pods/status", "pods/*", "*", "*/status" and "*/*".
bool lists_resource(const Value& rule, const std::string& plural, const std::string& subresource) {
  const Array* list = wire::array_at(rule, "/resources");
  return list != nullptr && std::ranges::any_of(*list, [&](const Value& one) {
           const std::string_view text = one.is_string() ? one.get_string() : std::string_view{};
           const std::size_t slash = text.find('/');
           const std::string_view head = text.substr(0, slash);
           if (head != "*" && head != plural) return false;
           if (slash == std::string_view::npos) return subresource.empty();
           const std::string_view tail = text.substr(slash + 1);
           return tail == "*" || (!subresource.empty() && tail == subresource);
         });
}

bool rule_matches(const Value& rule, const Value& hook, const AdmissionRequest& request) {
  const Kind& kind = *request.served.kind;
  const bool equivalent = wire::string_at(hook, "/matchPolicy") != "Exact";
  const bool version = std::ranges::any_of(kind.versions, [&](const Version& one) {
    return (equivalent || &one == request.served.version) && lists(rule, "/apiVersions", one.name);
  });
  const std::string_view scope = wire::string_at(rule, "/scope");
  const bool in_scope = scope.empty() || scope == "*" || (scope == "Namespaced") == kind.namespaced;
  return version && in_scope && lists(rule, "/operations", request.operation) &&
         lists(rule, "/apiGroups", kind.group) &&
         lists_resource(rule, kind.plural, request.subresource);
}

Object kind_object(const AdmissionRequest& request) {
  return {{"group", request.served.kind->group},
          {"version", request.served.version->name},
          {"kind", request.served.kind->kind}};
}

Object resource_object(const AdmissionRequest& request) {
  return {{"group", request.served.kind->group},
          {"version", request.served.version->name},
          {"resource", request.served.kind->plural}};
}

Object request_object(const AdmissionRequest& request, const Value* object,
                      const std::string& uid) {
  Array groups;
  for (const std::string& group : request.user.groups) groups.emplace_back(std::string_view(group));
  Object review{
      {"uid", uid},
      {"kind", kind_object(request)},
      {"resource", resource_object(request)},
      {"requestKind", kind_object(request)},
      {"requestResource", resource_object(request)},
      {"operation", request.operation},
      {"userInfo", Object{{"username", request.user.name}, {"groups", std::move(groups)}}},
      {"dryRun", request.dry_run}};
  if (!request.name.empty()) review["name"] = request.name;
  if (!request.ns.empty()) review["namespace"] = request.ns;
  if (!request.subresource.empty()) {
    review["subResource"] = request.subresource;
    review["requestSubResource"] = request.subresource;
  }
  review["object"] = object == nullptr ? Value() : shown_object(*object);
  review["oldObject"] = request.old == nullptr ? Value() : shown_object(*request.old);
  const std::string options = request.operation.substr(0, 1) + [&] {
    std::string tail = request.operation.substr(1);
    for (char& c : tail) c = static_cast<char>(c - 'A' + 'a');
    return tail;
  }();
  review["options"] = Object{{"kind", options + "Options"}, {"apiVersion", "meta.k8s.io/v1"}};
  return review;
}

WebhookTarget target_of(const Value& hook) {
  WebhookTarget target;
  target.url = wire::string_at(hook, "/clientConfig/url");
  target.service_namespace = wire::string_at(hook, "/clientConfig/service/namespace");
  target.service_name = wire::string_at(hook, "/clientConfig/service/name");
  target.service_path = wire::string_at(hook, "/clientConfig/service/path");
  target.service_port =
      static_cast<std::uint16_t>(wire::int_at(hook, "/clientConfig/service/port").value_or(443));
  if (Result<std::string> pem = base64_decode(wire::string_at(hook, "/clientConfig/caBundle"))) {
    target.ca_pem = std::move(*pem);
  }
  return target;
}

// A refusal, worded as the real server does.
ApiError denial(const std::string& name, const Value& response) {
  const std::string denied = fmt::format("admission webhook \"{}\" denied the request", name);
  const std::string_view message = wire::string_at(response, "/status/message");
  const std::string_view reason = wire::string_at(response, "/status/reason");
  ApiError error;
  error.code = static_cast<int>(
      std::max<std::int64_t>(400, wire::int_at(response, "/status/code").value_or(0)));
  error.reason = reason;
  error.message = !message.empty()  ? fmt::format("{}: {}", denied, message)
                  : !reason.empty() ? fmt::format("{}: {}", denied, reason)
                                    : denied + " without explanation";
  if (const Value* details = wire::find(response, "/status/details"))
    error.given_details = *details;
  return error;
}

ApiError call_failure(const std::string& name, std::string_view why) {
  return internal_error(fmt::format("failed calling webhook \"{}\": {}", name, why));
}

}  // namespace

struct Admission::Hook {
  std::shared_ptr<const Value> configuration;  // keeps `entry` alive
  const Value* entry;
  std::string name;
  bool fail_closed = true;
  bool reinvoke = false;
  ObjectPtr namespace_object;
};

std::vector<Admission::Hook> Admission::hooks(const AdmissionRequest& request,
                                              std::string_view plural) {
  std::vector<Hook> hooks;
  // Or else a broken configuration could not be repaired.
  if (request.served.kind->group == kWebhookGroup) return hooks;
  MutexLock lock(core_.mu);
  const bool is_namespace = request.served.kind->resource() == kNamespaces;
  const ObjectPtr ns =
      request.ns.empty() || is_namespace ? nullptr : core_.storage.find(kNamespaces, request.ns);
  for (const auto& [key, object] : core_.storage.all({kWebhookGroup, std::string(plural)})) {
    const Array* entries = wire::array_at(*object, "/webhooks");
    if (entries == nullptr) continue;
    for (const Value& entry : *entries) {
      hooks.push_back({.configuration = object,
                       .entry = &entry,
                       .name = std::string(wire::string_at(entry, "/name")),
                       .fail_closed = wire::string_at(entry, "/failurePolicy") != "Ignore",
                       .reinvoke = wire::string_at(entry, "/reinvocationPolicy") == "IfNeeded",
                       .namespace_object = ns});
    }
  }
  return hooks;
}

Outcome<bool> Admission::matches(const Hook& hook, const AdmissionRequest& request,
                                 const Value* object) const {
  const Array* rules = wire::array_at(*hook.entry, "/rules");
  if (rules == nullptr || std::ranges::none_of(*rules, [&](const Value& rule) {
        return rule_matches(rule, *hook.entry, request);
      })) {
    return false;
  }
  const bool is_namespace = request.served.kind->resource() == kNamespaces;
  const Value* ns =
      is_namespace ? (object != nullptr ? object : request.old) : hook.namespace_object.get();
  if (ns != nullptr && !LabelSelector::from_object(wire::find(*hook.entry, "/namespaceSelector"))
                            .matches(wire::object_at(*ns, "/metadata/labels"))) {
    return false;
  }
  const LabelSelector selector =
      LabelSelector::from_object(wire::find(*hook.entry, "/objectSelector"));
  const auto selected = [&](const Value* one) {
    return one != nullptr && selector.matches(wire::object_at(*one, "/metadata/labels"));
  };
  if (!selector.empty() && !selected(object) && !selected(request.old)) return false;

  const Array* conditions = wire::array_at(*hook.entry, "/matchConditions");
  if (conditions == nullptr || conditions->empty()) return true;
  const Value variables = Object{{"object", object == nullptr ? Value() : *object},
                                 {"oldObject", request.old == nullptr ? Value() : *request.old},
                                 {"request", request_object(request, nullptr, {})}};
  std::optional<ApiError> failure;
  for (const Value& condition : *conditions) {
    Result<bool> holds = evaluate_condition(wire::string_at(condition, "/expression"), variables);
    if (holds && !*holds) return false;
    if (!holds && !failure) {
      failure =
          forbidden(request.served.kind->resource(), request.name,
                    fmt::format("expression '{}' resulted in error: {}",
                                wire::string_at(condition, "/expression"), holds.error().message));
    }
  }
  if (!failure) return true;
  if (!hook.fail_closed) return false;
  return refuse(std::move(*failure));
}

Outcome<Value> Admission::call(const Hook& hook, const AdmissionRequest& request,
                               const Value* object) {
  std::string uid;
  {
    MutexLock lock(core_.mu);
    uid = random_uid(core_.random);
  }
  const Value review = Object{{"kind", "AdmissionReview"},
                              {"apiVersion", "admission.k8s.io/v1"},
                              {"request", request_object(request, object, uid)}};
  if (caller_ == nullptr) {
    return refuse(call_failure(hook.name, "failed to call webhook: nobody is there to call it"));
  }
  const auto timeout =
      std::chrono::seconds{wire::int_at(*hook.entry, "/timeoutSeconds").value_or(10)};
  Result<net::Response> reply =
      caller_->call(target_of(*hook.entry), wire::to_json(review), timeout);
  if (!reply) {
    return refuse(call_failure(hook.name, "failed to call webhook: " + reply.error().message));
  }
  if (reply->status != 200) {
    return refuse(call_failure(
        hook.name, fmt::format("failed to call webhook: an error on the server (\"{}\") has "
                               "prevented the request from succeeding",
                               reply->body)));
  }
  Result<Value> answer = wire::parse_json(reply->body);
  if (!answer) return refuse(call_failure(hook.name, answer.error().message));
  if (wire::string_at(*answer, "/apiVersion") != "admission.k8s.io/v1" ||
      wire::string_at(*answer, "/kind") != "AdmissionReview" ||
      wire::string_at(*answer, "/response/uid") != uid) {
    return refuse(
        call_failure(hook.name,
                     "received invalid webhook response: expected the same apiVersion, kind and "
                     "response.uid as in the request"));
  }
  return answer->at("response");
}

Outcome<std::optional<Value>> Admission::ask(const Hook& hook, const AdmissionRequest& request,
                                             const Value* object, Warnings& warnings) {
  Outcome<bool> concerned = matches(hook, request, object);
  if (!concerned) return refuse(concerned);
  if (!*concerned) return std::nullopt;
  Outcome<Value> response = call(hook, request, object);
  if (!response) {
    if (hook.fail_closed) return refuse(response);
    return std::nullopt;
  }
  if (const Array* said = wire::array_at(*response, "/warnings")) {
    for (const Value& one : *said) {
      if (one.is_string()) warnings.emplace_back(one.get_string());
    }
  }
  if (!wire::bool_at(*response, "/allowed").value_or(false)) {
    return refuse(denial(hook.name, *response));
  }
  const std::string_view encoded = wire::string_at(*response, "/patch");
  if (encoded.empty() != wire::string_at(*response, "/patchType").empty()) {
    return refuse(call_failure(hook.name,
                               "received invalid webhook response: patch and patchType "
                               "belong together"));
  }
  if (encoded.empty()) return std::nullopt;
  Result<std::string> text = base64_decode(encoded);
  if (!text) return refuse(internal_error(text.error().message));
  Result<Value> patch = wire::parse_json(*text);
  if (!patch) return refuse(internal_error(patch.error().message));
  return std::move(*patch);
}

Outcome<> Admission::mutate_once(const Hook& hook, const AdmissionRequest& request, Value* object,
                                 const Decode& decode, Warnings& warnings) {
  Outcome<std::optional<Value>> patch = ask(hook, request, object, warnings);
  if (!patch) return refuse(patch);
  if (!patch->has_value() || object == nullptr) return {};
  Result<Value> changed = wire::apply_json_patch(*object, **patch);
  if (!changed) return refuse(internal_error(changed.error().message));
  if (!changed->is_object()) return refuse(internal_error("the patched object is no object"));
  keep_managed_fields(*changed, *object);
  *object = std::move(*changed);
  return decode(*object);
}

Outcome<> Admission::mutate(const AdmissionRequest& request, Value* object, const Decode& decode,
                            Warnings& warnings) {
  const std::vector<Hook> all = hooks(request, "mutatingwebhookconfigurations");
  // What each hook left behind, to see whether a later one changed it.
  std::vector<Value> left;
  for (const Hook& hook : all) {
    if (Outcome<> fine = mutate_once(hook, request, object, decode, warnings); !fine) return fine;
    left.push_back(object == nullptr ? Value() : *object);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].reinvoke || object == nullptr || left[i] == *object) continue;
    if (Outcome<> fine = mutate_once(all[i], request, object, decode, warnings); !fine) return fine;
  }
  return {};
}

Outcome<> Admission::validate(const AdmissionRequest& request, const Value* object,
                              Warnings& warnings) {
  for (const Hook& hook : hooks(request, "validatingwebhookconfigurations")) {
    Outcome<std::optional<Value>> patch = ask(hook, request, object, warnings);
    if (!patch) return refuse(patch);
    if (patch->has_value()) {
      return refuse(call_failure(hook.name, "a validating webhook must not patch"));
    }
  }
  return {};
}

}  // namespace berth::sim::kube
