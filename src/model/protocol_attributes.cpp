#include "model/protocol_attributes.h"

#include <array>

namespace berth::model {
namespace {

constexpr ProtocolSet kAll{Protocol::tcp,  Protocol::udp,  Protocol::tcp_udp, Protocol::tls,
                           Protocol::quic, Protocol::http, Protocol::https};

struct Row {
  ProtocolSet session_times = kAll;
  ProtocolSet http_probes = kAll;
  ProtocolSet rates = kAll;
};

// In the order of the enumeration. Sources: the providers' API documentation.
constexpr std::array<Row, 4> kRows{
    // Of what TLS and HTTP go through, HAProxy asks targets and counts; our own layer 4 does not.
    Row{.http_probes = {Protocol::tls, Protocol::http, Protocol::https},
        .rates = {Protocol::tls, Protocol::http, Protocol::https}},
    Row{.session_times = {Protocol::tcp, Protocol::udp, Protocol::http, Protocol::https},
        .http_probes = {Protocol::tcp, Protocol::tls, Protocol::quic, Protocol::http,
                        Protocol::https},
        .rates = {Protocol::tcp, Protocol::udp, Protocol::tls, Protocol::quic}},
    Row{.session_times = {Protocol::tcp, Protocol::udp, Protocol::tcp_udp, Protocol::http,
                          Protocol::https},
        .rates = {}},
    Row{}};

}  // namespace

bool can_have(Provider provider, Protocol protocol, Attribute attribute) {
  const Row& row = kRows[static_cast<std::size_t>(provider)];
  switch (attribute) {
    case Attribute::session_time: return row.session_times.has(protocol);
    case Attribute::http_probe: return row.http_probes.has(protocol);
    case Attribute::rate: return row.rates.has(protocol);
  }
  return false;
}

}  // namespace berth::model
