#include "model/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::model {
namespace {

using ::testing::ElementsAre;

struct Named {
  Protocol protocol;
  std::string_view upper;
  std::string_view lower;
};

constexpr Named kAll[] = {
    {Protocol::tcp, "TCP", "tcp"},      {Protocol::udp, "UDP", "udp"},
    {Protocol::tls, "TLS", "tls"},      {Protocol::tcp_udp, "TCP_UDP", "tcp_udp"},
    {Protocol::quic, "QUIC", "quic"},   {Protocol::http, "HTTP", "http"},
    {Protocol::https, "HTTPS", "https"}};

std::vector<Transport> taken_by(Protocol protocol) {
  const auto all = transports_of(protocol);
  return {all.begin(), all.end()};
}

TEST(Protocol, EachIsReadInBothCasesAndWrittenInUpper) {
  for (const auto& [protocol, upper, lower] : kAll) {
    EXPECT_EQ(to_string(protocol), upper);
    EXPECT_EQ(parse_protocol(upper).value(), protocol) << upper;
    EXPECT_EQ(parse_protocol(lower).value(), protocol) << lower;
  }
}

TEST(Protocol, TlsHasTheNameThatTencentGivesItToo) {
  EXPECT_EQ(parse_protocol("TCP_SSL").value(), Protocol::tls);
  EXPECT_EQ(parse_protocol("tcp_ssl").value(), Protocol::tls);
}

TEST(Protocol, TheErrorSaysWhatIsAllowed) {
  for (const char* bad : {"", "sctp", "TCP ", "TCPUDP", "SSL", "HTTP2"}) {
    const auto protocol = parse_protocol(bad);
    ASSERT_FALSE(protocol) << bad;
    EXPECT_EQ(protocol.error().code, Code::invalid);
    EXPECT_EQ(
        protocol.error().message,
        fmt::format(
            "protocol '{}' is not one of TCP, UDP, TCP_UDP, TCP_SSL, TLS, QUIC, HTTP, HTTPS", bad));
  }
}

TEST(Protocol, TakesTransportsOfItsPort) {
  for (const Protocol one : {Protocol::tcp, Protocol::tls, Protocol::http, Protocol::https})
    EXPECT_THAT(taken_by(one), ElementsAre(Transport::tcp)) << to_string(one);
  for (const Protocol one : {Protocol::udp, Protocol::quic})
    EXPECT_THAT(taken_by(one), ElementsAre(Transport::udp)) << to_string(one);
  EXPECT_THAT(taken_by(Protocol::tcp_udp), ElementsAre(Transport::tcp, Transport::udp));

  EXPECT_TRUE(takes(Protocol::quic, Transport::udp));
  EXPECT_FALSE(takes(Protocol::quic, Transport::tcp));
  EXPECT_TRUE(takes(Protocol::tcp_udp, Transport::tcp));
  EXPECT_TRUE(takes(Protocol::tcp_udp, Transport::udp));
}

TEST(Protocol, OfATransportAloneIsTheOneWithItsName) {
  for (const Transport one : {Transport::tcp, Transport::udp}) {
    EXPECT_EQ(to_string(protocol_of(one)), to_string(one));
    EXPECT_THAT(taken_by(protocol_of(one)), ElementsAre(one));
  }
}

TEST(Protocol, OnlyHttpIsKnownByDomainAndPath) {
  for (const auto& [protocol, upper, lower] : kAll)
    EXPECT_EQ(is_layer7(protocol), upper.starts_with("HTTP")) << upper;
}

TEST(Protocol, ASetHasItsMembersAndNoOther) {
  constexpr ProtocolSet set{Protocol::tcp, Protocol::https};
  for (const auto& [protocol, upper, lower] : kAll)
    EXPECT_EQ(set.has(protocol), protocol == Protocol::tcp || protocol == Protocol::https) << upper;
  EXPECT_EQ(set, (ProtocolSet{Protocol::https, Protocol::tcp}));
  EXPECT_NE(set, (ProtocolSet{Protocol::tcp}));
}

}  // namespace
}  // namespace berth::model
