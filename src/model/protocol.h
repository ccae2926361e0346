// What a listener speaks, and which transports it takes from its port for that: two listeners share
// no port of one transport, whatever they speak. Plain values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/port.h"

namespace berth::model {

// `tls` is TLS that ends at the load balancer (TCP_SSL at Tencent); `tcp_udp` is one listener of
// both (AWS).
enum class Protocol : std::uint8_t { tcp, udp, tcp_udp, tls, quic, http, https };

std::string_view to_string(Protocol protocol);  // "TCP_UDP"
// Upper or lower case, TCP_SSL or TLS; anything else is an error that lists what is allowed.
Result<Protocol> parse_protocol(std::string_view text);

Protocol protocol_of(Transport transport);
// TCP before UDP.
std::span<const Transport> transports_of(Protocol protocol);
bool takes(Protocol protocol, Transport transport);

class ProtocolSet {
 public:
  constexpr ProtocolSet(std::initializer_list<Protocol> members) {
    for (const Protocol one : members) bits_ |= bit(one);
  }
  constexpr bool has(Protocol protocol) const { return (bits_ & bit(protocol)) != 0; }

  friend bool operator==(const ProtocolSet&, const ProtocolSet&) = default;

 private:
  static constexpr unsigned bit(Protocol protocol) { return 1u << static_cast<unsigned>(protocol); }
  unsigned bits_ = 0;
};

// It has rules by domain and path. Any other has one rule, without a key.
constexpr bool is_layer7(Protocol protocol) {
  return protocol == Protocol::http || protocol == Protocol::https;
}

}  // namespace berth::model
