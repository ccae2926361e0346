#include "sim/cloud/tencent/authentication.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "crypto/digest.h"
#include "crypto/signers.h"
#include "net/url.h"

namespace berth::sim::tencent {
namespace {

constexpr std::string_view kAlgorithm = "TC3-HMAC-SHA256";
constexpr std::string_view kPublicHosts = ".tencentcloudapi.com";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = std::min(text.find(at), text.size());
    out.push_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

struct Authorization {
  std::string_view secret_id{};
  std::string_view date{};
  std::string_view service{};
  std::vector<std::string_view> signed_headers{};
};

std::string_view member(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, std::min(text.find_first_of(", "), text.size()));
}

Outcome<Authorization> read_authorization(std::string_view header) {
  if (header.empty())
    return refuse("MissingParameter",
                  "The request is missing a required parameter `Authorization`.");
  const auto scope = split(member(header, "Credential="), '/');
  const std::string_view headers = member(header, "SignedHeaders=");
  if (!header.starts_with(kAlgorithm) || scope.size() != 4 || scope[3] != "tc3_request" ||
      headers.empty() || member(header, "Signature=").empty()) {
    return refuse("AuthFailure.InvalidAuthorization",
                  "The Authorization in the header is invalid.");
  }
  return Authorization{scope[0], scope[1], scope[2], split(headers, ';')};
}

Outcome<WallTime> read_timestamp(std::string_view text, WallTime now, Duration max_skew) {
  if (text.empty()) {
    return refuse("MissingParameter",
                  "The request is missing a required parameter `X-TC-Timestamp`.");
  }
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  // Beyond that a time in nanoseconds has no room.
  constexpr std::int64_t kMost = 9'000'000'000;
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0 || seconds > kMost) {
    return refuse("InvalidParameterValue", "The value of header `X-TC-Timestamp` is invalid.");
  }
  const WallTime at{std::chrono::seconds{seconds}};
  const Duration skew = std::max(at, now) - std::min(at, now);
  if (skew <= max_skew) return at;
  return refuse("AuthFailure.SignatureExpire",
                "The signature has expired: the time of the request differs from the server's by "
                "{} s, {} s are allowed.",
                std::chrono::duration_cast<std::chrono::seconds>(skew).count(),
                std::chrono::duration_cast<std::chrono::seconds>(max_skew).count());
}

// The headers that the caller says to have signed, but for Host.
std::optional<std::vector<crypto::HeaderField>> signed_headers(const net::Request& request,
                                                               const Authorization& claimed) {
  std::vector<crypto::HeaderField> out;
  bool host = false;
  bool content_type = false;
  for (const std::string_view name : claimed.signed_headers) {
    host = host || name == "host";
    content_type = content_type || name == "content-type";
    if (name != "host") out.emplace_back(name, request.headers.get(name));
  }
  if (!host || !content_type) return std::nullopt;
  return out;
}

std::string authorization_of(const crypto::SignedRequest& request) {
  for (const auto& [name, value] : request.headers) {
    if (name == "Authorization") return value;
  }
  return {};
}

bool is_for_service(std::string_view host, std::string_view service) {
  if (!host.ends_with(kPublicHosts)) return true;  // an address of ours
  return host.substr(0, host.find('.')) == service;
}

}  // namespace

Outcome<Caller> authenticate(const net::Request& request,
                             const std::map<std::string, AccessKey>& keys, WallTime now,
                             Duration max_skew) {
  const std::string_view header = request.headers.get("Authorization");
  auto claimed = read_authorization(header);
  if (!claimed) return pass(claimed);
  auto at = read_timestamp(request.headers.get("X-TC-Timestamp"), now, max_skew);
  if (!at) return pass(at);
  const auto key = keys.find(std::string(claimed->secret_id));
  if (key == keys.end()) {
    return refuse("AuthFailure.SecretIdNotFound",
                  "The SecretId is not found, please ensure that your SecretId is correct.");
  }
  if (request.headers.get("X-TC-Token") != key->second.token.reveal())
    return refuse("AuthFailure.TokenFailure", "The token is not the one of this key.");

  auto headers = signed_headers(request, *claimed);
  const std::string_view host = request.headers.get("Host");
  if (!headers || !is_for_service(host, claimed->service))
    return refuse("AuthFailure.SignatureFailure", "Signed headers or service do not fit.");
  const net::Target target = net::split_target(request.url);
  const crypto::SignedRequest ours = crypto::sign_tencent(
      {.method = request.method,
       .host = std::string(host),
       .path = std::string(target.path),
       .query = std::string(target.query),
       .headers = std::move(*headers),
       .body = request.body},
      {.id = key->first, .key = key->second.secret_key}, claimed->service, *at);
  if (crypto::constant_time_equal(member(authorization_of(ours), "Signature="),
                                  member(header, "Signature=")) &&
      claimed->date == format_rfc3339(*at).substr(0, 10)) {
    return Caller{&key->second, std::string(claimed->service)};
  }
  return refuse("AuthFailure.SignatureFailure",
                "The provided credentials could not be validated. Please check your signature is "
                "correct.");
}

}  // namespace berth::sim::tencent
