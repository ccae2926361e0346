#include "kube/admission/review.h"

#include <boost/json.hpp>

#include "base/encoding.h"

namespace berth::kube {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kGroup = "admission.k8s.io/";
// kube-apiserver shows longer ones cut, and warns about it.
constexpr std::size_t kMaxWarningLength = 256;

Failure bad(std::string field, std::string_view why) {
  return fail(error_of(Code::invalid, "{}", why).about("AdmissionReview").at(std::move(field)));
}

bool is_operation(std::string_view text) {
  return text == "CREATE" || text == "UPDATE" || text == "DELETE" || text == "CONNECT";
}

Result<Value> object_or_null(const Value& review, std::string_view pointer, std::string field) {
  const Value* found = wire::find(review, pointer);
  if (!found || found->is_null()) return Value();
  if (!found->is_object()) return bad(std::move(field), "is no object");
  return *found;
}

}  // namespace

std::string AdmissionRequest::describe() const {
  std::string kind(wire::string_at(object.is_null() ? old_object : object, "/kind"));
  if (kind.empty()) kind = resource;
  std::string shown = name;
  if (shown.empty()) shown = std::string(wire::string_at(object, "/metadata/name"));
  if (shown.empty()) shown = std::string(wire::string_at(object, "/metadata/generateName")) + "*";
  return kind + " " + ObjectKey{ns, shown}.to_string();
}

AdmissionAnswer refuse(const Error& error) {
  const int status = traits_of(error.code).http_status;
  std::string message;
  for (const std::string* part : {&error.object, &error.field, &error.message}) {
    if (part->empty()) continue;
    if (!message.empty()) message += ": ";
    message += *part;
  }
  if (!error.hint.empty()) message += fmt::format(" ({})", error.hint);
  return {
      .allowed = false,
      .code = status,
      .reason = error.code == Code::invalid ? "Invalid" : std::string(traits_of(error.code).name),
      .message = std::move(message)};
}

Result<AdmissionRequest> parse_review(std::string_view body) {
  Result<Value> review = wire::parse_json(body);
  if (!review)
    return fail(
        error_of(Code::invalid, "is not JSON").about("AdmissionReview").because(review.error()));
  AdmissionRequest out;
  out.api_version = std::string(wire::string_at(*review, "/apiVersion"));
  if (wire::string_at(*review, "/kind") != "AdmissionReview")
    return bad("kind", "is not AdmissionReview");
  if (out.api_version != std::string(kGroup) + "v1" &&
      out.api_version != std::string(kGroup) + "v1beta1") {
    return bad("apiVersion",
               fmt::format("'{}' is not admission.k8s.io/v1 or v1beta1", out.api_version));
  }
  if (!wire::object_at(*review, "/request")) return bad("request", "is missing");

  const auto text = [&](std::string_view pointer) {
    return std::string(wire::string_at(*review, pointer));
  };
  out.uid = text("/request/uid");
  if (out.uid.empty()) return bad("request.uid", "is missing");
  out.operation = text("/request/operation");
  if (!is_operation(out.operation)) {
    return bad("request.operation",
               fmt::format("'{}' is not one of CREATE, UPDATE, DELETE, CONNECT", out.operation));
  }
  out.group = text("/request/resource/group");
  out.version = text("/request/resource/version");
  out.resource = text("/request/resource/resource");
  if (out.resource.empty()) return bad("request.resource.resource", "is missing");
  out.subresource = text("/request/subResource");
  out.ns = text("/request/namespace");
  out.name = text("/request/name");
  out.user = text("/request/userInfo/username");
  out.dry_run = wire::bool_at(*review, "/request/dryRun").value_or(false);

  Result<Value> object = object_or_null(*review, "/request/object", "request.object");
  if (!object) return pass(object);
  Result<Value> old_object = object_or_null(*review, "/request/oldObject", "request.oldObject");
  if (!old_object) return pass(old_object);
  out.object = std::move(*object);
  out.old_object = std::move(*old_object);
  if (out.object.is_null() && (out.operation == "CREATE" || out.operation == "UPDATE")) {
    return bad("request.object", fmt::format("is missing in a {}", out.operation));
  }
  return out;
}

std::string render_review(const AdmissionRequest& request, const AdmissionAnswer& answer) {
  Object response{{"uid", request.uid}, {"allowed", answer.allowed}};
  if (!answer.allowed) {
    response["status"] =
        Object{{"code", answer.code}, {"reason", answer.reason}, {"message", answer.message}};
  } else if (!answer.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base64_encode(wire::to_json(answer.patch));
  }
  if (!answer.warnings.empty()) {
    Array warnings;
    for (const std::string& warning : answer.warnings)
      warnings.emplace_back(warning.substr(0, kMaxWarningLength));
    response["warnings"] = std::move(warnings);
  }
  return wire::to_json(Object{{"apiVersion", request.api_version},
                              {"kind", "AdmissionReview"},
                              {"response", std::move(response)}});
}

}  // namespace berth::kube
