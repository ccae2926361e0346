#include "net/url.h"

#include <algorithm>
#include <charconv>

#include "base/encoding.h"

namespace berth::net {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::uint16_t default_port_of(std::string_view scheme) {
  return scheme == "https" ? kHttpsPort : kHttpPort;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > 65535) {
    return fail(Code::invalid, "port '{}' is not 1-65535", text);
  }
  return static_cast<std::uint16_t>(value);
}

std::string in_brackets(std::string_view host) {
  const bool ipv6 = host.find(':') != std::string_view::npos;
  return ipv6 ? fmt::format("[{}]", host) : std::string(host);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string plus_to_space(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '+', ' ');
  return out;
}

}  // namespace

std::string Url::authority() const {
  return port == default_port_of(scheme) ? in_brackets(host) : join_host_port(host, port);
}

std::string Url::origin() const { return scheme + "://" + authority(); }

std::string Url::to_string() const { return origin() + path + (query.empty() ? "" : "?" + query); }

std::string join_host_port(std::string_view host, std::uint16_t port) {
  return fmt::format("{}:{}", in_brackets(host), port);
}

Result<HostPort> split_host_port(std::string_view text, std::uint16_t default_port) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return fail(Code::invalid, "'{}' has no closing ]", text);
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos) {
      return fail(Code::invalid, "'{}' in brackets is not an IPv6 address", host);
    }
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (host.empty()) return fail(Code::invalid, "'{}' has no host", text);
  if (!is_plain(host) || host.find_first_of("@/?#\\") != std::string_view::npos) {
    return fail(Code::invalid, "host '{}' has characters that no host has", host);
  }
  if (rest.empty()) {
    if (default_port == 0) return fail(Code::invalid, "'{}' has no port", text);
    return HostPort{std::string(host), default_port};
  }
  if (rest.front() != ':') return fail(Code::invalid, "'{}' is not host:port", text);
  auto port = parse_port(rest.substr(1));
  if (!port) return pass(port);
  return HostPort{std::string(host), *port};
}

Result<Url> parse_url(std::string_view text) {
  const auto scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) {
    return fail(Code::invalid, "URL '{}' does not start with http:// or https://", text);
  }
  Url url;
  url.scheme = to_lower(text.substr(0, scheme_end));
  if (url.scheme != "http" && url.scheme != "https") {
    return fail(Code::invalid, "URL scheme '{}' is not http or https", url.scheme);
  }
  if (!is_plain(text))
    return fail(Code::invalid, "URL '{}' has a space or control character", text);
  std::string_view rest = text.substr(scheme_end + 3);
  rest = rest.substr(0, rest.find('#'));
  const auto authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) {
    return fail(Code::invalid, "URL carries a user name: credentials belong in the configuration");
  }
  auto at = split_host_port(authority, default_port_of(url.scheme));
  if (!at) return pass(at);
  url.host = to_lower(at->host);
  url.port = at->port;
  const auto target = split_target(rest.substr(authority.size()));
  url.path = target.path.empty() ? "/" : std::string(target.path);
  url.query = std::string(target.query);
  return url;
}

std::string join_path(std::string_view base, std::string_view path) {
  while (base.ends_with('/')) base.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  return fmt::format("{}/{}", base, path);
}

Target split_target(std::string_view target) {
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {.path = target};
  return {.path = target.substr(0, mark), .query = target.substr(mark + 1)};
}

Result<QueryList> parse_query(std::string_view query) {
  QueryList list;
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = url_decode(plus_to_space(pair.substr(0, equals)));
    if (!name) return pass(name);
    const auto raw = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    auto value = url_decode(plus_to_space(raw));
    if (!value) return pass(value);
    list.emplace_back(std::move(*name), std::move(*value));
  }
  return list;
}

std::string build_query(const QueryList& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!out.empty()) out += '&';
    out += url_encode(name);
    out += '=';
    out += url_encode(value);
  }
  return out;
}

}  // namespace berth::net
