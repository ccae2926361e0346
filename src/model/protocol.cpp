#include "model/protocol.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace berth::model {
namespace {

constexpr std::array kTcp{Transport::tcp};
constexpr std::array kUdp{Transport::udp};
constexpr std::array kBoth{Transport::tcp, Transport::udp};

struct Traits {
  std::string_view name;
  std::span<const Transport> transports;
};

// In the order of the enumeration.
constexpr std::array<Traits, 7> kTraits{
    Traits{"TCP", kTcp},  Traits{"UDP", kUdp},  Traits{"TCP_UDP", kBoth}, Traits{"TLS", kTcp},
    Traits{"QUIC", kUdp}, Traits{"HTTP", kTcp}, Traits{"HTTPS", kTcp}};

constexpr std::string_view kTencentTls = "TCP_SSL";

const Traits& traits_of(Protocol protocol) { return kTraits[static_cast<std::size_t>(protocol)]; }

}  // namespace

std::string_view to_string(Protocol protocol) { return traits_of(protocol).name; }

Result<Protocol> parse_protocol(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper == kTencentTls) return Protocol::tls;
  const auto it = std::ranges::find(kTraits, std::string_view(upper), &Traits::name);
  if (it != kTraits.end()) return static_cast<Protocol>(it - kTraits.begin());
  return fail(Code::invalid,
              "protocol '{}' is not one of TCP, UDP, TCP_UDP, TCP_SSL, TLS, QUIC, HTTP, HTTPS",
              text);
}

Protocol protocol_of(Transport transport) {
  return transport == Transport::tcp ? Protocol::tcp : Protocol::udp;
}

std::span<const Transport> transports_of(Protocol protocol) {
  return traits_of(protocol).transports;
}

bool takes(Protocol protocol, Transport transport) {
  return std::ranges::find(transports_of(protocol), transport) != transports_of(protocol).end();
}

}  // namespace berth::model
