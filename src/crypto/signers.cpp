#include "crypto/signers.h"

#include <algorithm>
#include <map>

#include "base/encoding.h"
#include "crypto/digest.h"

namespace berth::crypto {
namespace {

// Where the two schemes differ.
struct Profile {
  std::string_view algorithm;
  std::string_view key_prefix;
  std::string_view terminator;  // last part of the scope
  bool rewrites_url;            // sorts the query and encodes the path once more
  bool lowers_values;           // header values are compared without case
};

constexpr Profile kAws{.algorithm = "AWS4-HMAC-SHA256",
                       .key_prefix = "AWS4",
                       .terminator = "aws4_request",
                       .rewrites_url = true,
                       .lowers_values = false};
constexpr Profile kTencent{.algorithm = "TC3-HMAC-SHA256",
                           .key_prefix = "TC3",
                           .terminator = "tc3_request",
                           .rewrites_url = false,
                           .lowers_values = true};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

// Without spaces at the ends, and with one where there were several.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string canonical_path(const Profile& profile, std::string_view path) {
  if (!profile.rewrites_url) return std::string(path);
  std::string out;
  for (const char c : path) out += c == '/' ? "/" : url_encode(std::string_view(&c, 1));
  return out;
}

// However the sender wrote it, encoded once.
std::string reencoded(std::string_view text) {
  return url_encode(url_decode(text).value_or(std::string(text)));
}

std::string canonical_query(const Profile& profile, std::string_view query) {
  if (!profile.rewrites_url || query.empty()) return std::string(query);
  std::vector<std::pair<std::string, std::string>> parameters;
  for (std::size_t at = 0; at <= query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view one = query.substr(at, end - at);
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view value = equals < one.size() ? one.substr(equals + 1) : "";
    if (!one.empty()) parameters.emplace_back(reencoded(one.substr(0, equals)), reencoded(value));
    at = end + 1;
  }
  std::ranges::sort(parameters);
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!out.empty()) out += '&';
    out.append(name).append("=").append(value);
  }
  return out;
}

struct CanonicalHeaders {
  std::string lines;
  std::string names;
};

CanonicalHeaders canonical_headers(const Profile& profile, const std::vector<HeaderField>& fields) {
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : fields) {
    std::string text = squeezed(value);
    if (profile.lowers_values) text = lowered(std::move(text));
    const auto [at, added] = by_name.try_emplace(lowered(name), text);
    if (!added) at->second += "," + text;
  }
  CanonicalHeaders out;
  for (const auto& [name, value] : by_name) {
    out.lines.append(name).append(":").append(value).append("\n");
    if (!out.names.empty()) out.names += ';';
    out.names += name;
  }
  return out;
}

struct Signing {
  const Profile& profile;
  std::vector<HeaderField> signed_headers;
  std::string timestamp;
  std::vector<std::string> scope;  // starts with the date
};

// Everything but the Authorization header goes into `headers` by the caller.
SignedRequest sign(const Signing& how, const RequestParts& request,
                   const CloudCredentials& credentials) {
  const Profile& profile = how.profile;
  const CanonicalHeaders headers = canonical_headers(profile, how.signed_headers);
  SignedRequest out;
  out.canonical_request =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, canonical_path(profile, request.path),
                  canonical_query(profile, request.query), headers.lines, headers.names,
                  sha256_hex(request.body));

  const std::string scope = fmt::format("{}/{}", fmt::join(how.scope, "/"), profile.terminator);
  out.string_to_sign = fmt::format("{}\n{}\n{}\n{}", profile.algorithm, how.timestamp, scope,
                                   sha256_hex(out.canonical_request));

  std::string key = std::string(profile.key_prefix) + credentials.key.reveal();
  for (const auto& part : how.scope) key = hmac_sha256(key, part);
  key = hmac_sha256(key, profile.terminator);
  out.headers.emplace_back(
      "Authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", profile.algorithm,
                  credentials.id, scope, headers.names, hmac_sha256_hex(key, out.string_to_sign)));
  return out;
}

// "2015-08-30T12:36:00Z" as "20150830T123600Z".
std::string compact_time(WallTime at) {
  std::string text = format_rfc3339(at);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

SignedRequest sign_aws(const RequestParts& request, const CloudCredentials& credentials,
                       std::string_view region, std::string_view service, WallTime at) {
  const std::string time = compact_time(at);
  std::vector<HeaderField> own{{"X-Amz-Date", time}};
  if (!credentials.token.empty())
    own.emplace_back("X-Amz-Security-Token", credentials.token.reveal());

  Signing how{
      kAws, request.headers, time, {time.substr(0, 8), std::string(region), std::string(service)}};
  how.signed_headers.emplace_back("host", request.host);
  how.signed_headers.insert(how.signed_headers.end(), own.begin(), own.end());
  SignedRequest out = sign(how, request, credentials);
  out.headers.insert(out.headers.begin(), own.begin(), own.end());
  return out;
}

SignedRequest sign_tencent(const RequestParts& request, const CloudCredentials& credentials,
                           std::string_view service, WallTime at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  Signing how{kTencent,
              request.headers,
              std::to_string(seconds),
              {format_rfc3339(at).substr(0, 10), std::string(service)}};
  how.signed_headers.emplace_back("host", request.host);
  SignedRequest out = sign(how, request, credentials);
  // Not part of the signed headers: the time is in the string to sign, the token is proof itself.
  out.headers.emplace_back("X-TC-Timestamp", how.timestamp);
  if (!credentials.token.empty())
    out.headers.emplace_back("X-TC-Token", credentials.token.reveal());
  return out;
}

}  // namespace berth::crypto
