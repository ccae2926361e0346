#include "sim/kube/api_error.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::sim::kube {

namespace {

ApiError make(int code, std::string_view reason, std::string message) {
  return {.code = code, .reason = std::string(reason), .message = std::move(message)};
}

ApiError make_about(int code, std::string_view reason, std::string message,
                    const GroupResource& about, std::string_view name) {
  ApiError error = make(code, reason, std::move(message));
  error.has_details = true;
  error.about = about;
  error.name = name;
  return error;
}

// Field errors as one sentence. The same error found twice is told once.
std::string sentence_of(const Causes& causes) {
  std::vector<std::string> parts;
  for (const Cause& cause : causes) {
    std::string part = cause.field + ": " + cause.message;
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  if (parts.size() == 1) return parts.front();
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

wire::Value details_of(const ApiError& error) {
  wire::Object details;
  if (!error.name.empty()) details["name"] = error.name;
  if (!error.about.group.empty()) details["group"] = error.about.group;
  if (!error.about.resource.empty()) details["kind"] = error.about.resource;
  if (!error.causes.empty()) {
    wire::Array causes;
    for (const Cause& cause : error.causes) {
      wire::Object one;
      if (!cause.reason.empty()) one["reason"] = cause.reason;
      if (!cause.message.empty()) one["message"] = cause.message;
      if (!cause.field.empty()) one["field"] = cause.field;
      causes.push_back(std::move(one));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after_seconds > 0) details["retryAfterSeconds"] = error.retry_after_seconds;
  return details;
}

}  // namespace

std::string shown_value(const wire::Value& value) { return wire::to_json(value); }

Cause required_value(std::string field, std::string_view detail) {
  std::string message = "Required value";
  if (!detail.empty()) message.append(": ").append(detail);
  return {"FieldValueRequired", std::move(message), std::move(field)};
}

Cause invalid_value(std::string field, const wire::Value& value, std::string_view detail) {
  return {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown_value(value), detail),
          std::move(field)};
}

Cause forbidden_value(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", fmt::format("Forbidden: {}", detail), std::move(field)};
}

Cause unsupported_value(std::string field, const wire::Value& value,
                        const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& one : supported) quoted.push_back('"' + one + '"');
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", shown_value(value),
                      fmt::join(quoted, ", ")),
          std::move(field)};
}

wire::Value ApiError::to_status() const {
  wire::Object metadata;
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  wire::Object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", std::move(metadata)},
                      {"status", "Failure"},
                      {"message", message}};
  if (!reason.empty()) status["reason"] = reason;
  if (given_details) {
    status["details"] = *given_details;
  } else if (has_details) {
    status["details"] = details_of(*this);
  }
  status["code"] = code;
  return status;
}

ApiError bad_request(std::string message) { return make(400, "BadRequest", std::move(message)); }

ApiError unauthorized() { return make(401, "Unauthorized", "Unauthorized"); }

ApiError forbidden(const GroupResource& resource, std::string_view name, std::string_view why) {
  std::string subject = resource.qualified();
  if (!name.empty()) subject += fmt::format(" \"{}\"", name);
  return make_about(403, "Forbidden", fmt::format("{} is forbidden: {}", subject, why), resource,
                    name);
}

ApiError page_not_found() {
  ApiError error = make(404, "NotFound", "404 page not found\n");
  error.plain_text = true;
  return error;
}

ApiError unknown_resource() {
  return make_about(404, "NotFound", "the server could not find the requested resource", {}, {});
}

ApiError not_found(const GroupResource& resource, std::string_view name) {
  return make_about(404, "NotFound", fmt::format("{} \"{}\" not found", resource.qualified(), name),
                    resource, name);
}

ApiError method_not_allowed() {
  return make_about(405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource", {}, {});
}

ApiError already_exists(const GroupResource& resource, std::string_view name) {
  return make_about(409, "AlreadyExists",
                    fmt::format("{} \"{}\" already exists", resource.qualified(), name), resource,
                    name);
}

ApiError conflict(const GroupResource& resource, std::string_view name, std::string_view why) {
  return make_about(409, "Conflict",
                    fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                                resource.qualified(), name, why),
                    resource, name);
}

ApiError modified_meanwhile(const GroupResource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

ApiError expired(std::string message) { return make(410, "Expired", std::move(message)); }

ApiError unsupported_media_type(std::string message, bool with_details) {
  ApiError error = make(415, "UnsupportedMediaType", std::move(message));
  error.has_details = with_details;
  return error;
}

ApiError invalid(const GroupResource& kind, std::string_view name, Causes causes) {
  ApiError error = make_about(
      422, "Invalid",
      fmt::format("{} \"{}\" is invalid: {}", kind.qualified(), name, sentence_of(causes)), kind,
      name);
  error.causes = std::move(causes);
  return error;
}

ApiError invalid_patch() {
  return make_about(422, "Invalid",
                    "the server rejected our request due to an error in our request", {}, {});
}

ApiError too_many_requests(int retry_after_seconds) {
  ApiError error =
      make_about(429, "TooManyRequests", "Too many requests, please try again later.", {}, {});
  error.retry_after_seconds = retry_after_seconds;
  return error;
}

ApiError internal_error(std::string message) {
  ApiError error = make_about(500, "InternalError", "Internal error occurred: " + message, {}, {});
  error.causes = {{.message = std::move(message)}};
  return error;
}

ApiError too_large_version(std::uint64_t asked, std::uint64_t current) {
  ApiError error = make_about(
      504, "Timeout",
      fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current), {}, {});
  error.causes = {{.reason = "ResourceVersionTooLarge", .message = "Too large resource version"}};
  error.retry_after_seconds = 1;
  return error;
}

}  // namespace berth::sim::kube
