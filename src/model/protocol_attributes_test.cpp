#include "model/protocol_attributes.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

TEST(ProtocolAttributes, OfClbAreWhatItsApiSays) {
  const auto can = [](Protocol protocol, Attribute attribute) {
    return can_have(Provider::tencent, protocol, attribute);
  };
  EXPECT_TRUE(can(Protocol::tcp, Attribute::session_time));
  EXPECT_TRUE(can(Protocol::https, Attribute::session_time));
  EXPECT_FALSE(can(Protocol::tls, Attribute::session_time));
  EXPECT_FALSE(can(Protocol::quic, Attribute::session_time));
  EXPECT_TRUE(can(Protocol::tls, Attribute::http_probe));
  EXPECT_FALSE(can(Protocol::udp, Attribute::http_probe));
  EXPECT_TRUE(can(Protocol::udp, Attribute::rate));
  EXPECT_FALSE(can(Protocol::http, Attribute::rate));
}

// A bound or a question that only a proxy for HTTP and TLS has.
TEST(ProtocolAttributes, OfTheEdgeAreWhatCarriesThem) {
  for (const Attribute one : {Attribute::http_probe, Attribute::rate}) {
    EXPECT_FALSE(can_have(Provider::edge, Protocol::tcp, one));
    EXPECT_FALSE(can_have(Provider::edge, Protocol::udp, one));
    EXPECT_TRUE(can_have(Provider::edge, Protocol::tls, one));
    EXPECT_TRUE(can_have(Provider::edge, Protocol::http, one));
  }
  EXPECT_TRUE(can_have(Provider::edge, Protocol::udp, Attribute::session_time));
}

}  // namespace
}  // namespace berth::model
