#include "sim/kube/admission.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/match_conditions.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/selectors.h"
#include "wire/equal.h"
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

bool rule_matches(const Value& rule, const AdmissionRequest& request, const Version& version) {
  const Kind& kind = *request.served.kind;
  const std::string_view scope = wire::string_at(rule, "/scope");
  const bool in_scope = scope.empty() || scope == "*" || (scope == "Namespaced") == kind.namespaced;
  return in_scope && lists(rule, "/apiVersions", version.name) &&
         lists(rule, "/operations", request.operation) && lists(rule, "/apiGroups", kind.group) &&
         lists_resource(rule, kind.plural, request.subresource);
}

// The version in which a hook wants to see the object: the one of the request, or with matchPolicy
// Equivalent another one that its rules name. Null: it does not want to see it.
const Version* wanted_version(const Value& hook, const AdmissionRequest& request) {
  const Array* rules = wire::array_at(hook, "/rules");
  const auto wants = [&](const Version& version) {
    return rules != nullptr && std::ranges::any_of(*rules, [&](const Value& rule) {
             return rule_matches(rule, request, version);
           });
  };
  if (wants(*request.served.version)) return request.served.version;
  if (wire::string_at(hook, "/matchPolicy") == "Exact") return nullptr;
  const auto& versions = request.served.kind->versions;
  const auto other = std::ranges::find_if(versions, wants);
  return other == versions.end() ? nullptr : &*other;
}

Object kind_object(const Kind& kind, const Version& version) {
  return {{"group", kind.group}, {"version", version.name}, {"kind", kind.kind}};
}

Object resource_object(const Kind& kind, const Version& version) {
  return {{"group", kind.group}, {"version", version.name}, {"resource", kind.plural}};
}

// Versions of a kind differ in their name alone.
Value in_version(const Value* object, const Kind& kind, const Version& version) {
  if (object == nullptr) return {};
  Value copy = *object;
  copy.get_object()["apiVersion"] = kind.api_version(version);
  return copy;
}

Value options_object(const AdmissionRequest& request) {
  std::string kind = request.operation + "Options";
  for (std::size_t i = 1; i < request.operation.size(); ++i) {
    kind[i] = static_cast<char>(kind[i] - 'A' + 'a');
  }
  Object options = request.options;
  options["kind"] = kind;
  options["apiVersion"] = "meta.k8s.io/v1";
  if (request.dry_run) options["dryRun"] = Array{"All"};
  return options;
}

Object request_object(const AdmissionRequest& request, const Version& version,
                      const std::string& uid) {
  Array groups;
  for (const std::string& group : request.user.groups) groups.emplace_back(std::string_view(group));
  Object user{{"username", request.user.name}, {"groups", std::move(groups)}};
  if (!request.user.uid.empty()) user["uid"] = request.user.uid;
  const Kind& kind = *request.served.kind;
  Object review{{"uid", uid},
                {"kind", kind_object(kind, version)},
                {"resource", resource_object(kind, version)},
                {"requestKind", kind_object(kind, *request.served.version)},
                {"requestResource", resource_object(kind, *request.served.version)},
                {"operation", request.operation},
                {"userInfo", std::move(user)},
                {"dryRun", request.dry_run},
                {"options", options_object(request)}};
  if (!request.name.empty()) review["name"] = request.name;
  if (!request.ns.empty()) review["namespace"] = request.ns;
  if (!request.subresource.empty()) {
    review["subResource"] = request.subresource;
    review["requestSubResource"] = request.subresource;
  }
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

// Why a response breaks the rules, if it does.
std::optional<std::string> defect_of(const Value& review, const std::string& uid, bool mutating) {
  const std::string version(wire::string_at(review, "/apiVersion"));
  const std::string kind(wire::string_at(review, "/kind"));
  if (version != "admission.k8s.io/v1" || kind != "AdmissionReview") {
    return fmt::format(
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}, Kind={}",
        version, kind);
  }
  if (wire::object_at(review, "/response") == nullptr) return "webhook response was absent";
  const std::string_view given = wire::string_at(review, "/response/uid");
  if (given != uid) return fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, given);
  const bool patch = !wire::string_at(review, "/response/patch").empty();
  const bool type = wire::find(review, "/response/patchType") != nullptr;
  if (mutating && patch != type) {
    return patch ? "webhook returned response.patch but not response.patchType"
                 : "webhook returned response.patchType but not response.patch";
  }
  if (!mutating && patch) return "validating webhook may not return response.patch";
  if (!mutating && type) return "validating webhook may not return response.patchType";
  return std::nullopt;
}

// What a client of the real server makes of an answer that is no success.
std::string http_failure(const net::Response& reply) {
  const std::string_view type = reply.headers.get("Content-Type");
  const bool text = type.empty() || type.starts_with("text/");
  return fmt::format("an error on the server (\"{}\") has prevented the request from succeeding",
                     text ? std::string_view(reply.body) : "unknown");
}

bool is_success(int status) { return status >= 200 && status <= 206; }

}  // namespace

struct Admission::Hook {
  std::shared_ptr<const Value> configuration;  // keeps `entry` alive
  const Value* entry;
  std::string name;
  const Version* version;  // the hook wants to see
  bool mutating = false;
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
      const Version* version = wanted_version(entry, request);
      if (version == nullptr) continue;
      hooks.push_back({.configuration = object,
                       .entry = &entry,
                       .name = std::string(wire::string_at(entry, "/name")),
                       .version = version,
                       .mutating = plural.starts_with("mutating"),
                       .fail_closed = wire::string_at(entry, "/failurePolicy") != "Ignore",
                       .reinvoke = wire::string_at(entry, "/reinvocationPolicy") == "IfNeeded",
                       .namespace_object = ns});
    }
  }
  return hooks;
}

Outcome<bool> Admission::matches(const Hook& hook, const AdmissionRequest& request,
                                 const Value* object) const {
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
  const Kind& kind = *request.served.kind;
  const Value variables = Object{{"object", in_version(object, kind, *hook.version)},
                                 {"oldObject", in_version(request.old, kind, *hook.version)},
                                 {"request", request_object(request, *hook.version, {})}};
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
  Object asked = request_object(request, *hook.version, uid);
  asked["object"] = shown_object(in_version(object, *request.served.kind, *hook.version));
  asked["oldObject"] = shown_object(in_version(request.old, *request.served.kind, *hook.version));
  const Value review = Object{{"kind", "AdmissionReview"},
                              {"apiVersion", "admission.k8s.io/v1"},
                              {"request", std::move(asked)}};
  const auto unreachable = [&hook](const std::string& why) {
    return refuse(call_failure(hook.name, "failed to call webhook: " + why));
  };
  if (caller_ == nullptr) return unreachable("nobody is there to call it");
  const auto timeout =
      std::chrono::seconds{wire::int_at(*hook.entry, "/timeoutSeconds").value_or(10)};
  Result<net::Response> reply =
      caller_->call(target_of(*hook.entry), wire::to_json(review), timeout);
  if (!reply && reply.error().code == Code::throttled) return refuse(too_many_requests(1));
  if (!reply) return unreachable(reply.error().message);
  if (!is_success(reply->status)) return unreachable(http_failure(*reply));
  Result<Value> answer = wire::parse_json(reply->body);
  if (!answer) return unreachable(answer.error().message);
  if (const auto defect = defect_of(*answer, uid, hook.mutating)) {
    return refuse(call_failure(hook.name, "received invalid webhook response: " + *defect));
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
    if (hook.fail_closed || response.error().code == 429) return refuse(response);
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
  if (encoded.empty()) return std::nullopt;
  if (const auto type = wire::string_at(*response, "/patchType"); type != "JSONPatch") {
    return refuse(call_failure(hook.name, fmt::format("unsupported patch type \"{}\"", type)));
  }
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
  // Decoding gives it back the version of the request.
  Result<Value> changed =
      wire::apply_json_patch(in_version(object, *request.served.kind, *hook.version), **patch);
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
    if (!all[i].reinvoke || object == nullptr || wire::equal(left[i], *object)) continue;
    if (Outcome<> fine = mutate_once(all[i], request, object, decode, warnings); !fine) return fine;
  }
  return {};
}

Outcome<> Admission::validate(const AdmissionRequest& request, const Value* object,
                              Warnings& warnings) {
  for (const Hook& hook : hooks(request, "validatingwebhookconfigurations")) {
    Outcome<std::optional<Value>> patch = ask(hook, request, object, warnings);
    if (!patch) return refuse(patch);
  }
  return {};
}

}  // namespace berth::sim::kube
