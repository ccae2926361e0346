#include "kube/client/status.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>

#include "kube/client/encoding.h"
#include "wire/proto_reader.h"

namespace berth::kube {
namespace {

// Past it a server's wish is a mistake.
constexpr std::chrono::seconds kMaxRetryAfter = std::chrono::hours{1};
// Causes named in a message; an object can have hundreds.
constexpr std::size_t kMaxCauses = 10;

struct ReasonCode {
  std::string_view reason;
  Code code;
};

constexpr std::array kReasons{
    ReasonCode{"Unauthorized", Code::unauthorized},
    ReasonCode{"Forbidden", Code::forbidden},
    ReasonCode{"NotFound", Code::not_found},
    ReasonCode{"AlreadyExists", Code::already_exists},
    ReasonCode{"Conflict", Code::conflict},
    ReasonCode{"Gone", Code::expired},
    ReasonCode{"Expired", Code::expired},
    ReasonCode{"Invalid", Code::invalid},
    ReasonCode{"BadRequest", Code::invalid},
    ReasonCode{"RequestEntityTooLarge", Code::invalid},
    ReasonCode{"MethodNotAllowed", Code::unsupported},
    ReasonCode{"NotAcceptable", Code::unsupported},
    ReasonCode{"UnsupportedMediaType", Code::unsupported},
    ReasonCode{"Timeout", Code::timeout},
    ReasonCode{"TooManyRequests", Code::throttled},
    ReasonCode{"ServerTimeout", Code::unavailable},
    ReasonCode{"ServiceUnavailable", Code::unavailable},
    ReasonCode{"InternalError", Code::unavailable},
    ReasonCode{"StorageReadError", Code::unavailable},
};

Code code_of_http(std::int64_t status) {
  switch (status) {
    case 400:
    case 413:
    case 414:
    case 422:
    case 431: return Code::invalid;
    case 401: return Code::unauthorized;
    case 403: return Code::forbidden;
    case 404: return Code::not_found;
    case 405:
    case 406:
    case 415:
    case 501:
    case 505: return Code::unsupported;
    case 408:
    case 504: return Code::timeout;
    case 409: return Code::conflict;
    case 410: return Code::expired;
    case 412: return Code::precondition;
    case 429: return Code::throttled;
    default: return status >= 500 && status <= 599 ? Code::unavailable : Code::internal;
  }
}

Code code_of_reason(std::string_view reason, std::int64_t http_status) {
  const auto known = std::ranges::find(kReasons, reason, &ReasonCode::reason);
  return known != kReasons.end() ? known->code : code_of_http(http_status);
}

// Seconds as a span, held within the bound.
Duration retry_span(std::int64_t seconds) {
  return std::chrono::seconds{std::clamp<std::int64_t>(seconds, 0, kMaxRetryAfter.count())};
}

// Kubernetes sends whole seconds; the date form of HTTP is not used.
std::optional<Duration> retry_after_header(const net::Headers& headers) {
  const std::string_view text = headers.get("Retry-After");
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return retry_span(seconds);
}

const wire::Array& causes_of(const wire::Value& status) {
  static const wire::Array kNone;
  const wire::Array* causes = wire::array_at(status, "/details/causes");
  return causes != nullptr ? *causes : kNone;
}

// The server's sentence, and the causes that it does not tell already.
// An API server that cannot call a webhook prints its address, the secret end of the path included.
// What we read may be logged.
std::string without_secrets(std::string text) {
  constexpr std::size_t kSecret = 32;  // hex digits, as KeyRing::words has them
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && is_hex(text[end])) ++end;
    if (end - at - 1 == kSecret) text.replace(at + 1, kSecret, "***");
  }
  return text;
}

std::string message_of(const wire::Value& status) {
  std::string message = printable(wire::string_at(status, "/message"), kMaxStatusMessage);
  if (message.empty()) message = printable(wire::string_at(status, "/reason"), kMaxStatusMessage);
  std::size_t named = 0;
  for (const wire::Value& cause : causes_of(status)) {
    const std::string text = printable(wire::string_at(cause, "/message"), kMaxStatusMessage);
    if (text.empty() || message.find(text) != std::string::npos) continue;
    if (++named > kMaxCauses || message.size() + text.size() > kMaxStatusMessage) break;
    const std::string field = printable(wire::string_at(cause, "/field"), kMaxStatusMessage);
    message += field.empty() ? "; " + text : "; " + field + ": " + text;
  }
  return without_secrets(std::move(message));
}

bool has_cause(const wire::Value& status, std::string_view reason) {
  return std::ranges::any_of(causes_of(status), [&](const wire::Value& cause) {
    return wire::string_at(cause, "/reason") == reason;
  });
}

std::string first_field(const wire::Value& status) {
  for (const wire::Value& cause : causes_of(status)) {
    const std::string_view field = wire::string_at(cause, "/field");
    if (!field.empty()) return printable(field, kMaxStatusMessage);
  }
  return {};
}

// The parts of metav1.Status, as the JSON that they also have: one place then knows what reasons
// and codes mean.
bool read_cause(std::string_view message, wire::Array& causes) {
  wire::Object& cause = causes.emplace_back(wire::Object()).as_object();
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 1) cause["reason"] = in->bytes;
    if (in->number == 2) cause["message"] = in->bytes;
    if (in->number == 3) cause["field"] = in->bytes;
  }
  return in.ok();
}

bool read_details(std::string_view message, wire::Object& details) {
  wire::Array causes;
  bool ok = true;
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 1) details["name"] = in->bytes;
    if (in->number == 2) details["group"] = in->bytes;
    if (in->number == 3) details["kind"] = in->bytes;
    if (in->number == 4) ok = ok && read_cause(in->bytes, causes);
    if (in->number == 5) details["retryAfterSeconds"] = static_cast<std::int32_t>(in->scalar);
  }
  details["causes"] = std::move(causes);
  return ok && in.ok();
}

// Of a body in either encoding; nothing when it is no Status.
std::optional<wire::Value> status_of_body(std::string_view body) {
  if (body.starts_with(kProtobufMagic)) {
    const auto opened = open_protobuf_envelope(body);
    if (!opened || opened->kind != "Status") return std::nullopt;
    return status_from_protobuf(opened->object);
  }
  auto parsed = wire::parse_json(body);
  if (!parsed || wire::string_at(*parsed, "/kind") != "Status") return std::nullopt;
  return std::move(*parsed);
}

Error foreign_error(int http_status, std::string_view body) {
  const std::string text = printable(body, kMaxForeignBody);
  Error error = error_of(code_of_http(http_status), "HTTP {}{}{}", http_status,
                         text.empty() ? "" : ": ", text);
  // A missing object is always told by a Status: here the path itself is not served, and to take
  // that for "not there" would make a caller create what cannot be created.
  if (http_status == 404) {
    error.code = Code::unsupported;
    error.hint =
        "the server does not serve this path: is the API's version right and its "
        "CustomResourceDefinition installed?";
  }
  if (http_status >= 300 && http_status < 400)
    error.hint = "the server redirects, which an API server does not do: check its address";
  return error;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t at = 0;
  for (; at < text.size() && out.size() < max_bytes; ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool blank = byte <= 0x20 || byte == 0x7f;
    if (!blank) {
      out += text[at];
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (at < text.size()) {  // cut, but not in the middle of a character
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string object_label(std::string_view resource, std::string_view group, std::string_view name) {
  std::string out(resource);
  if (!group.empty() && !out.empty()) out += fmt::format(".{}", group);
  if (!name.empty()) out += fmt::format("{}\"{}\"", out.empty() ? "" : " ", name);
  return out;
}

std::optional<wire::Value> status_from_protobuf(std::string_view message) {
  wire::Object status{{"kind", "Status"}};
  wire::Object details;
  bool ok = true;
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 3) status["message"] = in->bytes;
    if (in->number == 4) status["reason"] = in->bytes;
    if (in->number == 5) ok = ok && read_details(in->bytes, details);
    if (in->number == 6) status["code"] = static_cast<std::int32_t>(in->scalar);
  }
  if (!ok || !in.ok()) return std::nullopt;
  status["details"] = std::move(details);
  return wire::Value(std::move(status));
}

Error error_from_status(const wire::Value& status) {
  const std::int64_t http_status = wire::int_at(status, "/code").value_or(500);
  Error error{.code = code_of_reason(wire::string_at(status, "/reason"), http_status),
              .message = message_of(status),
              .object = printable(object_label(wire::string_at(status, "/details/kind"),
                                               wire::string_at(status, "/details/group"),
                                               wire::string_at(status, "/details/name")),
                                  kMaxStatusMessage),
              .field = first_field(status)};
  if (error.code == Code::timeout && has_cause(status, "ResourceVersionTooLarge"))
    error.code = Code::too_new;
  if (const auto seconds = wire::int_at(status, "/details/retryAfterSeconds");
      seconds && *seconds > 0)
    error.retry_after = retry_span(*seconds);
  if (error.message.empty()) error.message = fmt::format("HTTP {}", http_status);
  return error;
}

Error error_from_response(int http_status, const net::Headers& headers, std::string_view body) {
  auto status = status_of_body(body);
  Error error;
  if (status) {
    // The code of the answer counts: a Status without one means it.
    if (!wire::int_at(*status, "/code")) (void)wire::set_at(*status, "/code", http_status);
    error = error_from_status(*status);
  } else {
    error = foreign_error(http_status, body);
  }
  if (!error.retry_after) error.retry_after = retry_after_header(headers);
  error.request_id = printable(headers.get("Audit-Id"), kMaxForeignBody);
  return error;
}

}  // namespace berth::kube
