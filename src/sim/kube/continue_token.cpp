#include "sim/kube/continue_token.h"

#include <boost/json.hpp>

#include "base/encoding.h"
#include "wire/value.h"

namespace berth::sim::kube {

namespace {

constexpr std::string_view kFormat = "meta.k8s.io/v1";
// The server's spelling of "at the current version".
constexpr std::int64_t kCurrent = -1;

ApiError not_valid(std::string_view why) {
  return bad_request("invalid continue token: continue key is not valid: " + std::string(why));
}

}  // namespace

std::string ContinueToken::encode() const {
  // A key that ends in a zero byte is the first one after `after`.
  std::string start = "/" + after;
  start.push_back('\0');
  return base64url_encode(wire::to_json(
      wire::Object{{"v", kFormat},
                   {"rv", version == 0 ? kCurrent : static_cast<std::int64_t>(version)},
                   {"start", std::move(start)}}));
}

Outcome<ContinueToken> ContinueToken::decode(std::string_view text) {
  std::string padded(text);
  for (char& c : padded) c = c == '-' ? '+' : c == '_' ? '/' : c;
  padded.append((4 - padded.size() % 4) % 4, '=');
  Result<std::string> bytes = base64_decode(padded);
  if (!bytes) return refuse(not_valid(bytes.error().message));
  Result<wire::Value> value = wire::parse_json(*bytes);
  if (!value) return refuse(not_valid(value.error().message));
  if (const auto format = wire::string_at(*value, "/v"); format != kFormat) {
    return refuse(
        not_valid("server does not recognize this encoded version " + std::string(format)));
  }
  std::string_view start = wire::string_at(*value, "/start");
  const auto version = wire::int_at(*value, "/rv");
  if (!version || !start.starts_with('/')) return refuse(not_valid("start and rv are needed"));
  start.remove_prefix(1);
  if (start.ends_with('\0')) start.remove_suffix(1);
  return ContinueToken{*version > 0 ? static_cast<std::uint64_t>(*version) : 0, std::string(start)};
}

}  // namespace berth::sim::kube
