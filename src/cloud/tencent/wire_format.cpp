#include "cloud/tencent/wire_format.h"

namespace berth::cloud::tencent {
namespace {

constexpr std::string_view kService = "clb";
constexpr std::string_view kVersion = "2018-03-17";
constexpr std::string_view kContentType = "application/json";

std::unexpected<CloudError> refused(std::string_view code, std::string_view message,
                                    std::string_view request_id = {}) {
  return std::unexpected(
      CloudError{std::string(code), std::string(message), std::string(request_id)});
}

// Its body is not shown: a proxy may echo what we sent, keys and tokens with it.
std::unexpected<CloudError> not_the_api(const net::Response& response) {
  return refused(response.status == 429 ? "RequestLimitExceeded" : "InternalError.Gateway",
                 fmt::format("HTTP {} and {} bytes that are no answer of the API", response.status,
                             response.body.size()));
}

}  // namespace

net::Request signed_request(const Options& options, const crypto::CloudCredentials& credentials,
                            std::string_view region, std::string_view action, std::string body,
                            WallTime at) {
  const crypto::SignedRequest signature =
      crypto::sign_tencent({.host = options.endpoint,
                            .headers = {{"Content-Type", std::string(kContentType)}},
                            .body = body},
                           credentials, kService, at);
  net::Request out{.method = "POST",
                   .url = fmt::format("{}://{}/", options.scheme, options.endpoint),
                   .body = std::move(body),
                   .tls = options.tls,
                   .proxy = options.proxy};
  // As they were signed, byte by byte: what a library would add is not.
  out.headers.set("Host", options.endpoint);
  out.headers.set("Content-Type", std::string(kContentType));
  out.headers.set("X-TC-Action", std::string(action));
  out.headers.set("X-TC-Version", std::string(kVersion));
  if (!region.empty()) out.headers.set("X-TC-Region", std::string(region));
  out.headers.set("X-TC-Language", "en-US");
  out.headers.set("X-TC-RequestClient", "berth");
  for (const auto& [name, value] : signature.headers) out.headers.set(name, value);
  return out;
}

std::expected<Envelope, CloudError> open_envelope(const net::Response& response) {
  Result<wire::Value> body = wire::parse_json(response.body);
  if (response.status != 200 || !body || !body->is_object()) return not_the_api(response);
  wire::Value* const inner = wire::find(*body, "/Response");
  if (!inner || !inner->is_object()) {
    // The API before this one.
    if (const auto code = wire::string_at(*body, "/codeDesc"); !code.empty())
      return refused(code, wire::string_at(*body, "/message"));
    return not_the_api(response);
  }
  std::string request_id(wire::string_at(*inner, "/RequestId"));
  if (const wire::Value* error = wire::find(*inner, "/Error"); error && error->is_object()) {
    return refused(wire::string_at(*error, "/Code"), wire::string_at(*error, "/Message"),
                   request_id);
  }
  return Envelope{std::move(*inner), std::move(request_id)};
}

TaskStatus decode_task(const wire::Value& response) {
  TaskStatus out{.message = std::string(wire::string_at(response, "/Message"))};
  switch (wire::int_at(response, "/Status").value_or(2)) {
    case 0: out.state = TaskState::done; break;
    case 1: out.state = TaskState::failed; break;
    default: break;
  }
  return out;
}

}  // namespace berth::cloud::tencent
