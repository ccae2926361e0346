// Where the edge carries nobody, whatever a wish says: addresses that no Pod has, because they are
// every machine's own or the cloud's, and places where servers of ours listen. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edge/socket.h"

namespace berth::edge {

enum class AddressClass : std::uint8_t {
  ordinary,     // of a Pod or a node, for all that the address says
  unspecified,  // 0.0.0.0/8 and ::, which lead to this machine
  loopback,     // 127.0.0.0/8 and ::1
  link_local,   // 169.254.0.0/16 and fe80::/10: most clouds' metadata is there
  multicast,    // 224.0.0.0/4 and ff00::/8
  broadcast,    // 255.255.255.255
  metadata,     // what clouds answer elsewhere, at addresses that nobody else can have
};

// An IPv4 address inside of an IPv6 address (mapped, compatible, NAT64, 6to4) has the class of the
// IPv4 address.
AddressClass class_of(const IpBytes& ip);
// "a loopback address".
std::string_view to_string(AddressClass address_class);

// A server that is ours or that we trust, over TCP. 0.0.0.0 and :: are all addresses of the
// machine.
struct Endpoint {
  std::string what{};  // "the webhook server"
  SocketAddress at{};
};
// "https://[::1]:6443". Nothing when the host is a name that only a name server knows, or the text
// is no address at all.
std::vector<Endpoint> endpoints_at(const std::string& what, std::string_view url);

// Of a controller.
struct OwnUrls {
  std::string api_server{};
  std::string webhooks{};
  std::string ops{};
  std::vector<std::string> others{};
};
std::vector<Endpoint> own_endpoints(const OwnUrls& urls);

// `is_own` tells addresses that this machine has; it is asked only when the port is the endpoint's.
bool meets(const Endpoint& endpoint, const IpBytes& ip, const model::PortRange& ports,
           const std::function<bool(const IpBytes&)>& is_own);

}  // namespace berth::edge
