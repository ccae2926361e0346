// Transports and ports: the words in which everything above speaks of where traffic enters. Plain
// values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::model {

enum class Transport : std::uint8_t { tcp, udp };

std::string_view to_string(Transport transport);  // "TCP"
// Upper or lower case; anything else is an error that lists what is allowed.
Result<Transport> parse_transport(std::string_view text);

using Port = std::uint16_t;
Result<Port> parse_port(std::string_view text);
// 0: it is none.
constexpr Port port_of(std::int64_t number) {
  return number < 1 || number > 65535 ? Port{0} : static_cast<Port>(number);
}

// `[first, last]`, both included. One port is a range of one.
struct PortRange {
  Port first = 0;
  Port last = 0;

  constexpr std::uint32_t size() const { return std::uint32_t{last} - first + 1; }
  constexpr bool contains(Port port) const { return first <= port && port <= last; }
  constexpr bool contains(const PortRange& other) const {
    return first <= other.first && other.last <= last;
  }
  constexpr bool overlaps(const PortRange& other) const {
    return first <= other.last && other.first <= last;
  }
  friend auto operator<=>(const PortRange&, const PortRange&) = default;
};

// A port inside a Pod; or, where a node lends it one, the host port that leads there.
struct PodPort {
  Port port = 0;  // 0: not known
  bool on_host = false;
  friend auto operator<=>(const PodPort&, const PodPort&) = default;
};

// Where a listener sends traffic.
struct Target {
  std::string ip;  // IPv4, or IPv6 without brackets
  Port port = 0;
  friend auto operator<=>(const Target&, const Target&) = default;
};

// "1.2.3.4:80", "[::1]:80".
std::string to_string(const Target& target);

}  // namespace berth::model
