// URLs taken apart and put together, as far as HTTP needs them. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::net {

struct Url {
  std::string scheme{};  // "http" or "https"
  std::string host{};    // name or address; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path{};   // from the slash on, as it was escaped; never empty
  std::string query{};  // without the question mark, as it was escaped

  // "host:port" without a default port, an IPv6 address in brackets: what a Host header carries.
  std::string authority() const;
  // "scheme://authority", without path.
  std::string origin() const;
  std::string to_string() const;
};

// An absolute http or https URL. Users and passwords in it are refused, a fragment is dropped.
Result<Url> parse_url(std::string_view text);

// "host:port", with brackets around an IPv6 address.
std::string join_host_port(std::string_view host, std::uint16_t port);
struct HostPort {
  std::string host{};  // without brackets
  std::uint16_t port = 0;
};
// "host:port", "[::1]:port"; the port may be missing when a default is given.
Result<HostPort> split_host_port(std::string_view text, std::uint16_t default_port = 0);

// One slash between the two, whatever they bring: ("https://h/a/", "/b") gives "https://h/a/b".
std::string join_path(std::string_view base, std::string_view path);

// The request target of a server: "/path?query" in its two halves.
struct Target {
  std::string_view path{};
  std::string_view query{};
};
Target split_target(std::string_view target);

// Query parameters in order. A name without "=" has an empty value; "+" is a space.
using QueryList = std::vector<std::pair<std::string, std::string>>;
Result<QueryList> parse_query(std::string_view query);
// "a=1&b=x%20y": names and values are percent-encoded.
std::string build_query(const QueryList& parameters);

}  // namespace berth::net
