#include "edge/target_rules.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace berth::edge {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool begins(const IpBytes& ip, std::initializer_list<std::uint8_t> bytes) {
  return std::equal(bytes.begin(), bytes.end(), ip.begin());
}

bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

// Azure's and Oracle's. Alibaba's 100.100.100.200 is not among them: clusters elsewhere give
// addresses of that network to Pods.
constexpr std::array<std::array<std::uint8_t, 4>, 2> kMetadata4{
    {{168, 63, 129, 16}, {192, 0, 0, 192}}};

AddressClass class_of_4(Bytes ip) {
  if (ip[0] == 0) return AddressClass::unspecified;
  if (ip[0] == 127) return AddressClass::loopback;
  if (ip[0] == 169 && ip[1] == 254) return AddressClass::link_local;
  if (ip[0] >= 224 && ip[0] < 240) return AddressClass::multicast;
  if (std::ranges::all_of(ip, [](std::uint8_t byte) { return byte == 255; }))
    return AddressClass::broadcast;
  const bool metadata = std::ranges::any_of(
      kMetadata4, [&](const auto& known) { return std::ranges::equal(known, ip); });
  return metadata ? AddressClass::metadata : AddressClass::ordinary;
}

// fd00:ec2::/112 is Amazon's, fd20:ce::254 Google's, fd00:c1::a9fe:a9fe Oracle's.
bool is_metadata_6(const IpBytes& ip) {
  constexpr IpBytes kGoogle{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  constexpr IpBytes kOracle{0xfd, 0, 0x00, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe};
  const bool amazon = begins(ip, {0xfd, 0x00, 0x0e, 0xc2}) && is_zero(Bytes(ip).subspan(4, 10));
  return amazon || ip == kGoogle || ip == kOracle;
}

// The IPv4 address that it stands for; nothing when it stands for itself.
Bytes embedded_4(const IpBytes& ip) {
  const Bytes all(ip);
  const bool compatible = is_zero(all.first(12));
  const bool nat64 = begins(ip, {0, 0x64, 0xff, 0x9b}) && is_zero(all.subspan(4, 8));
  if (is_ipv4(ip) || compatible || nat64) return all.last(4);
  if (begins(ip, {0x20, 0x02})) return all.subspan(2, 4);
  return {};
}

// Without brackets, and the port; empty when the text is neither.
model::Target host_and_port(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  const bool tls = url.substr(0, scheme) == "https";
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  const std::size_t bracket = url.starts_with('[') ? url.find(']') : std::string_view::npos;
  const std::size_t colon = url.find(':', bracket == std::string_view::npos ? 0 : bracket);
  model::Target out{.ip = {}, .port = static_cast<model::Port>(tls ? 443 : 80)};
  if (colon != std::string_view::npos) {
    const Result<model::Port> port = model::parse_port(url.substr(colon + 1));
    if (!port) return {};
    out.port = *port;
  }
  out.ip = bracket == std::string_view::npos ? url.substr(0, colon) : url.substr(1, bracket - 1);
  return out;
}

}  // namespace

AddressClass class_of(const IpBytes& ip) {
  constexpr IpBytes kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (ip == kLoopback) return AddressClass::loopback;
  if (const Bytes v4 = embedded_4(ip); !v4.empty()) return class_of_4(v4);
  if (ip[0] == 0xff) return AddressClass::multicast;
  if (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) return AddressClass::link_local;
  return is_metadata_6(ip) ? AddressClass::metadata : AddressClass::ordinary;
}

std::string_view to_string(AddressClass address_class) {
  switch (address_class) {
    case AddressClass::ordinary: return "an ordinary address";
    case AddressClass::unspecified: return "no address of anybody";
    case AddressClass::loopback: return "a loopback address";
    case AddressClass::link_local: return "a link-local address";
    case AddressClass::multicast: return "a multicast address";
    case AddressClass::broadcast: return "the broadcast address";
    case AddressClass::metadata: return "the address of a cloud's own services";
  }
  return "";
}

std::vector<Endpoint> endpoints_at(const std::string& what, std::string_view url) {
  const model::Target at = host_and_port(url);
  std::vector<Endpoint> out;
  const auto add = [&](const std::string& ip) {
    if (const Result<SocketAddress> address = SocketAddress::of({ip, at.port}))
      out.push_back({what, *address});
  };
  if (at.ip == "localhost") {
    add("127.0.0.1");
    add("::1");
  } else {
    add(at.ip);
  }
  return out;
}

std::vector<Endpoint> own_endpoints(const OwnUrls& urls) {
  std::vector<Endpoint> out;
  for (const auto& [what, url] : {std::pair{"the API server", &urls.api_server},
                                  {"the webhook server of the controller", &urls.webhooks},
                                  {"the metrics server of the controller", &urls.ops}})
    std::ranges::move(endpoints_at(what, *url), std::back_inserter(out));
  for (const std::string& url : urls.others)
    std::ranges::move(endpoints_at("a server of the controller", url), std::back_inserter(out));
  return out;
}

bool meets(const Endpoint& endpoint, const IpBytes& ip, const model::PortRange& ports,
           const std::function<bool(const IpBytes&)>& is_own) {
  if (!ports.contains(endpoint.at.port())) return false;
  if (!endpoint.at.is_any()) return endpoint.at.ip() == ip;
  const AddressClass address_class = class_of(ip);
  return address_class == AddressClass::loopback || address_class == AddressClass::unspecified ||
         is_own(ip);
}

}  // namespace berth::edge
